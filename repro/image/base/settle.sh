#!/bin/sh
# Make a fresh Debian root ready, and the same for the same packages. Runs on the host, as root of that root.
#   $1  the root
#   $2  tar of an interpreter to lay below /usr/local, or empty
set -eu
root=$1
interpreter=${2:-}
if [ -n "$interpreter" ]; then
    tar -xf "$interpreter" -C "$root/usr/local"
fi
chroot "$root" ldconfig
# A base without these would fail later, in the middle of a build.
chroot "$root" python3 -c 'import ctypes, platform, ssl, zlib; platform.python_version()'
chroot "$root" python3 -m venv /tmp/try
rm -rf "$root/tmp/try"
# Bytecode as packages leave it depends on file times and on the random hash seed.
find "$root/usr" -name __pycache__ -prune -exec rm -rf {} +
find "$root/usr" -name '*.py[co]' -exec rm -f {} +
# Python 3.6 knows only bytecode that names its source's time: the one that the archive will have.
find "$root/usr" -name '*.py' -exec touch -h -d @315532800 {} +
chroot "$root" env PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE= python3 -c '
import compileall, sys, sysconfig
unchecked = {}
if sys.version_info >= (3, 7):
    import py_compile
    unchecked["invalidation_mode"] = py_compile.PycInvalidationMode.UNCHECKED_HASH
compileall.compile_dir(sysconfig.get_paths()["stdlib"], quiet=2, **unchecked)
'
