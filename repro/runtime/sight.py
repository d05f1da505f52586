"""What is here of cards: the machine's own list, and what the program's torch is shown. Each is read once."""

from . import nvml
from .child import NoAnswerError, ask


class Sight:
    """The readings of one place; `read` says what driver and cards are here (nvml.read)."""

    def __init__(self, python, env, cwd, read=nvml.read):
        self._python, self._env, self._cwd, self._read = python, env, cwd, read
        self._machine = self._answer = None

    def machine(self):
        """The driver and the cards, as of nvml.read."""
        if self._machine is None:
            self._machine = self._read()
        return self._machine

    def program(self):
        """What the program's torch is and what devices it is shown; raises NoAnswerError."""
        if self._answer is None:
            try:
                self._answer = ask("_devices", None, self._python, self._env, self._cwd)
            except NoAnswerError as problem:
                self._answer = problem
        if isinstance(self._answer, NoAnswerError):
            raise self._answer
        return self._answer

    def devices(self):
        """The field `devices` of `run.json`: driver and cards; empty where there are none."""
        try:
            machine = self.machine()
        except Exception:  # a gate has told of it
            return {}
        return {"driver": machine["driver"], "cards": machine["cards"]} if machine["cards"] else {}
