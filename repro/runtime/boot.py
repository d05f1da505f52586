"""Starts the runtime from a checkout: `python repro/runtime/boot.py record --out D -- python train.py`.

Whatever the folder is called, its package is loaded as `repro_runtime`.
"""

import importlib.util
import os
import sys

NAME = "repro_runtime"
HERE = os.path.dirname(os.path.abspath(__file__))


def start():
    """Exit status of the command line, run by the package in this file's folder."""
    # Python put this folder itself first: names of our files would hide modules of other people.
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE or p == ""]
    where = {"submodule_search_locations": [HERE]}
    spec = importlib.util.spec_from_file_location(NAME, os.path.join(HERE, "__init__.py"), **where)
    sys.modules[NAME] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    from repro_runtime.__main__ import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(start())
