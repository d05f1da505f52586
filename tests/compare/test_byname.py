"""Tensors in another order are compared by name; the signal that tells where runs part."""

import random

from msgspec.structs import replace as change

from repro.compare import judge
from repro.compare.lines.byname import SAID

WORD = 1 << 64
CONSTANT = random.Random(20240229).getrandbits(62) | 1  # noqa: S311 (frozen in the format)


def printed(value: int, place: int) -> str:
    """Fingerprint of one number at a position of its list, as docs/formats.md defines it."""
    return f"{value * CONSTANT * (2 * place + 1) % WORD:016x}"


def with_tensors(build, names: list[str], sizes: dict[str, int], moved: int = 0):
    """Four steps of tensors whose values depend on their names, kept in this order."""
    whole = build.segment()
    rows = [{"name": name, "shape": [sizes[name]], "dtype": "float32"} for name in names]
    shots = [
        change(
            shot,
            weights=[
                printed(ord(name) + shot.step + (moved if shot.step else 0), n)
                for n, name in enumerate(names)
            ],
        )
        for shot in whole.snapshots
    ]
    return build.trace(change(whole, start={**whole.start, "params": rows}, snapshots=shots))


SMALL = {"a": 2, "b": 3, "c": 4}


def test_the_same_weights_in_another_order_are_equal(make_side, build):
    a = make_side([with_tensors(build, ["a", "b", "c"], SMALL)])
    b = make_side([with_tensors(build, ["c", "a", "b"], SMALL)])
    verdict = judge(a, b)
    assert verdict.first is None
    assert any(SAID in said for said in verdict.evidence)


def test_other_weights_in_another_order_differ_from_where_they_do(make_side, build):
    a = make_side([with_tensors(build, ["a", "b", "c"], SMALL)])
    b = make_side([with_tensors(build, ["c", "a", "b"], SMALL, moved=7)])
    first = judge(a, b).first
    assert (first.signal, first.step) == ("weights", 1)


def test_large_tensors_in_another_order_are_not_compared(make_side, build):
    large = {**SMALL, "b": 40_000}
    a = make_side([with_tensors(build, ["a", "b", "c"], large)])
    b = make_side([with_tensors(build, ["c", "a", "b"], large)])
    verdict = judge(a, b)
    assert verdict.first is None
    assert verdict.verdict != "identical"


def steps(build, **fields):
    whole = build.segment()
    return build.trace(change(whole, steps=build.steps([change(s, **fields) for s in whole.steps.rows()])))


def test_inputs_that_a_program_computed_are_no_other_samples(make_side, build):
    """Without a DataLoader the batch is what the model was given: rounding there chooses no other samples."""
    a = make_side([steps(build, idx=None, loss=(1.0).hex())])
    near = make_side([steps(build, idx=None, batch="0a", fwd="0b", loss=(1 + 1e-7).hex())])
    far = make_side([steps(build, idx=None, batch="0a", fwd="0b", loss=(1.5).hex())])
    handed = make_side([steps(build, batch="0a", fwd="0b", loss=(1 + 1e-7).hex())])
    assert judge(a, near).first.signal == "forward"
    assert judge(a, far).first.signal == "samples"
    assert judge(make_side([steps(build, loss=(1.0).hex())]), handed).first.signal == "samples"


def test_what_is_made_in_other_micro_batches_is_judged_by_its_gradient(make_side, build):
    a = make_side([steps(build, nb=1)])
    gradient = make_side([steps(build, nb=4, fwd="0a", loss="0x1p+2", gn="0x1p+3")])
    alone = make_side([steps(build, nb=4, fwd="0a")])
    assert judge(a, gradient).first.signal == "gradient"
    assert judge(a, alone).first.signal == "forward"
