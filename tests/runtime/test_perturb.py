"""Noise of one unit in the last place."""

import pytest

from repro.runtime.inside.state.perturb import perturb

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def size(tensor):
    """Bits without the sign: neighbours in value are neighbours in these."""
    flat = tensor.detach().reshape(-1)
    return flat.abs().view(INTEGERS[flat.element_size()]).long()


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_each_element_moves_by_one_unit_at_most(name):
    weight = torch.randn(3000).to(getattr(torch, name))
    weight[:5] = torch.tensor([0.0, -0.0, float("inf"), float("nan"), float("-inf")])
    largest = torch.finfo(weight.dtype).max
    weight[5:7] = torch.tensor([largest, -largest], dtype=weight.dtype)
    before, generator = weight.clone(), torch.get_rng_state()
    moved = perturb(torch, [weight], 1)
    assert torch.equal(torch.get_rng_state(), generator)
    steps = size(weight[7:]) - size(before[7:])
    assert set(steps.tolist()) == {-1, 0, 1}
    assert 0.6 < (steps != 0).double().mean().item() < 0.73
    assert abs(steps.double().mean().item()) < 0.06
    assert torch.equal(weight.sign()[7:], before.sign()[7:])
    assert torch.equal(weight[:5].nan_to_num(9), before[:5].nan_to_num(9))
    assert weight[5:7].isfinite().all()
    assert moved == int((size(weight) != size(before)).sum())


def test_members_are_told_apart_and_come_again():
    def member(number):
        weights = [torch.ones(500), torch.ones(500)]
        perturb(torch, weights, number)
        return weights

    one, again, two = member(1), member(1), member(2)
    assert torch.equal(one[0], again[0])
    assert not torch.equal(one[0], two[0])
    assert not torch.equal(one[0], one[1])


def test_a_weight_with_two_names_moves_once():
    base = torch.rand(400) + 1
    before = base.clone()
    perturb(torch, [base, base.view(400), base[:0], torch.arange(4)], 3)
    assert (size(base) - size(before)).abs().max().item() == 1


def test_strides_and_numbers_of_two_parts():
    turned = (torch.rand(20, 30) + 1).t()
    pairs = torch.complex(torch.rand(300) + 1, torch.rand(300) + 1)
    before, parts = turned.clone(), pairs.clone()
    perturb(torch, [turned, pairs], 4)
    assert (size(turned.contiguous()) - size(before.contiguous())).abs().max().item() == 1
    apart = size(torch.view_as_real(pairs)) - size(torch.view_as_real(parts))
    assert set(apart.tolist()) == {-1, 0, 1}
