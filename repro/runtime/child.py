"""Questions that need the program's own Python and torch: asked of a short process, answered in JSON."""

import json
import os
import subprocess

BOOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "boot.py")
SECONDS = 600


class NoAnswerError(Exception):
    """The process could not be started, took too long, or ended without an answer."""


def ask(verb, request, python, env, cwd):
    """The document that `boot.py VERB` writes as its last line; raises NoAnswerError."""
    try:
        child = subprocess.run(
            [python, BOOT, verb], input=json.dumps(request).encode("utf-8"), env=env, cwd=cwd,
            timeout=SECONDS, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as problem:
        raise NoAnswerError(str(problem)) from None
    try:
        return json.loads(child.stdout.decode("utf-8").splitlines()[-1])
    except (ValueError, IndexError):
        last = child.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise NoAnswerError("exit status %d: %s" % (child.returncode, "".join(last)[:300])) from None
