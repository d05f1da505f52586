# It must read on Python 3.6, and os.path is all it needs.
# ruff: noqa: PTH100, PTH104, PTH110, PTH113, PTH118, PTH120, PTH208, RUF015
"""Runs inside the target interpreter: `python3 inside.py STEP WORK TOOLS`. Standard library, Python 3.6+.

Works with a pip of its own in an environment that it keeps in TOOLS, never with the image's own.
Answers in WORK/answer.json; what the programs say goes to standard output. Not imported by the host.
"""

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig

# Beside this file may lie modules with names such as `requests`; they are not meant.
sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]

EPOCH = "315532800"  # 1980, as in repro.tarball: zip files cannot hold earlier dates


class Failed(Exception):  # noqa: N818 - ends a step, and becomes an answer
    """A program ended badly; `stage` is what it was to do."""

    def __init__(self, stage: str) -> None:
        Exception.__init__(self, stage)
        self.stage = stage


def run(stage: str, argv: "list[str]", cwd: "str | None" = None) -> None:
    """Run a program to its end, its output shown; a bad end raises Failed."""
    sys.stdout.flush()
    if subprocess.call(argv, cwd=cwd) != 0:
        raise Failed(stage)


def pip_wheel(tools: str) -> str:
    """Path of the pip wheel that lies in the tools folder."""
    return os.path.join(tools, [n for n in sorted(os.listdir(tools)) if n.startswith("pip-")][0])


def make_env(work: str, wheel: str) -> str:
    """Path of the python of a new virtual environment with that pip and nothing else."""
    env = os.path.join(work, "env")
    shutil.rmtree(env, ignore_errors=True)
    run("venv", [sys.executable, "-m", "venv", "--without-pip", env])
    python = os.path.join(env, "bin", "python")
    run(
        "pip",
        [python, os.path.join(wheel, "pip"), "install", "--quiet", "--no-index", "--no-cache-dir", wheel],
    )
    return python


def pip_environment(work: str) -> None:
    """Let pip read the configuration that the host put into WORK, and nothing else."""
    for name in [n for n in os.environ if n.startswith("PIP_")]:
        del os.environ[name]
    conf, netrc = os.path.join(work, "pip.conf"), os.path.join(work, "netrc")
    os.environ["PIP_CONFIG_FILE"] = conf if os.path.exists(conf) else os.devnull
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    os.environ["PYTHONNOUSERSITE"] = "1"
    if os.path.exists(netrc):
        os.environ["NETRC"] = netrc


def probe(_work: str, tools: str) -> "dict[str, object]":
    """What this interpreter is, and which wheels it takes, best first."""
    sys.path.insert(0, pip_wheel(tools))
    from pip._vendor.packaging import markers, tags

    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError, AttributeError):
        libc = " ".join(platform.libc_ver(sys.executable))
    return {
        "python": platform.python_version(),
        "platform": sysconfig.get_platform().replace("-", "_").replace(".", "_"),
        "libc": libc.strip() or "unknown",
        "tags": [str(tag) for tag in tags.sys_tags()],
        "markers": markers.default_environment(),
        "venv": has_venv(),
    }


def has_venv() -> bool:
    """Whether the standard library of this interpreter can make environments."""
    try:
        import venv

        return bool(venv.__name__)
    except ImportError:
        return False


def tool_env(tools: str, pip_tools: str) -> str:
    """Path of the python of the environment with pip-tools, made once and kept in the tools folder."""
    env = os.path.join(tools, "env")
    python = os.path.join(env, "bin", "python")
    # Process numbers are alike in all containers, so a lock says who makes it; what a kill left is cleared.
    made = os.path.join(tools, "making")
    with open(os.path.join(tools, "making.lock"), "w") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        if os.path.exists(python):
            return python
        try:
            fresh = make_env(made, pip_wheel(tools))
            argv = [fresh, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--only-binary", ":all:"]
            run("tools", [*argv, "pip-tools==" + pip_tools])
            os.rename(os.path.join(made, "env"), env)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return python


def resolve(work: str, tools: str) -> "dict[str, object]":
    """Run pip-compile on WORK/requirements.in; `@WORK@` in it stands for the folder's path here."""
    with open(os.path.join(work, "job.json"), encoding="utf-8") as f:
        job = json.load(f)
    python = tool_env(tools, job["pip_tools"])
    for name in ("requirements.in", "constraints.txt"):
        path = os.path.join(work, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("@WORK@", work))
    # The package's __main__ also imports pip-sync, which does not fit every pip; the command alone does.
    start = [python, "-W", "ignore", "-c", "from piptools.scripts.compile import cli; cli()"]
    fixed = [
        "--allow-unsafe",
        "--strip-extras",
        "--no-header",
        "--cache-dir",
        os.path.join(work, "pip-tools"),
    ]
    names = ["--output-file", "compiled.txt", "requirements.in"]
    run("compile", start + fixed + job["options"] + names, cwd=work)
    return {}


def build(work: str, tools: str) -> "dict[str, object]":
    """Download what building WORK/source needs (`build-fetch`)."""
    with open(os.path.join(work, "job.json"), encoding="utf-8") as f:
        job = json.load(f)
    python, needs = tool_env(tools, job["pip_tools"]), os.path.join(work, "needs")
    argv = [python, "-m", "pip", "download", "--quiet", "--dest", needs, "--only-binary", ":all:"]
    run("build-requires", argv + job["build_requires"])
    return {}


def build_offline(work: str, tools: str) -> "dict[str, object]":
    """Build WORK/source into a wheel in WORK/made, without a network, dates fixed (`build-wheel`)."""
    python = os.path.join(tools, "env", "bin", "python")
    os.environ.update({"SOURCE_DATE_EPOCH": EPOCH, "PYTHONHASHSEED": "0", "PIP_CONFIG_FILE": os.devnull})
    source = os.path.join(work, "source")
    found = [os.path.join(source, n) for n in sorted(os.listdir(source))]
    target = found[0] if len(found) == 1 and os.path.isfile(found[0]) else source
    argv = [python, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-cache-dir", "--find-links"]
    run("build", [*argv, os.path.join(work, "needs"), "--wheel-dir", os.path.join(work, "made"), target])
    return {"compiler": shutil.which("cc") or shutil.which("gcc") or ""}


def prove(work: str, tools: str) -> "dict[str, object]":
    """Install WORK/requirements.lock from WORK/wheels, offline and with hashes, then `pip check`."""
    os.environ["PIP_CONFIG_FILE"] = os.devnull
    wheels = os.path.join(work, "wheels")
    python = make_env(work, pip_wheel(tools))
    argv = [
        python,
        "-m",
        "pip",
        "install",
        "--no-index",
        "--find-links",
        wheels,
        "--require-hashes",
        "--no-cache-dir",
    ]
    run("install", [*argv, "--quiet", "--no-compile", "-r", os.path.join(work, "requirements.lock")])
    run("check", [python, "-m", "pip", "check"])
    version = subprocess.check_output([python, "-m", "pip", "--version"]).decode().split()[1]
    return {"python": platform.python_version(), "pip": version}


STEPS = {
    "probe": probe,
    "resolve": resolve,
    "build-fetch": build,
    "build-wheel": build_offline,
    "prove": prove,
}


def main(argv: "list[str]") -> int:
    """Run one step; exit status 0, or 1 with the stage in the answer."""
    step, work, tools = argv
    pip_environment(work)
    os.environ.setdefault("HOME", work)
    status = 0
    try:
        answer = STEPS[step](work, tools)
    except Failed as problem:
        answer, status = {"failed": problem.stage}, 1
    with open(os.path.join(work, "answer.json"), "w") as f:
        json.dump(answer, f)
    # Nothing of the environment is wanted afterwards, and it can be gigabytes.
    shutil.rmtree(os.path.join(work, "env"), ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
