"""The program itself: started in its own process group, its output copied as it comes, signals passed on."""

import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
import time

from .process_tree import HostPeak

FORWARDED = (signal.SIGINT, signal.SIGTERM)
GRACE_SECONDS = 8.0  # less than the ten seconds that container engines wait before they kill
LINGER_SECONDS = 5.0
SAMPLE_SECONDS = 1.0


class Ending:
    """How the program ended: `code` as a shell shows it, `signal` that ended it, those `asked` for by us."""

    def __init__(self, returncode, asked, note):
        self.signal = _signal_name(-returncode) if returncode < 0 else ""
        self.code = 128 - returncode if returncode < 0 else returncode
        self.asked = asked
        self.note = note


def _signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


@contextlib.contextmanager
def undisturbed():
    """Hold interrupts off while a record is closed: a second Ctrl-C must not leave half of one."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Program:
    """One run of a command."""

    def __init__(self, argv, cwd, env, log):
        self.argv = argv
        self.cwd = cwd
        self.env = env
        self.log = log
        self.peak = HostPeak()
        self.asked = []
        self.asked_at = None
        self.note = ""
        self.echo = True
        self.over = None
        self.process = None

    def run(self):
        """Wait for the end and return it; SIGINT and SIGTERM that reach us reach the whole group.

        They are listened for before the program is there, so that none can end us and leave it behind.
        """
        before = {s: signal.signal(s, self._forward) for s in FORWARDED}
        try:
            self._start()
            self._watch()
            return Ending(self.process.wait(), self.asked, self.note)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self.process:
                self.process.stdout.close()

    def _start(self):
        stdin = subprocess.DEVNULL if sys.stdin is None or sys.stdin.isatty() else None
        self.process = subprocess.Popen(
            self.argv,
            cwd=self.cwd,
            env=self.env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=os.setpgrp,
        )
        if self.asked:  # while it was being started
            self._tell(signal.SIGKILL if len(self.asked) > 1 else getattr(signal, self.asked[0]))

    def _forward(self, number, _frame):
        # A second request is a wish to have it over.
        strong = signal.SIGKILL if self.asked else number
        self.asked.append(_signal_name(number))
        self.asked_at = self.asked_at or time.monotonic()
        self._tell(strong)

    def _tell(self, number):
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, number)
        except OSError as problem:
            if problem.errno not in (errno.ESRCH, errno.EPERM):
                raise

    def _watch(self):
        source = self.process.stdout.fileno()
        open_end, sampled, ended_at = True, 0.0, None
        while open_end:
            now = time.monotonic()
            if now - sampled >= SAMPLE_SECONDS:
                self.peak.sample(self.process.pid)
                sampled = now
            self._hurry(now)
            self._end_if_over()
            if ended_at is None and self.process.poll() is not None:
                ended_at = now
            if ended_at is not None and now - ended_at > LINGER_SECONDS:
                if self.note:  # killed already: what still holds the pipe left the program's process group
                    self.note = "a process that the program left behind goes on, and was not waited for"
                    break
                self.note = "processes of the program outlived it and were killed"
                self._tell(signal.SIGKILL)
                ended_at = now
            open_end = self._copy(source)
        self.process.wait()
        self.peak.complete()

    def _end_if_over(self):
        """End what is left of a program that has said farewell: workers, a shell with more commands."""
        if self.over is not None and self.over():
            self.over = None
            self._tell(signal.SIGKILL)

    def _hurry(self, now):
        late = self.asked_at is not None and "SIGTERM" in self.asked and now - self.asked_at > GRACE_SECONDS
        if late and self.process.poll() is None:
            self._tell(signal.SIGKILL)

    def _copy(self, source):
        """Copy what is there; False once every writer has closed its end."""
        ready = select.select([source], [], [], 0.2)[0]
        if not ready:
            return True
        data = os.read(source, 1 << 16)
        self.log.write(data)
        self.log.flush()
        if self.echo:
            self.echo = _show(data)
        return bool(data)


def _show(data):
    """Write bytes to our standard output; False once nobody reads it any more."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return True
    except (OSError, ValueError):
        return False
