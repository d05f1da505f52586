"""One run from beginning to end: lay, check, start, watch, check, close."""

import os
import shutil
import sys
import time

from . import card
from .attempt import new_attempt
from .child_env import child_env, with_project
from .command import digest_of, fill, named_files, with_python
from .files import read_json
from .gates import data_format, reload_weights
from .job import Job
from .options import IMAGE_BUNDLE, UsageError
from .params import Params, keep, keep_from_command
from .plan import Plan
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
    python = _absolute(options.python) or sys.executable
    identity = read_json(os.path.join(bundle, "identity.json")) or _identity_of(bundle)
    engine = options.engine or ("image" if bundle == IMAGE_BUNDLE else "inplace")
    identity = dict(identity, protocol=spec)
    facts = _facts(options, words, engine, bundle=identity, overrides=params.all_overrides())
    attempt = _attempt(options.out, facts)
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
    job.before = lambda: [
        data_format(bundle),
        reload_weights(work.cwd, python, job.plain_env()),
        card.look(bundle, python, job.plain_env(), work.cwd, given),
    ]
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


def _absolute(python):
    """A path that still holds in another folder; a bare name is left to PATH."""
    return os.path.abspath(python) if os.sep in python else (shutil.which(python) or python)


def _identity_of(bundle):
    manifest = read_json(os.path.join(bundle, "bundle.json"), {}) or {}
    return {k: manifest[k] for k in ("id", "name", "identity") if k in manifest}


def _facts(options, words, engine, bundle, overrides):
    name = os.path.basename(os.path.abspath(options.out))
    run_id = options.run_id or (
        name if name != "out" else time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()) + digest_of(words)
    )
    return {
        "run_id": run_id,
        "label": options.label,
        "engine": engine,
        "bundle": bundle,
        "command": list(words),
        "overrides": overrides,
        "environment": dict(options.env_note),
    }


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
