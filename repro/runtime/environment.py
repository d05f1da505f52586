"""A virtual environment of a bundle's own wheels: offline, with hashes, whole or absent, kept and used again.

For a machine where nothing of ours is installed and no container engine is at hand, as a rented pod: a
Python of the locked version is all that is needed.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
import sys

from .files import read_json, sha256_file, write_whole
from .options import IMAGE_BUNDLE
from .pythons import clean_env, find_python, version_of

WHOLE = "reprobundle-whole"
LINES = 8
PIP = ("-m", "pip", "--isolated", "--disable-pip-version-check")
NO_PYTHON = (
    "the bundle is locked for Python {0}, and this machine has none (this is {1}); try\n"
    "  apt-get install python{0}-venv\n  uv python install {0}\n  conda create -n py{0} python={0}\n"
    "and give its path by --python FILE to `setup`"
)
THIN = "this bundle was packed thin: take a whole one, or give --python ENV/bin/python"
OFFLINE = ("--quiet", "install", "--no-index", "--find-links", "wheels")


class SetupError(Exception):
    """No environment can be made; the text says why and what would help. Exit status 3."""


def has_wheels(bundle):
    """Whether this is an unpacked bundle that carries what it needs; an image has its environment."""
    named = os.path.join(bundle, "lock.json"), os.path.join(bundle, "requirements.lock")
    return bundle != IMAGE_BUNDLE and all(map(os.path.isfile, named))


def place(bundle, folder=""):
    """Where a bundle's environment lies: beside the bundle, unless another folder is named."""
    return os.path.abspath(folder or bundle.rstrip(os.sep) + ".env")


def environment(bundle, folder="", python="", say=str):
    """Path of the interpreter of an environment with exactly the locked packages.

    Made when it is not there, or was made for another lock; raises SetupError.
    """
    lock = read_json(os.path.join(bundle, "lock.json"), {})
    folder = place(bundle, folder)
    inside = os.path.join(folder, "bin", "python")
    with _alone(folder):
        if _is_whole(folder, lock) and version_of(inside):
            say("environment: %s, as it was made" % folder)
            return inside
        base = _base(lock.get("python") or "", python)
        _check_files(bundle, lock)
        _make_way(folder)
        say("environment: %d packages for %s into %s, offline" % (len(lock["wheels"]), base, folder))
        _make(bundle, lock, folder, base, inside)
        write_whole(os.path.join(folder, WHOLE), _mark(lock))
    say("environment: done")
    return inside


def _mark(lock):
    return ("%s %s\n" % (lock.get("requirements_sha256"), lock.get("python"))).encode("ascii", "replace")


def _is_whole(folder, lock):
    try:
        with open(os.path.join(folder, WHOLE), "rb") as f:
            return f.read() == _mark(lock)
    except OSError:
        return False


def _make_way(folder):
    """Take away what is no whole environment of ours; a folder of somebody else's stays."""
    if (
        os.path.isdir(folder)
        and os.listdir(folder)
        and not os.path.isfile(os.path.join(folder, "pyvenv.cfg"))
    ):
        raise SetupError("`%s` is in the way and no environment: give another folder by --env DIR" % folder)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _alone(folder):
    """One process at a time; a kill lets the next one in."""
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with open(folder + ".lock", "a"):
            pass
    except OSError as problem:
        raise SetupError(
            "no environment can be made at `%s`: %s; give another folder by --env DIR"
            % (folder, problem.strerror)
        ) from None
    with open(folder + ".lock", "a") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        yield


def _base(version, given):
    """The interpreter that the environment is made of."""
    found = given or find_python(version)
    if not found:
        raise SetupError(NO_PYTHON.format(version, version_of(sys.executable)))
    have = version_of(found)
    if have.split(".")[:2] != version.split(".")[:2]:
        raise SetupError(
            "the bundle is locked for Python %s, and `%s` is %s"
            % (version, found, have or "no Python that starts")
        )
    return found


def _check_files(bundle, lock):
    """The lock is the one that was packed, and every wheel is there; their digests are pip's to check."""
    digest = sha256_file(os.path.join(bundle, "requirements.lock"))
    if digest != lock.get("requirements_sha256"):
        raise SetupError("requirements.lock is not the file that was packed: sha256 %s" % digest[:12])
    wheels = [wheel["file"] for wheel in lock["wheels"]]
    missing = [name for name in wheels if not os.path.isfile(os.path.join(bundle, "wheels", name))]
    if missing:
        thin = os.path.exists(os.path.join(bundle, "thin.json"))
        raise SetupError(
            "%d of %d wheels are not in wheels/, first %s; %s"
            % (len(missing), len(wheels), missing[0], THIN if thin else "unpack the bundle again")
        )


def _make(bundle, lock, folder, base, inside):
    _run([base, "-m", "venv", "--clear", "--without-pip", folder], bundle, "an environment could not be made")
    _give_pip(bundle, lock, inside)
    words = [inside] + list(PIP + OFFLINE) + ["--require-hashes", "-r", "requirements.lock"]
    _run(words, bundle, "the wheels could not be installed")
    _run([inside] + list(PIP) + ["check"], bundle, "the installed packages contradict one another")
    rejoin = os.path.join(bundle, "repro_runtime", "inject", "repro_runtime.pth")
    if os.path.isfile(rejoin):
        shutil.copy(rejoin, os.path.join(folder, "lib", "python" + lock["python"], "site-packages"))


def _give_pip(bundle, lock, inside):
    """The locked pip where the bundle has one, which needs no ensurepip; else the interpreter's own."""
    pip = lock.get("installer") or {}
    wheel = os.path.join("wheels", pip.get("file") or "-")
    if os.path.isfile(os.path.join(bundle, wheel)):
        digest = sha256_file(os.path.join(bundle, wheel))
        if digest != pip["sha256"]:
            raise SetupError("%s is not the file that was packed: sha256 %s" % (wheel, digest[:12]))
        words = [inside, os.path.join(wheel, "pip"), "--isolated", "--disable-pip-version-check"]
        _run(words + list(OFFLINE) + [os.path.join(".", wheel)], bundle, "pip could not be installed")
        return
    hint = "this Python has no ensurepip: apt-get install python%s-venv" % lock["python"]
    _run([inside, "-m", "ensurepip", "--upgrade", "--default-pip"], bundle, hint)


def _run(words, bundle, failed):
    """Run a step in the bundle's folder: pip takes a `;` in a path for the begin of a condition."""
    try:
        done = subprocess.run(
            words, cwd=bundle, env=clean_env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
    except OSError as problem:
        raise SetupError("%s: %s" % (failed, problem)) from None
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace").strip().splitlines()[-LINES:]
        full = os.strerror(errno.ENOSPC)
        if any(full in line for line in said):
            failed = "no space is left"
        raise SetupError("\n  ".join([failed] + said))
