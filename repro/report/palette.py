"""The colours of a page, by day and by night; texts have a contrast of at least 4.5 on their grounds."""

# name: (light, dark)
COLOURS = {
    "page": ("#f6f7f9", "#101418"),
    "card": ("#ffffff", "#181d23"),
    "code": ("#eef1f4", "#222932"),
    "ink": ("#1a2027", "#e7ebef"),
    "soft": ("#56616d", "#a3aeb9"),
    "rule": ("#d9dfe5", "#333c46"),
    "link": ("#0a58a8", "#7ab8ff"),
    "good": ("#0f6b3c", "#6fd39a"),
    "good-ground": ("#e3f4ea", "#15301f"),
    "bad": ("#ad1f1a", "#ff9389"),
    "bad-ground": ("#fde9e7", "#3d1b19"),
    "open": ("#7a5200", "#e6b94f"),
    "open-ground": ("#fdf2d6", "#352a10"),
    "run-a": ("#5f94cf", "#4f81b7"),
    "run-b": ("#b3460b", "#ffa45c"),
    "member": ("#6f7c89", "#8b97a3"),
    "band": ("#e4e8ec", "#2a323b"),
    "judged": ("#f2f5f8", "#1e242b"),
}

# Which text stands on which ground.
TEXTS = (
    *((text, ground) for text in ("ink", "soft", "link") for ground in ("page", "card", "code", "judged")),
    ("good", "good-ground"),
    ("bad", "bad-ground"),
    ("open", "open-ground"),
    ("good", "card"),
    ("bad", "card"),
    ("open", "card"),
)


def light() -> str:
    """Declarations for the day."""
    return _declared(0)


def dark() -> str:
    """Declarations for the night."""
    return _declared(1)


def _declared(place: int) -> str:
    return "".join(f"--{name}:{both[place]};" for name, both in COLOURS.items())
