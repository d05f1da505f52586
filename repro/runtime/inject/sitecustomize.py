"""First thing that every Python of the program's process tree runs: puts the recorder in place.

Python imports a module of this name at start. If the user has one too, it runs after this one, as
it would have without us. Nothing that goes wrong with the recorder may reach the program.
"""

import os
import sys


def _watch():
    try:
        from _repro_recorder.inside.hooks.imports import watch_imports

        watch_imports()
    except Exception as problem:
        sys.stderr.write("repro: the recorder could not start: %s: %s\n" % (type(problem).__name__, problem))


def _chain():
    import importlib.util
    from importlib.machinery import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p) != here])
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("REPRO_RUNTIME_ATTEMPT"):
    _watch()
_chain()
