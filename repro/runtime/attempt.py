"""The folder of one try, `attempt-N`, and its states in `run.json`.

Running is written first; any other state only by the process that saw the end. A folder left at
`running` is a try that was killed.
"""

import os
import re
import time

from .files import claim, read_lines, sha256_file, write_json
from .hexfloat import hexfloat
from .schema import SCHEMA

NAME = re.compile(r"attempt-(\d+)\Z")
RECORDS = ("run.json", "conditions.json", "gates.json", "params.json", "memory.json", "checkpoints.json")
RESULTS = ("metrics.json", "eval.jsonl", "log.txt", "progress.jsonl")


class Attempt:
    """One try of a run: where it lies and what `run.json` says of it."""

    def __init__(self, run_folder, number, facts):
        self.run_folder = run_folder
        self.number = number
        self.folder = os.path.join(run_folder, "attempt-%d" % number)
        self.out = self.path("out")
        self.work = self.path("work")
        self.cache = self.path("cache")
        self.state = dict(
            facts, schema=SCHEMA, attempt=number, status="running", started=hexfloat(time.time())
        )

    def path(self, *names):
        """A path below the attempt's folder."""
        return os.path.join(self.folder, *names)

    def save(self, **changes):
        """Change fields of `run.json` and write it whole."""
        self.state.update(changes)
        write_json(self.path("run.json"), self.state)

    def finish(self, status, **changes):
        """Write the last state, with its time."""
        self.save(status=status, ended=hexfloat(time.time()), **changes)

    def commit(self):
        """Name this attempt the run's result; False when an earlier one is already."""
        names = [n for n in RECORDS + RESULTS if os.path.isfile(self.path(n))]
        names += [os.path.basename(path) for path in self.traces()]
        document = {
            "schema": SCHEMA,
            "attempt": self.number,
            "status": self.state["status"],
            "files": {n: sha256_file(self.path(n)) for n in names},
        }
        aside = self.path(".result.json")
        write_json(aside, document)
        try:
            return claim(os.path.join(self.run_folder, "result.json"), aside)
        finally:
            os.unlink(aside)

    def traces(self):
        """Paths of the trace files, rank 0 first."""
        paths = [self.path(n) for n in os.listdir(self.folder) if n.startswith("trace-")]
        return sorted(p for p in paths if os.path.isfile(p))

    def records(self):
        """Every record of every trace, in order of file and line."""
        for path in self.traces():
            for record in read_lines(path):
                yield record


def new_attempt(run_folder, facts):
    """Make the next free `attempt-N`: `mkdir` fails for all but one of two that try at once."""
    os.makedirs(run_folder, exist_ok=True)
    taken = [int(m.group(1)) for m in map(NAME.match, os.listdir(run_folder)) if m]
    number = max(taken, default=0) + 1
    while True:
        attempt = Attempt(run_folder, number, facts)
        try:
            os.mkdir(attempt.folder)
            break
        except FileExistsError:
            number += 1
    for folder in (attempt.out, attempt.cache):
        os.mkdir(folder)
    attempt.save()
    return attempt
