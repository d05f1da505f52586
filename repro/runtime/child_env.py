"""The environment in which the program is started."""

import os

from .plan import VARIABLE as PLAN

INJECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inject")
# Places where libraries keep what they compile or fetch; a home that can be written is not promised.
CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "MPLCONFIGDIR": "matplotlib",
    "XDG_CACHE_HOME": "xdg",
}


# What says that a project means to be installed before its scripts run.
PACKAGING = ("setup.py", "setup.cfg", "pyproject.toml")


def child_env(attempt, every, python=None):
    """The program's environment: ours, and the recorder's folder first on PYTHONPATH.

    A command may set PYTHONPATH itself; in an environment of ours the file `repro_runtime.pth` then
    brings the recorder back, by the name in REPRO_RUNTIME_INJECT.
    """
    env = dict(os.environ)
    env.pop(PLAN, None)
    paths = [INJECT] + [p for p in [env.get("PYTHONPATH", "")] if p]
    env["PYTHONPATH"] = os.pathsep.join(paths)
    env["REPRO_RUNTIME_INJECT"] = INJECT
    if python:
        # Only a bundle's run: a recorded command keeps the caches that it has on this machine.
        env["PATH"] = os.pathsep.join([os.path.dirname(os.path.abspath(python)), env.get("PATH", os.defpath)])
        for name, folder in CACHES.items():
            env.setdefault(name, os.path.join(attempt.cache, folder))
    env.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    env["PYTHONUNBUFFERED"] = "1"
    env["REPRO_RUNTIME_ATTEMPT"] = attempt.folder
    # Without a number the recorder takes its own, and may thin it.
    env["REPRO_RUNTIME_EVERY"] = str(every or "")
    return env


def with_plan(env, plan):
    """Environment of a program that has something to do beside training, or goes without the recorder."""
    if not plan.recorded:
        return {name: value for name, value in env.items() if name != "REPRO_RUNTIME_ATTEMPT"}
    return dict(env, **{PLAN: plan.text()}) if plan.asked else env


def with_project(env, cwd):
    """The environment in which a project that has a package imports it, as if installed for development."""
    if not any(os.path.isfile(os.path.join(cwd, name)) for name in PACKAGING):
        return env
    roots = [path for path in (cwd, os.path.join(cwd, "src")) if os.path.isdir(path)]
    return dict(env, PYTHONPATH=os.pathsep.join([env["PYTHONPATH"]] + roots))
