"""Find a Python of an asked version on this machine; nothing of ours need be installed on it."""

import glob
import os
import re
import shutil
import subprocess
import sys

ASK = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
SECONDS = 20
NO_NAMES = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP")


def find_python(version):
    """Path of an interpreter of `3.11`, None without one. Each is started once: a name proves nothing."""
    seen = set()
    for path in candidates(version):
        if path not in seen and matches(path, version):
            return path
        seen.add(path)
    return None


def candidates(version):
    """Files that may be that interpreter, best first: the running one, PATH, then what keeps several."""
    yield sys.executable
    for name in ("python" + version, "python3", "python"):
        found = shutil.which(name)
        if found:
            yield found
    for pattern in _patterns(version):
        for path in sorted(glob.glob(os.path.expanduser(pattern)), key=_numbers, reverse=True):
            yield path


def _patterns(version):
    own = "python" + version
    return (
        os.path.join(os.environ.get("PYENV_ROOT") or "~/.pyenv", "versions", version + ".*", "bin", own),
        os.path.join(os.environ.get("UV_PYTHON_INSTALL_DIR") or "~/.local/share/uv/python", "*", "bin", own),
        os.path.join(
            os.environ.get("ASDF_DATA_DIR") or "~/.asdf", "installs/python", version + ".*", "bin", own
        ),
        os.path.join("/opt/conda", "bin", own),
        os.path.join("/opt/conda/envs", "*", "bin", own),
        os.path.join("~/miniconda3", "bin", own),
        os.path.join("~/miniconda3/envs", "*", "bin", own),
        os.path.join("/usr/local/bin", own),
        os.path.join("/usr/bin", own),
    )


def _numbers(path):
    return [int(word) for word in re.findall(r"\d+", path)]


def matches(path, version):
    """Whether this file starts, and is that version of Python."""
    return version_of(path).split(".")[: version.count(".") + 1] == version.split(".")


def version_of(path):
    """`3.11.7` as the interpreter itself says, empty when it does not start."""
    try:
        done = subprocess.run(
            [path, "-I", "-c", ASK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("ascii", "replace").strip() if done.returncode == 0 else ""


def clean_env():
    """This process's environment without what would let other packages into a new one."""
    return {name: value for name, value in os.environ.items() if name not in NO_NAMES}
