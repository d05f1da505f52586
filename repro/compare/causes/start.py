"""Settings of optimizers and modules that differ, and tensors of another shape, from the `start` records."""

from collections.abc import Iterable

from repro.compare.equal import same_value
from repro.compare.lines.byname import SAID
from repro.compare.lines.pair import Pair
from repro.model.record import Json

MOST = 12  # of a model that is another one altogether, so many modules are named


def differing(pair: Pair) -> list[str]:
    """`optimizer.KEY`, `model.MODULE` and `model.mode` for what differs at the first step."""
    x, y = pair.a.start, pair.b.start
    return [*dict.fromkeys(_optimizers(x, y)), *_modules(x, y)]


def facts(pair: Pair) -> set[str]:
    """How the tensors that are trained differ, and whether modules draw numbers."""
    x, y = (_entries(line.start, "params") for line in (pair.a, pair.b))
    words = {f"tensors.{'equal' if x == y else 'differ'}"}
    if any(SAID in line.notes for line in (pair.a, pair.b)):
        words.add("tensors.in another order")
    if [shape for _, shape, _ in x] == [shape for _, shape, _ in y] and x != y:
        words.add("tensors.of another type or name")
    if {kind for *_, kind in x} != {kind for *_, kind in y}:
        words.add("element types.differ")
    kinds = [{row.get("class") for row in line.start.get("modules", [])} for line in (pair.a, pair.b)]
    if any(_draws(names) for names in kinds):
        words.add("model.draws")
    if any("Attention" in str(name) for names in kinds for name in names):
        words.add("model.attention")
    if any(str(name).startswith("Conv") for names in kinds for name in names):
        words.add("model.convolutions")
    return words


def _draws(names: set[str | None]) -> bool:
    return any("Dropout" in str(name) or "RReLU" in str(name) for name in names)


def _entries(start: Json, what: str) -> list[tuple[str, tuple[int, ...], str]]:
    return [
        (str(row.get("name")), tuple(row.get("shape") or ()), str(row.get("dtype")))
        for row in start.get(what, [])
    ]


def _optimizers(x: Json, y: Json) -> Iterable[str]:
    p, q = x.get("optimizers", []), y.get("optimizers", [])
    if len(p) != len(q):
        yield "optimizer.count"
    for a, b in zip(p, q, strict=False):
        if a.get("class") != b.get("class"):
            yield "optimizer.class"
        yield from _groups(a, b)


def _groups(a: Json, b: Json) -> Iterable[str]:
    first, second = a.get("groups", []), b.get("groups", [])
    if len(first) != len(second):
        yield "optimizer.groups"
    elif a.get("params") != b.get("params"):
        yield "optimizer.order"
    for one, other in zip(first, second, strict=False):
        keys = sorted(one.keys() | other.keys())
        yield from (f"optimizer.{key}" for key in keys if not same_value(one.get(key), other.get(key)))


def _modules(x: Json, y: Json) -> list[str]:
    p = {row["name"]: row for row in x.get("modules", [])}
    q = {row["name"]: row for row in y.get("modules", [])}
    if not p or not q:
        return []
    names = [
        f"model.{name or '(whole)'}"
        for name in dict.fromkeys([*p, *q])
        if _said(p.get(name)) != _said(q.get(name))
    ]
    modes = any(p[name].get("train") != q[name].get("train") for name in p.keys() & q.keys())
    return names[:MOST] + (["model.mode"] if modes else [])


def _said(row: Json | None) -> tuple[object, object] | None:
    return (row.get("class"), row.get("says")) if row else None
