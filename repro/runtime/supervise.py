"""One run from beginning to end: lay, check, start, watch, check, close."""

import glob
import os
import shutil
import sys
import time

from . import card, visible
from .attempt import new_attempt
from .child_env import child_env, with_project
from .command import digest_of, fill, named_files, with_python
from .environment import environment, has_wheels
from .files import read_json
from .gates import data_format, reload_weights
from .job import Job, say
from .options import IMAGE_BUNDLE, IMAGE_OUT, UsageError
from .params import Params, keep, keep_from_command
from .plan import Plan
from .sight import Sight
from .workdir import WorkFolder


class OutputError(Exception):
    """The output folder cannot be written; exit status 3."""


def run(options, command):
    """Exit status of a bundle's run."""
    bundle = os.path.abspath(options.bundle)
    spec = read_json(os.path.join(bundle, "protocol.json"))
    if spec is None:
        raise UsageError(
            "`%s` is no bundle: it has no protocol.json; give the bundle's folder by --bundle" % bundle
        )
    params = Params(options.params or bundle, spec)
    params.change(options.overrides)
    words = command or spec.get("command") or []
    if not words:
        raise UsageError("the bundle names no command; give one after `--`")
    python = _absolute(options.python) or _own_python(bundle, options.env)
    identity = read_json(os.path.join(bundle, "identity.json")) or _identity_of(bundle)
    engine = options.engine or ("image" if bundle == IMAGE_BUNDLE else "inplace")
    identity = dict(identity, protocol=spec)
    facts = _facts(options, words, engine, bundle=identity, overrides=params.all_overrides())
    attempt = _attempt(_out_of(options, bundle, facts["run_id"]), facts)
    work = WorkFolder(bundle, spec, attempt.work)
    try:
        places = {"out": attempt.out, "params": params.lay(attempt), "eval": work.eval_file()}
        places["checkpoint"] = dict(options.mount).get("checkpoint", "")
        argv = with_python(fill(words, places), python)
        work.lay(options.mount, places["params"])
    except UsageError as problem:
        attempt.finish("refused", exit_code=None, reason=str(problem))
        raise
    env = with_project(child_env(attempt, options.snapshot_every, python), work.cwd)
    job = Job(attempt, spec, argv, work.cwd, python, env, places)
    # In place every card of the machine is seen; elsewhere only one that was asked for.
    given = engine != "inplace"
    sight = Sight(python, job.plain_env(), work.cwd)
    job.before = lambda: [
        data_format(bundle),
        reload_weights(work.cwd, python, job.plain_env()),
        visible.look(sight, options.gpus, options.gpu_count, engine),
        card.at(bundle, sight, given),
    ]
    job.devices = sight.devices
    job.after = work.clean
    job.lock = os.path.join(bundle, "requirements.lock")
    job.plan = Plan(options)
    return job.perform()


def record(options, command):
    """Exit status of any command, run in the current folder."""
    cwd = os.getcwd()
    python = _python_of(command)
    attempt = _attempt(options.out, _facts(options, command, options.engine, bundle={}, overrides={}))
    try:
        if options.params:
            keep(options.params, attempt)
        else:
            keep_from_command(command, cwd, attempt)
        argv = [word.replace("{out}", attempt.out) for word in command]
    except UsageError as problem:
        attempt.finish("refused", exit_code=None, reason=str(problem))
        raise
    attempt.save(inputs=named_files(command, cwd))
    spec = {"metrics": "metrics.json"}
    job = Job(attempt, spec, argv, cwd, python, child_env(attempt, options.snapshot_every), {})
    job.plan = Plan(options)
    return job.perform()


def setup(options, _command):
    """Exit status of making a bundle's environment; its interpreter is told on standard output."""
    bundle = os.path.abspath(options.bundle)
    if not has_wheels(bundle):
        raise UsageError(
            "`%s` is no unpacked bundle: it has no lock.json; give its folder by --bundle" % bundle
        )
    leave_as_packed(bundle)
    print(environment(bundle, options.env, _absolute(options.python), say))
    return 0


def leave_as_packed(bundle):
    """Take away what Python compiled of this package in the bundle: another file there is a foreign one."""
    cached = os.path.join(bundle, "repro_runtime", "__pycache__")
    if bundle != IMAGE_BUNDLE:
        for path in glob.glob(os.path.join(cached, "__init__.*.pyc")):
            os.unlink(path)
        if os.path.isdir(cached) and not os.listdir(cached):
            os.rmdir(cached)


def _own_python(bundle, folder):
    """The interpreter of the bundle's own environment, made when need be; in an image the one running."""
    if not has_wheels(bundle):
        return sys.executable
    leave_as_packed(bundle)
    return environment(bundle, folder, say=say)


def _out_of(options, bundle, run_id):
    """The run's folder; in a container whose /out is no mount the record goes with the container."""
    if options.out:
        return options.out
    if bundle != IMAGE_BUNDLE:
        return os.path.join(bundle, "runs", run_id)
    if not os.path.ismount(IMAGE_OUT):
        say(
            '%s is not mounted, and goes with this container: start it with -v "$PWD/out:%s", or fetch the'
            " record by  docker cp CONTAINER:%s .  before you remove it" % (IMAGE_OUT, IMAGE_OUT, IMAGE_OUT)
        )
    return IMAGE_OUT


def _absolute(python):
    """A path that still holds in another folder; a bare name is left to PATH."""
    return os.path.abspath(python) if os.sep in python else (shutil.which(python) or python)


def _identity_of(bundle):
    manifest = read_json(os.path.join(bundle, "bundle.json"), {}) or {}
    return {k: manifest[k] for k in ("id", "name", "identity") if k in manifest}


def _facts(options, words, engine, bundle, overrides):
    name = os.path.basename(os.path.abspath(options.out)) if options.out else "out"
    run_id = options.run_id or (name if name != "out" else _new_id(words))
    return {
        "run_id": run_id,
        "label": options.label,
        "engine": engine,
        "bundle": bundle,
        "command": list(words),
        "overrides": overrides,
        "environment": dict(options.env_note),
    }


def _new_id(words):
    """A run's id: the time, and what keeps apart two pods that start in one second."""
    return time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()) + digest_of(list(words) + [os.urandom(8).hex()])


def _attempt(out, facts):
    try:
        return new_attempt(os.path.abspath(out), facts)
    except OSError as problem:
        raise OutputError(
            "the output folder `%s` cannot be written: %s; mount a folder that user %d may write, as in"
            ' -v "$PWD/out:/out"' % (out, problem.strerror or problem, os.getuid())
        ) from None


def _python_of(command):
    """The interpreter that will open saved weights: the command's own when it is one, else ours."""
    word = os.path.basename(command[0])
    return (shutil.which(command[0]) if word.startswith("python") else None) or sys.executable
