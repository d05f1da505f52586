"""Fingerprints and sketches against a reference in plain Python, written from docs/formats.md."""

import math
import random
import struct

import pytest

pytestmark = pytest.mark.torch

PERIOD = 32768


def reference_constants():
    draw = random.Random(20240229)  # noqa: S311 (the format's table)
    return [draw.getrandbits(62) | 1 for _ in range(PERIOD)]


def reference(signed_bits, salt):
    table = reference_constants()
    total = sum(b * table[i % PERIOD] * (2 * (i // PERIOD) + 2 * salt + 1) for i, b in enumerate(signed_bits))
    return total % 2**64


def bits(form, values):
    """Bits of Python numbers in a struct format, as signed integers."""
    signed = {"e": "h", "f": "i", "d": "q", "B": "b"}.get(form, form)
    return [struct.unpack("<" + signed, struct.pack("<" + form, v))[0] for v in values]


@pytest.fixture(scope="module")
def torch():
    import torch

    return torch


@pytest.fixture(scope="module")
def prints(torch):
    from repro.runtime.inside.bits.fingerprint import Fingerprints

    return Fingerprints(torch)


# Frozen: if one of these changes, old traces can no longer be compared.
KNOWN = [
    ([1.0, -2.5, 3.25], 0, "1f43f54da6100000"),
    ([1.0, -2.5, 3.25], 7, "d4fb5f8cbaf00000"),
    ([0.0, -0.0], 0, "fdb1fac680000000"),
    ([0.1, -3.14159274, 2.71828175], 0, "bd9d6326a77c6f30"),
    ([0.1, -3.14159274, 2.71828175], 3, "2f4db60e94670a50"),
]


@pytest.mark.parametrize(("values", "salt", "known"), KNOWN)
def test_known_answers(torch, prints, values, salt, known):
    assert f"{reference(bits('f', values), salt):016x}" == known
    assert f"{prints.of(torch.tensor(values), salt):016x}" == known


@pytest.mark.parametrize("count", [0, 1, PERIOD - 1, PERIOD, PERIOD + 1, 3 * PERIOD + 17])
def test_any_length(torch, prints, count):
    draw = random.Random(count)  # noqa: S311
    values = [struct.unpack("<f", struct.pack("<f", draw.gauss(0, 1)))[0] for _ in range(count)]
    assert prints.of(torch.tensor(values), 5) == reference(bits("f", values), 5)


CASES = [
    ("float16", "e", [1.5, -0.25, 65504.0]),
    ("float64", "d", [math.pi, -1e300]),
    ("int8", "b", [-128, 127]),
    ("uint8", "B", [200, 3]),
    ("int16", "h", [-5, 9]),
    ("int32", "i", [-(2**31), 7]),
    ("int64", "q", [-(2**63), 2**63 - 1]),
    ("bool", "B", [1, 0]),
]


@pytest.mark.parametrize(("dtype", "form", "values"), CASES)
def test_every_element_type(torch, prints, dtype, form, values):
    assert prints.of(torch.tensor(values, dtype=getattr(torch, dtype)), 1) == reference(bits(form, values), 1)


def test_bfloat16_is_the_upper_half_of_float32(torch, prints):
    values = [1.0, -3.140625, 1e30]
    tensor = torch.tensor(values).to(torch.bfloat16)
    upper = [b >> 16 for b in bits("f", tensor.float().tolist())]
    assert prints.of(tensor, 0) == reference(upper, 0)


def test_complex_numbers_are_pairs(torch, prints):
    tensor = torch.tensor([1 + 2j, complex(0, -3.5)])
    assert prints.of(tensor, 2) == reference(bits("f", [1, 2, 0, -3.5]), 2)
    assert prints.of(tensor.conj(), 2) == reference(bits("f", [1, -2, 0, 3.5]), 2)


@pytest.mark.parametrize(
    ("dtype", "width", "canonical"), [("float32", "i", 0x7FC00000), ("float16", "h", 0x7E00)]
)
def test_every_nan_counts_as_one(torch, prints, dtype, width, canonical):
    ints = {"i": torch.int32, "h": torch.int16}[width]
    odd = torch.tensor([canonical + 1, canonical, -1], dtype=ints).view(getattr(torch, dtype))
    assert prints.of(odd, 0) == reference([canonical] * 3, 0)
    infinite = torch.tensor([math.inf, -math.inf], dtype=getattr(torch, dtype))
    assert prints.of(infinite, 0) == reference(bits({"i": "f", "h": "e"}[width], [math.inf, -math.inf]), 0)


def test_logical_order_not_memory_order(torch, prints):
    square = torch.arange(6.0).reshape(2, 3)
    assert prints.of(square.t(), 0) == prints.of(square.t().contiguous(), 0) != prints.of(square, 0)


def test_the_way_of_old_torch_gives_the_same_bits(torch, prints):
    from repro.runtime.inside.bits.fingerprint import _bits_on_host

    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        flat = torch.tensor([1.5, -2.0, 3e4, -0.0]).to(dtype)
        wanted = prints.widths[flat.element_size()]
        assert torch.equal(_bits_on_host(torch, flat, wanted), flat.view(wanted))


def test_tensors_on_a_device_take_the_same_arithmetic(torch, prints):
    """The way without reading, forced here on the CPU by asking for the sum as a tensor."""
    tensor = torch.randn(3 * PERIOD + 5, generator=torch.Generator().manual_seed(0))
    sums = prints.block_sums(tensor)
    blocks = torch.arange(sums.numel(), dtype=torch.int64)
    late = (sums * (blocks * 2 + (2 * 9 + 1))).sum().item() % 2**64
    assert late == prints.of(tensor, 9)


def test_sketch_and_norm(torch):
    from repro.runtime.inside.bits.sums import Sums

    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(n, generator=generator) for n in (3, PERIOD, 40_000, 100)]
    every = [x for t in tensors for x in t.tolist()]
    table = reference_constants()
    wanted = [0.0] * 32
    for i, x in enumerate(every):
        minus = bool(table[i % PERIOD] & 2) != bool(i // PERIOD % 2)
        wanted[i % 32] += -x if minus else x
    sums = Sums(torch)
    assert sums.sketch(tensors).tolist() == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert sum(sums.norm2(tensors)) == pytest.approx(math.fsum(x * x for x in every), rel=1e-12)


def test_norm_does_not_depend_on_threads(torch):
    from repro.runtime.inside.bits.sums import Sums

    tensor = torch.randn(1_000_003, generator=torch.Generator().manual_seed(0))
    before = torch.get_num_threads()
    found = set()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.add(tuple(Sums(torch).norm2([tensor])))
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1


def test_nonfinite_are_counted(torch):
    from repro.runtime.inside.bits.sums import Sums

    assert Sums(torch).nonfinite([torch.tensor([1.0, math.nan]), torch.tensor([[math.inf]])]) == [2]


def test_ring_keeps_order_and_fills_in_late_numbers(torch):
    from repro.runtime.inside.bits.ring import Later, Ring

    written = []
    ring = Ring(torch, written.append)
    ring.add({"n": 0})
    for n in range(1, 40):
        ring.add({"n": n, "late": Later([torch.tensor(float(n)), 2.0], sum)})
    ring.add({"n": 40})
    # The first 32 are on their way, the others wait.
    assert written == []
    ring.drain()
    assert [w["n"] for w in written] == list(range(41))
    assert [w["late"] for w in written[1:40]] == [n + 2.0 for n in range(1, 40)]
