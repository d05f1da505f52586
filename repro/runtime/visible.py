"""The gate `gpus`: nothing is trained on fewer cards than were asked for.

An engine may drop a request for cards without a word, as Podman before 5.4 does; a program then trains on
the CPU, or on one card of eight, and nobody is told.
"""

import glob
import os

from .cardrules import NO_DEVICE, finding
from .child import NoAnswerError
from .gates import gate

NAME = "gpus"
NODES = "the device is here without the driver's libraries: it was attached without `compute` and `utility`"
PODMAN = "the Docker-compatible interface of Podman before 5.4 drops a request for GPUs without an error"
DROPPED = "the engine started this without them"
FIXES = {
    "podman": ["podman run --device nvidia.com/gpu=all IMAGE", "use Podman 5.4 or later, or Docker"],
    "inplace": ["nvidia-smi -L"],
}
ELSEWHERE = ["nvidia-smi -L      (on the machine itself)", "docker run --gpus all IMAGE"]


def look(sight, asked, count=0, engine=""):
    """The row of `gates.json`; never an exception.

    `asked`: `all`, or indices and UUIDs with commas; empty or `none` when no card was asked for. `count`: how
    many cards `all` stands for, 0 when that is not known.
    """
    names = [part.strip() for part in (asked or "").split(",") if part.strip() not in ("", "none")]
    if not names:
        return gate(NAME, "skipped", "no GPU was asked for")
    try:
        seen, hidden = _seen(sight)
        return judge(asked, names, count, seen, engine, _why(sight.machine(), hidden, engine))
    except Exception as problem:
        return gate(NAME, "failed", "GPUs could not be counted: %s: %s" % (type(problem).__name__, problem))


def judge(asked, names, count, seen, engine, why):
    """The row for `names` that were asked for and the cards that are `seen`, dicts of name and uuid."""
    needed = max(count, len(names))
    known = [card["uuid"] for card in seen if card.get("uuid")]
    absent = [n for n in names if n.startswith("GPU-") and known and not any(u.startswith(n) for u in known)]
    if len(seen) >= needed and not absent:
        return gate(
            NAME, "passed", "%d of %d GPUs visible" % (len(seen), needed), [_line(card) for card in seen]
        )
    found = "%d of %d GPUs visible" % (len(seen), needed)
    found += "".join("; no %s" % name for name in absent)
    fix = FIXES.get(engine, ELSEWHERE)
    row = finding("live-gpus", found, "the GPUs of `--gpus %s`" % asked, why, fix, stops=True)
    evidence = ["%s; %s" % (found, why)] + [_line(card) for card in seen]
    return dict(gate(NAME, "failed", found, evidence), findings=[row], allowed=False)


def _seen(sight):
    """The cards that the program can use, and whether it is shown fewer than the machine has."""
    cards = sight.machine()["cards"] or _nodes(sight.machine())
    try:
        program = sight.program() if cards or sight.machine()["present"] else {}
    except NoAnswerError:
        program = {}
    if program.get("cuinit") == NO_DEVICE:
        return [], bool(cards)
    devices = program.get("devices") or []
    if devices and len(devices) != len(cards):
        return devices, len(devices) < len(cards)
    return cards, False


def _nodes(machine):
    """The devices that the driver made, where only this Python is too old to ask for more."""
    if not machine["problem"].startswith("pynvml"):
        return []
    return [{"name": path} for path in sorted(glob.glob("/dev/nvidia[0-9]*"))]


def _why(machine, hidden, engine):
    if hidden:
        return "CUDA_VISIBLE_DEVICES is `%s` here" % os.environ.get("CUDA_VISIBLE_DEVICES", "not set")
    if machine["present"] and not machine["cards"]:
        return "%s (%s)" % (NODES, machine["problem"])
    return PODMAN if engine == "podman" else DROPPED


def _line(card):
    return " ".join(word for word in (card.get("name"), card.get("uuid")) if word)
