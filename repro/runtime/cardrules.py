"""The rules about the live card, driver and torch. Pure: facts in, findings out.

Codes are rows of the host's `data/rules/`, which explains each; a finding that `stops` means that no
kernel of torch can run, or that no card has the memory. What the machine says counts; where it differs from
`stack.json`, that is told.
"""

# Chips of embedded boards: their machine code serves no other chip, and they take that of no other.
EMBEDDED = (53, 62, 72, 87, 110)
RENAMED = {101: 110}
WORDS = ("exact", "compat", "jit", "none")
ALIKE = 0.98  # drivers differ by some hundred MiB in what they keep for themselves

NO_DEVICE, NOT_READY = 100, 802  # what cuInit answers: no card is shown; the fabric manager does not run
NO_CODE = "every kernel ends in `no kernel image is available`, although torch.cuda.is_available() says True"
NOT_SAID = {"means": "the driver does not start", "fix": "nvidia-smi"}


def finding(rule, found, needed="", why="", fix=(), stops=False):
    """One finding, as it stands in `gates.json`."""
    return {"rule": rule, "found": found, "needed": needed, "why": why, "fix": list(fix), "stops": stops}


def fit(code, capability):
    """How `sm_80`, `sm_90a`, `sm_100f` or `compute_86` serves a card of `capability`: a word of WORDS."""
    kind, _, name = code.partition("_")
    digits = name.rstrip("af")
    suffix = name[len(digits) :]
    if kind not in ("sm", "compute") or not digits.isdigit() or not capability:
        return "none"
    chip, card = _renamed(digits), _renamed(capability.replace(".", ""))
    reaches = chip == card if suffix == "a" else (chip // 10 == card // 10 and chip <= card)
    if kind == "compute":
        return "jit" if reaches or (not suffix and chip <= card) else "none"
    if not reaches or chip == card:
        return "exact" if reaches else "none"
    return "none" if chip in EMBEDDED or card in EMBEDDED else "compat"


def best_fit(codes, capability):
    """The best that any of `codes` does for the card."""
    return min((fit(code, capability) for code in codes), key=WORDS.index, default="none")


def older(driver, floor):
    """Whether a driver is older than `floor`; none of a branch is older than the branch (`525`)."""
    have, need = numbers(driver), numbers(floor)
    return bool(have and need) and have < need


def numbers(version):
    """`535.104.05` as (535, 104, 5); empty for what is no version."""
    parts = (version or "").lstrip("R").split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def judge(live):
    """All findings about a live machine (`card.Live`), those that stop first."""
    found = [row for rule in RULES for row in rule(live)]
    return sorted(found, key=lambda row: not row["stops"])


def no_start(live):
    """The driver takes no program, or torch takes no card."""
    if live.cuinit not in (None, 0, NO_DEVICE) and (live.cuda or live.targets):
        yield _refusal(live)
    elif live.torch and not live.cuda and live.targets:
        found = "torch %s is a build without CUDA, beside %s" % (live.torch, live.names())
        fix = [line for card in live.kinds()[:1] for line in live.fixes(card)]
        yield finding("cpu-build", found, "a build for CUDA", fix=fix, stops=True)
    elif live.cuda and live.available is False:
        yield _unavailable(live)


def _refusal(live):
    told = live.refusals.get(str(live.cuinit), NOT_SAID)
    found = "cuInit answers %d on %s" % (live.cuinit, live.names())
    fix = [told["fix"], "another machine"]
    if live.cuinit == NOT_READY:
        return finding("host-fabric-manager", found, "0", told["means"], fix, stops=True)
    return finding("host-cuda-init", found, "0", told["means"], fix, stops=True)


def _unavailable(live):
    if older(live.driver, live.floor):
        found = "driver %s; torch %s needs CUDA %s" % (live.driver, live.torch, live.cuda)
        floor = "driver >= %s" % live.floor
        return finding("driver-too-old", found, floor, live.said, [floor], stops=True)
    found = "torch %s takes no device of %s" % (live.torch, live.names())
    fix = ["nvidia-smi", "another machine"]
    if live.cuinit is None:  # the cards are listed, the library that runs programs on them is not there
        fix = ["start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility"]
    return finding("host-cuda-init", found, "torch.cuda.is_available()", live.said, fix, stops=True)


def no_kernel(live):
    """Every card needs code: stops only when none of those shown to the program has any."""
    if not live.cuda or live.codes is None:
        return
    cards = [card for card in live.kinds() if card["capability"]]
    rows = [row for card in cards for row in _kernels(live, card)]
    one_works = len(cards) > sum(row["stops"] for row in rows)
    for row in rows:
        yield dict(row, stops=row["stops"] and not one_works)


def _kernels(live, card):
    word = best_fit(live.codes, card["capability"])
    code = "torch %s has %s (%s)" % (live.torch, " ".join(live.codes), live.basis)
    found = "%s; %s is %s" % (code, card["name"], card["capability"])
    needed = "code for capability %s" % card["capability"]
    if word == "none":
        yield finding("torch-no-code", found, needed, NO_CODE, live.fixes(card), stops=True)
    elif word == "jit" and older(live.driver, live.ptx_floor):
        floor = "driver >= %s" % live.ptx_floor
        yield finding(
            "driver-before-ptx", "%s; driver %s" % (found, live.driver), floor, fix=[floor], stops=True
        )
    elif word == "jit":
        yield finding("torch-code-from-ptx", found, needed, "the driver compiles it at the first start")


def other_torch(live):
    """The torch that runs is not the one locked, or has other code than the table or the wheel told."""
    if live.torch and live.stack_torch.get("version") and not live.as_locked:
        locked = "torch %s for CUDA %s" % (
            live.stack_torch["version"],
            live.stack_torch.get("cuda") or "none",
        )
        yield finding("live-torch", "torch %s for CUDA %s" % (live.torch, live.cuda or "none"), locked)
    elif live.told_codes is not None and live.basis == LIVE and set(live.codes) != set(live.told_codes):
        told = "%s in the bundle's stack.json" % " ".join(live.told_codes)
        yield finding("torch-list-differs", "%s (%s)" % (" ".join(live.codes), LIVE), told)


def other_card(live):
    """A card that is none of the targets, or has less memory than the target that it is."""
    for card in live.kinds():
        same = [t for t in live.targets if _same_card(t, card)]
        if live.targets and not same:
            asked = ", ".join(t.get("name") or t.get("asked", "") for t in live.targets)
            yield finding("live-card", "%s (%s)" % (card["name"], card["capability"]), asked)
        needs = [t["memory_bytes"] for t in same if t.get("memory_bytes")]
        has = card["memory_bytes"]
        if needs and has and has < ALIKE * min(needs):
            yield finding("live-memory", "%d bytes on %s" % (has, card["name"]), "%d bytes" % min(needs))


def less_memory(live):
    """A card with less memory than the training was said to need: stops only when no other has enough."""
    cards = live.kinds() if live.cuda else []
    small = [card for card in cards if card["memory_bytes"] and card["memory_bytes"] < live.need]
    for card in small:
        found = "%s asked for, %s has %s" % (_gib(live.need), card["name"], _gib(card["memory_bytes"]))
        fix = ["a smaller batch with gradient accumulation", "a card with more memory"]
        needed = "a card with at least %s" % _gib(live.need)
        yield finding("memory-too-small", found, needed, fix=fix, stops=len(small) == len(cards))


def _gib(count):
    return "%.1f GiB" % (count / float(1 << 30))


def _same_card(target, card):
    names = (target.get("names") or []) + [target.get("name", "")]
    return _letters(card["name"]) in [_letters(name) for name in names]


def older_driver(live):
    """A driver older than the one that the targets were judged with."""
    newer = [t["driver"] for t in live.targets if older(live.driver, t.get("driver"))]
    if newer:
        needed = "driver %s, as judged at the build" % max(newer, key=numbers)
        yield finding("live-driver", "driver %s" % live.driver, needed)


LIVE = "torch.cuda.get_arch_list()"
RULES = (no_start, no_kernel, less_memory, other_torch, other_card, older_driver)


def plain(version):
    """A version without its local part: `1.13.1` for `1.13.1+cu117`."""
    return version.partition("+")[0]


def _renamed(digits):
    return RENAMED.get(int(digits), int(digits))


def _letters(name):
    return "".join(c for c in name.lower().replace("nvidia", "") if c.isalnum())
