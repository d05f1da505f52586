"""Checks before and after the loop: what was looked at, and what came out.

Status is passed, failed, unknown (could not be looked at, with the reason) or skipped (nothing to
look at). A gate that fails before the loop stops the run; after the loop it is written down.
"""

import os

from .child import NoAnswerError, ask
from .dataformat import problem_of
from .evalset import eval_files
from .files import sha256_file, write_json
from .schema import SCHEMA

WEIGHTS = (".pt", ".pth", ".ckpt", ".safetensors")


def gate(name, status, reason="", evidence=()):
    """One row of `gates.json`."""
    return {"name": name, "status": status, "reason": reason, "evidence": list(evidence)}


def data_format(bundle):
    """The evaluation files are those that were packed, and their content fits their suffix."""
    files = eval_files(bundle)
    if not files:
        return gate("data-format", "skipped", "the bundle has no evaluation files")
    problems = []
    for file in files:
        problem = _differs(file) or problem_of(file.path)
        if problem:
            problems.append("%s: %s" % (file.name, problem))
    if problems:
        return gate(
            "data-format", "failed", "%d of %d evaluation files" % (len(problems), len(files)), problems
        )
    return gate("data-format", "passed", "%d evaluation files" % len(files))


def _differs(file):
    if not os.path.isfile(file.path):
        return "is not there"
    size = os.path.getsize(file.path)
    if size != file.bytes:
        return "holds %d bytes, %d were packed" % (size, file.bytes)
    digest = sha256_file(file.path)
    return "" if digest == file.sha256 else "sha256 is %s, %s was packed" % (digest[:12], file.sha256[:12])


def reload_weights(work, python, env):
    """Every weight file in the code and the evaluation set opens in a fresh process."""
    paths = [
        os.path.join(root, name)
        for root, _, names in os.walk(work)
        for name in sorted(names)
        if name.lower().endswith(WEIGHTS)
    ]
    if not paths:
        return gate("reload", "skipped", "no weight files in the code or the evaluation set")
    answers = look_into(paths, python, env, work, trusted=False)
    return _verdict("reload", answers, work)


def _verdict(name, answers, top):
    told = ["%s: %s" % (os.path.relpath(a["path"], top), a["reason"]) for a in answers if a["reason"]]
    states = {a["status"] for a in answers}
    for status in ("failed", "unknown"):
        if status in states:
            count = sum(a["status"] == status for a in answers)
            return gate(name, status, "%d of %d weight files" % (count, len(answers)), told)
    return gate(name, "passed", "%d weight files" % len(answers), told)


def checkpoint_reload(saves, folder, python, env, cwd):
    """The last checkpoint that the program saved gives the same tensors back to a fresh process."""
    there = [s for s in saves if s["path"] and os.path.isfile(os.path.join(folder, s["path"]))]
    if not there:
        return gate("checkpoint-reload", "skipped", "the program left no file saved by torch.save")
    last = there[-1]
    answer = look_into([os.path.join(folder, last["path"])], python, env, cwd, trusted=True)[0]
    evidence = [
        "file %s" % last["path"],
        "saved %s" % last["fingerprint"],
        "loaded %s" % answer["fingerprint"],
    ]
    if answer["status"] != "passed":
        return gate("checkpoint-reload", answer["status"], answer["reason"], evidence[:2])
    if not last["fingerprint"] or not answer["fingerprint"]:
        return gate("checkpoint-reload", "unknown", "it loads; its tensors were not fingerprinted", evidence)
    same = last["fingerprint"] == answer["fingerprint"]
    reason = "%d tensors" % answer["tensors"] if same else "the tensors loaded are not those saved"
    return gate("checkpoint-reload", "passed" if same else "failed", reason, evidence)


def finite(events, steps):
    """No loss was NaN or infinite."""
    if not steps:
        return gate("finite", "skipped", "no optimizer step was recorded")
    bad = [e for e in events if e.get("what") == "nonfinite" and e.get("signal") == "loss"]
    if bad:
        return gate(
            "finite", "failed", "loss first %s at step %s" % (bad[0].get("value"), bad[0].get("step"))
        )
    return gate("finite", "passed", "%d steps" % steps)


def look_into(paths, python, env, cwd, trusted):
    """One answer a path, from a child process that has the program's torch (weights.py)."""
    try:
        return ask("_weights", {"paths": paths, "trusted": trusted}, python, env, cwd)["answers"]
    except NoAnswerError as problem:
        reason = "could not be looked at: %s" % problem
        return [
            {"path": p, "status": "unknown", "reason": reason, "tensors": 0, "fingerprint": None}
            for p in paths
        ]


def write_gates(path, rows):
    """Write `gates.json`."""
    write_json(path, {"schema": SCHEMA, "gates": rows})
