"""Several runs a side: which of them count, how they are paired, and what must not differ within a group."""

import msgspec
import pytest

from repro.compare import exit_status, groups, judge
from repro.compare.gate.declared import seed_of
from repro.compare.results import samples

change = msgspec.structs.replace
PROTOCOL = {"metric": "acc", "margin": 0.05, "seed": 1, "parameters": {"seed": "seed"}}
CLOSE = [0.91, 0.92, 0.915, 0.905, 0.918]


def said(verdict):
    return "\n".join(verdict.evidence)


def test_one_run_a_side_is_the_verdict_of_the_pair(make_group):
    (a,), (b,) = make_group([0.9]), make_group([0.91], salt=2)
    assert groups.judge([a], [b]) == judge(a, b)


def test_pairs_by_seed_are_used_when_they_are_alike(make_group):
    b = [x + 0.001 for x in CLOSE]
    b[0] += 0.0005
    verdict = groups.judge(make_group(CLOSE), list(reversed(make_group(b, salt=2))))
    (row,) = verdict.statistics
    assert row.paired
    assert row.correlation > 0.99
    assert row.difference == pytest.approx(0.0011)
    assert "paired by seed over 5 seeds" in said(verdict)


def test_pairs_that_are_not_alike_are_not_used_and_the_correlation_is_shown(make_group):
    verdict = groups.judge(make_group(CLOSE), make_group(list(reversed(CLOSE)), salt=2))
    assert not verdict.statistics[0].paired
    assert f"correlation {verdict.statistics[0].correlation:.2f} over 5 seeds" in said(verdict)


def test_seeds_pair_only_where_each_is_known_once_and_all_have_partners(make_group):
    a = make_group(CLOSE)
    assert samples.seed_pairs(a, make_group(CLOSE[:3], salt=2)) == [(0, 0), (1, 1), (2, 2)]
    assert samples.seed_pairs(a, make_group(CLOSE[:3], salt=2, seeds=[4, 5, 6])) == []
    assert samples.seed_pairs(a, make_group(CLOSE[:3], salt=2, seeds=[1, 1, 2])) == []
    unseeded = {"protocol": {**PROTOCOL, "parameters": {}, "seed": None}}
    assert samples.seed_pairs(a, make_group(CLOSE, salt=2, spec=unseeded)) == []


def test_seed_checkpoints_that_differ_make_no_pairs(make_group):
    a = make_group(CLOSE, attempt={"plan": {"seed": "aa"}})
    assert samples.seed_pairs(a, make_group(CLOSE, salt=2, attempt={"plan": {"seed": "bb"}})) == []
    assert len(samples.seed_pairs(a, make_group(CLOSE, salt=2, attempt={"plan": {"seed": "aa"}}))) == 5


def test_every_seed_may_have_its_own_checkpoint_and_one_seed_only_one(make_group):
    def started(salt, *digests):
        return [
            make_group([value], salt=salt, seeds=[seed], attempt={"plan": {"seed": digest}})[0]
            for seed, (value, digest) in enumerate(zip(CLOSE, digests, strict=False), 1)
        ]

    verdict = groups.judge(started(1, "a", "b", "c", "d"), started(2, "a", "b", "c", "d"))
    assert verdict.verdict == "equivalent"
    assert not any(row.key == "seed_checkpoint" for row in verdict.protocol_differences)
    verdict = groups.judge(started(1, "a", "b", "c", "d"), started(2, "x", "b", "c", "d"))
    assert verdict.verdict == "incomparable"


def test_the_seed_is_the_parameter_else_the_number_else_the_checkpoint(make_side):
    nested = {"protocol": {"parameters": {"seed": "train.seed"}, "seed": 3}}
    assert seed_of(make_side(protocol=nested, params={"train": {"seed": 7}})) == 7
    assert seed_of(make_side(protocol=nested, params={"train.seed": 8})) == 8
    assert seed_of(make_side(protocol={"protocol": {"seed": 3}})) == 3
    assert seed_of(make_side(attempt={"plan": {"seed": "abc"}})) == "abc"
    assert seed_of(make_side()) is None


def test_groups_of_other_seeds_are_compared_all_the_same(make_group):
    verdict = groups.judge(make_group(CLOSE), make_group(CLOSE, salt=2, seeds=range(11, 16)))
    assert verdict.outcome == "equivalent"
    assert [row.allowed for row in verdict.protocol_differences if row.key == "params.seed"] == [True]


def test_within_a_group_only_the_seed_may_differ(make_group, make_side):
    a = make_group(CLOSE)
    odd = [*a[:-1], change(a[-1].run, params={"seed": 5, "lr": 0.2})]
    odd[-1] = type(a[0])(odd[-1], a[-1].traces)
    for reference, candidates in ((odd, make_group(CLOSE, salt=2)), (make_group(CLOSE, salt=2), odd)):
        verdict = groups.judge(reference, candidates)
        assert verdict.verdict == "incomparable"
        assert exit_status(verdict.verdict) == 7
        assert "mixes runs that must not differ: params.lr in r1-5" in said(verdict)
    assert groups.judge(odd, make_group(CLOSE, salt=2), allow=["params.lr"]).verdict == "equivalent"


def test_between_groups_the_protocol_gates_as_ever(make_group):
    other = {"protocol": {**PROTOCOL, "precision": "bf16"}}
    verdict = groups.judge(make_group(CLOSE), make_group(CLOSE, salt=2, spec=other))
    assert verdict.verdict == "incomparable"
    assert "protocol.precision" in said(verdict)


def test_equal_runs_of_every_seed_are_identical(make_group):
    verdict = groups.judge(make_group(CLOSE), make_group(CLOSE))
    assert (verdict.verdict, verdict.outcome, verdict.numerics) == ("identical", "equivalent", "identical")


def test_one_identical_pair_does_not_make_the_groups_identical(make_group):
    a, b = make_group(CLOSE), make_group([0.7, 0.6, 0.65, 0.7, 0.62], salt=2)
    verdict = groups.judge(a, [a[0], *b[1:]])
    assert verdict.numerics == "identical"
    assert verdict.verdict == verdict.outcome
    assert verdict.outcome in ("diverged", "inconclusive")


def test_a_run_that_repeats_another_in_every_bit_counts_once(make_group):
    a = make_group(CLOSE[:3])
    verdict = groups.judge([*a, a[0], a[1]], make_group(CLOSE[:3], salt=2))
    assert verdict.statistics[0].n == (3, 3)
    assert "2 runs of a repeat another one in every bit" in said(verdict)


def test_repeats_of_one_seed_say_nothing_of_other_seeds(make_group, build, make_side):
    group = [make_group([value], salt=salt)[0] for salt, value in enumerate(CLOSE, 10)]
    verdict = groups.judge(group, make_group(CLOSE, salt=2))
    assert any(
        sentence.startswith("seeds of a: all runs have one seed") for sentence in verdict.not_controlled
    )


def test_a_run_that_did_not_finish_makes_the_comparison_incomplete(make_group):
    broken = make_group([0.9], salt=2, seeds=[9], complete=False)
    verdict = groups.judge(make_group(CLOSE), [*make_group(CLOSE, salt=2), *broken])
    assert verdict.verdict == "incomplete"
    assert verdict.statistics[0].n == (5, 5)
    assert "1 of 6 runs of b did not finish" in said(verdict)


def test_an_unfinished_run_that_was_made_again_is_left_out(make_group):
    broken = make_group([0.9], salt=2, seeds=[3], complete=False)
    verdict = groups.judge(make_group(CLOSE), [*broken, *make_group(CLOSE, salt=2)])
    assert verdict.verdict == "equivalent"
    assert "made again" in said(verdict)
