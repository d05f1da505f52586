"""How soon runs of two groups reach a declared value."""

from repro.compare import groups

PROTOCOL = {"metric": "acc", "margin": 0.05, "seed": 1, "parameters": {"seed": "seed"}}
CLOSE = [0.91, 0.92, 0.915, 0.905, 0.918]


def said(verdict):
    return "\n".join(verdict.evidence)


def curves(values):
    return {"history": {"acc": [float(value).hex() for value in values]}}


TARGET = {"protocol": {**PROTOCOL, "target": 0.9}}


def rising(make_group, firsts, salt):
    made = []
    for seed, first in enumerate(firsts, 1):
        printed = [0.95 if n >= first else 0.5 for n in range(1, 21)]
        made += make_group(
            [CLOSE[seed % 5] + 1e-4 * salt], salt=salt, seeds=[seed], spec=TARGET, **curves(printed)
        )
    return made


def test_runs_that_reach_the_target_much_later_have_diverged(make_group):
    verdict = groups.judge(rising(make_group, [5, 6, 5, 7], 1), rising(make_group, [11, 12, 10, 12], 2))
    row = verdict.statistics[-1]
    assert (row.metric, row.outcome, row.n) == ("evaluations until `acc` is 0.9", "diverged", (4, 4))
    assert row.mean == (5.75, 11.25)
    assert verdict.outcome == "diverged"
    assert "b gets there later" in said(verdict)
    swapped = groups.judge(rising(make_group, [11, 12, 10, 12], 2), rising(make_group, [5, 6, 5, 7], 1))
    assert "b gets there sooner" in said(swapped)
    assert swapped.outcome == "diverged"


def test_runs_that_reach_the_target_as_soon_say_nothing_against(make_group):
    verdict = groups.judge(rising(make_group, [5, 6, 5, 7], 1), rising(make_group, [6, 5, 6, 6], 2))
    assert verdict.outcome == "equivalent"
    assert verdict.statistics[-1].outcome == "inconclusive"


def test_a_missed_target_has_diverged_only_where_the_reference_has_none(make_group):
    missed = rising(make_group, [5, 6, 5, 99], 2)
    verdict = groups.judge(rising(make_group, [5, 6, 5, 7], 1), missed)
    assert verdict.outcome == "diverged"
    assert "never, in 1 of 4 runs of b" in said(verdict)
    assert groups.judge(rising(make_group, [5, 99, 5, 7], 1), missed).outcome == "equivalent"
    none = rising(make_group, [99, 99, 99], 2)
    assert groups.judge(rising(make_group, [5, 6, 5], 1), none).outcome == "diverged"


def test_a_target_without_printed_values_is_said(make_group):
    verdict = groups.judge(make_group(CLOSE, spec=TARGET), make_group(CLOSE[::-1], salt=2, spec=TARGET))
    assert "not every run printed the metric" in said(verdict)
    assert verdict.outcome == "equivalent"
