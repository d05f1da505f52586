"""One program from its gates to its closed record."""

import os
import shutil
import sys

from . import machine
from .child_env import with_plan
from .closing import Summary, close_checkpoints, write_memory
from .command import fill, find_program, with_python
from .farewell import Farewells
from .files import write_json
from .gates import checkpoint_reload, finite, gate, write_gates
from .lockcheck import add_differences
from .options import UsageError
from .plan import PlanError
from .program import Program, undisturbed
from .results import read_results
from .schema import SCHEMA

REFUSED, INTERRUPTED, NOT_FOUND = 3, 130, 127


def say(text):
    """A line of ours, on standard error."""
    sys.stderr.write("repro: %s\n" % text)
    sys.stderr.flush()


class Job:
    """Everything that is needed to run one program and close its record."""

    def __init__(self, attempt, spec, argv, cwd, python, env, places):
        self.attempt, self.spec, self.argv, self.cwd = attempt, spec, argv, cwd
        self.python, self.env, self.places = python, env, places
        self.before = list
        self.after = None
        self.devices = dict
        self.lock = ""
        self.plan = None
        self.farewells = Farewells(attempt.cache)
        self.gates = []
        self.peak = 0

    def plain_env(self):
        """The program's environment without the recorder."""
        env = dict(self.env)
        env.pop("REPRO_RUNTIME_ATTEMPT", None)
        return env

    def perform(self):
        """Exit status, after gates, program and record."""
        self.attempt.save(argv=self.argv)
        try:
            self._plan()
        except PlanError as problem:
            return self._refused(str(problem))
        self.gates = self.before()
        write_gates(self.attempt.path("gates.json"), self.gates)
        if self.devices():
            self.attempt.save(devices=self.devices())
        failed = [g for g in self.gates if g["status"] == "failed" and not g.get("allowed")]
        missing = find_program(self.argv[0], self.cwd, self.env.get("PATH"))
        if failed or missing:
            return self._refuse(failed, missing)
        for row in self.gates:
            for line in row["evidence"] if row.get("findings") else ():
                say("%s: %s" % (row["name"], line))
        try:
            ending = self._start()
        except KeyboardInterrupt:
            return self._stopped_early()
        with undisturbed():
            return self._close(ending)

    def _stopped_early(self):
        """The end of an attempt whose program was interrupted in the moment of its start."""
        with undisturbed():
            self._tidy()
            reason = "interrupted before the program ran"
            self.attempt.finish("stopped", exit_code=None, signal="SIGINT", reason=reason)
        return INTERRUPTED

    def _refuse(self, failed, missing):
        for row in failed:
            say("%s: %s" % (row["name"], "; ".join([row["reason"]] + row["evidence"][:5])))
        reason = missing or "gate %s: %s" % (failed[0]["name"], failed[0]["reason"])
        return self._refused(reason, NOT_FOUND if missing and not failed else REFUSED)

    def _refused(self, reason, code=REFUSED):
        say("refused, the program was not started: %s" % reason)
        self._tidy()
        self.attempt.finish("refused", exit_code=None, reason=reason)
        return code

    def _plan(self):
        """Check what was asked beside training, and tell the program's recorder of it."""
        if self.plan is not None:
            self.plan.check()
            self.env = with_plan(self.env, self.plan)
            if self.plan.asked:
                self.attempt.save(plan=self.plan.told())

    def _start(self):
        with open(self.attempt.path("log.txt"), "ab") as log:
            ending = self._one(self.argv, self.env, log)
            words = self.spec.get("eval_command")
            if words and ending.code == 0 and not ending.asked and not self._partial():
                places = dict(self.places, checkpoint=self._last_checkpoint())
                try:
                    argv = with_python(fill(words, places), self.python)
                except UsageError as problem:
                    ending.code, ending.note = 2, "evaluation: %s" % problem
                    return ending
                ending = self._one(argv, self.plain_env(), log)
                ending.note = ending.note or ("the evaluation command failed" if ending.code else "")
        return ending

    def _one(self, argv, env, log):
        program = Program(argv, self.cwd, env, log)
        if self.plan is not None and self.plan.asked:
            program.over = self.farewells.over
        try:
            return program.run()
        finally:
            self.peak = max(self.peak, program.peak.bytes)

    def _partial(self):
        return self.plan is not None and self.plan.partial

    def _last_checkpoint(self):
        saves = close_checkpoints(self.attempt)
        return os.path.join(self.attempt.folder, saves[-1]["path"]) if saves else ""

    def _close(self, ending):
        summary = Summary(self.attempt)
        saves = close_checkpoints(self.attempt)
        write_memory(self.attempt, self.peak, summary.events)
        if not os.path.exists(self.attempt.path("conditions.json")):
            write_json(
                self.attempt.path("conditions.json"), {"schema": SCHEMA, "values": machine.conditions()}
            )
        if self.lock:
            add_differences(self.lock, self.attempt.path("conditions.json"))
        note = self.farewells.note()
        problems = [] if note or self._partial() else read_results(self.spec, self.attempt)
        self.gates += [self._reloaded(saves, note), finite(summary.events, summary.steps)]
        write_gates(self.attempt.path("gates.json"), self.gates)
        self._tidy()
        return self._last_state(ending, summary, problems, note)

    def _reloaded(self, saves, note):
        if note or self._partial():
            return gate("checkpoint-reload", "skipped", "no whole run")
        return checkpoint_reload(saves, self.attempt.folder, self.python, self.plain_env(), self.cwd)

    def _last_state(self, ending, summary, problems, note):
        if note and not ending.asked:
            return self._ended_by_us(note, summary)
        status = "stopped" if ending.asked else ("ok" if ending.code == 0 else "failed")
        if status == "ok" and self._partial():
            status = "limited"
        for problem in problems:
            say("results: %s" % problem)
        reason = "; ".join([r for r in [ending.note] if r] + problems)
        self.attempt.finish(
            status, exit_code=ending.code, signal=ending.signal, reason=reason, recorder=summary.recorder()
        )
        if status == "ok" and not self.attempt.commit():
            say(
                "this run had a result already, which stands; this is %s"
                % os.path.basename(self.attempt.folder)
            )
        interrupted = "SIGINT" in ending.asked
        return INTERRUPTED if interrupted else ending.code

    def _ended_by_us(self, note, summary):
        """The end of a program that its recorder has ended, as asked or because it could not be as asked."""
        code = 0 if note["status"] == "limited" else REFUSED
        if code:
            say("refused: %s" % note["reason"])
        self.attempt.finish(
            note["status"], exit_code=code, signal="", reason=note["reason"], recorder=summary.recorder()
        )
        return code

    def _tidy(self):
        if self.after is not None:
            self.after()
        shutil.rmtree(self.attempt.cache, ignore_errors=True)
