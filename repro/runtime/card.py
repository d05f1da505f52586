"""The gate that holds the live card, driver and torch against what the bundle was checked for.

`stack.json` is what the host knew at the build (docs/formats.md); nothing is read from it that the machine
says itself. Without a card there is nothing to hold; what cannot be read is unknown, and never stops a run.
"""

import os

from . import nvml
from .cardrules import LIVE, NO_DEVICE, best_fit, judge, plain
from .child import NoAnswerError
from .files import read_json
from .gates import gate
from .sight import Sight

NAME = "card"
ALLOWED = "; the program runs, since the bundle was built with --allow-incompatible"
UNUSED = "; the program runs, since nothing says that it uses the card"


class Live:
    """What this machine and the program's torch say, and what `stack.json` had told before."""

    def __init__(self, stack, machine, program):
        known = stack.get("torch") or {}
        self.stack_torch = known
        self.targets = stack.get("targets") or []
        self.need = stack.get("memory_bytes") or 0
        self.driver = machine["driver"]
        self.torch, self.cuda = program["version"], program["cuda"]
        self.available, self.cuinit, self.said = program["available"], program["cuinit"], program["said"]
        self.problem = program["problem"]
        self.cards = _as_shown(machine["cards"], program["devices"])
        self.as_locked = (plain(self.torch or ""), self.cuda) == (known.get("version"), known.get("cuda"))
        self.told_codes = _told(known) if self.as_locked else None
        self.codes, self.basis = program["arch_list"], LIVE
        if self.codes is None:
            self.codes, self.basis = self.told_codes, "the bundle's stack.json"
        self.refusals = (stack.get("help") or {}).get("cuda_init_errors") or {}
        self.remedies = (stack.get("help") or {}).get("code_fixes") or {}
        floors = (stack.get("driver") or {}) if self.as_locked else {}
        self.floor, self.ptx_floor = floors.get("floor", ""), floors.get("ptx_floor", "")

    def kinds(self):
        """One card of each name and capability."""
        return list({(card["name"], card["capability"]): card for card in self.cards}.values())

    def names(self):
        """The cards, in words."""
        return ", ".join(card["name"] for card in self.kinds()) or "the card"

    def fixes(self, card):
        """What gives a card code: another torch, as the host's tables had it, or another card."""
        known = self.remedies.get(card["capability"]) if self.as_locked or not self.cuda else None
        return (known or ["repro check --gpu '%s'" % card["name"]]) + self.elsewhere()

    def elsewhere(self):
        """The fix that needs no other torch: a card that the bundle was made for."""
        names = [t.get("name") or t.get("asked", "") for t in self.targets]
        fits = [best_fit(self.codes or (), t.get("capability", "")) != "none" for t in self.targets]
        fitting = [name for name, fit in zip(names, fits) if fit]
        return ["run it on %s" % " or ".join(fitting)] if fitting else []


def _told(known):
    """Targets of torch's kernels as the host knew them, None when it did not."""
    return None if known.get("sass") is None else known["sass"] + (known.get("ptx") or [])


def _as_shown(cards, devices):
    """The devices that the program is shown, with the memory that NVML gives a whole card of that name."""
    memory = {card["name"]: card["memory_bytes"] for card in cards}
    return [dict(d, memory_bytes=memory.get(d["name"], d["memory_bytes"])) for d in devices] or cards


def look(bundle, python, env, cwd, given, read=nvml.read):
    """The row of `gates.json`, see `at`; `read` says what driver and cards are here."""
    return at(bundle, Sight(python, env, cwd, read), given)


def at(bundle, sight, given):
    """The row of `gates.json`; never an exception.

    `given`: a card that is here was given to this run, as a container's is; one that merely is in the machine
    stops a bundle with targets only.
    """
    try:
        stack = read_json(os.path.join(bundle, "stack.json"), {})
        machine = sight.machine()
        if not machine["present"]:
            return without_card(stack, "no NVIDIA card is here")
        return verdict(stack, machine, sight.program(), given)
    except NoAnswerError as problem:
        return gate(NAME, "unknown", "the program's torch could not be asked: %s" % problem)
    except Exception as problem:
        return gate(NAME, "unknown", "could not be looked at: %s: %s" % (type(problem).__name__, problem))


def without_card(stack, why):
    """The row for a program that gets no card."""
    wanted = ", ".join(t.get("name") or t.get("asked", "") for t in stack.get("targets") or [])
    if wanted:
        return gate(NAME, "unknown", "%s; the bundle is meant for %s" % (why, wanted))
    return gate(NAME, "skipped", "%s, and the bundle asks for none" % why)


def verdict(stack, machine, program, given=True):
    """The row for a place that has a card: `machine` as of nvml.read, `program` as of devices.read."""
    live = Live(stack, machine, program)
    if live.cuinit == NO_DEVICE:
        return without_card(stack, "the program is shown no card")
    found = judge(live)
    stops = [row for row in found if row["stops"]]
    meant = given or bool(live.targets)
    allowed = bool(stops) and meant and stack.get("allowed") is True
    if not stops:
        status, reason = _state(live, machine["problem"] or live.problem)
    elif meant:
        status, reason = "failed", _short(stops[0]) + (ALLOWED if allowed else "")
    else:
        status, reason = "skipped", _short(stops[0]) + UNUSED
    found = [dict(row, stops=row["stops"] and meant) for row in found]
    return dict(gate(NAME, status, reason, [_line(row) for row in found]), findings=found, allowed=allowed)


def _short(finding):
    return "%s: %s" % (finding["rule"], finding["found"])


def _state(live, problem):
    if live.torch and not live.cuda:
        return "skipped", "torch %s is a build without CUDA, and the bundle asks for no card" % live.torch
    kinds = live.kinds()
    if live.codes is None or not kinds or not all(card["capability"] for card in kinds):
        return "unknown", problem or "torch %s does not tell what code it has" % live.torch
    words = [
        "%s (%s, %s)" % (k["name"], k["capability"], best_fit(live.codes, k["capability"])) for k in kinds
    ]
    return "passed", "%s; driver %s; torch %s" % (", ".join(words), live.driver or "unknown", live.torch)


def _line(found):
    needed = ["needed %s" % found["needed"]] if found["needed"] else []
    parts = [found["found"]] + needed + [text for text in [found["why"]] if text] + found["fix"]
    return "%s: %s" % (found["rule"], "; ".join(parts))
