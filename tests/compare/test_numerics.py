from itertools import pairwise

import msgspec
import pytest

from repro.compare import EXIT_STATUS, compare_many, exit_status, judge
from repro.compare.words import strongest
from repro.model.verdict import SIGNALS

change = msgspec.structs.replace


def changed(build, place, **fields):
    """A trace whose step number `place` (from 0) has other fields."""
    whole = build.segment()
    steps = [change(s, **fields) if n == place else s for n, s in enumerate(whole.steps.rows())]
    return build.trace(change(whole, steps=build.steps(steps)))


def test_equal_runs_are_identical(make_side):
    verdict = judge(make_side(metrics={"acc": 0.5}), make_side(metrics={"acc": 0.5}))
    assert (verdict.verdict, verdict.numerics, verdict.outcome) == ("identical", "identical", "equivalent")
    assert verdict.first is None
    assert verdict.cause["code"] == "none"
    assert set(verdict.signals) == set(SIGNALS)
    assert exit_status(verdict.verdict) == 0


@pytest.mark.parametrize(
    ("fields", "signal", "word"),
    [
        ({"loss": (0.25).hex()}, "loss", "beyond-rounding"),
        ({"gn": (0.25).hex()}, "gradient", "beyond-rounding"),
        ({"idx": "ff", "batch": "ff"}, "samples", "beyond-rounding"),
        ({"idx": "ff"}, "samples", "within-rounding"),
        ({"batch": "ff"}, "samples", "within-rounding"),
        ({"rng": {"torch": "ff", "python": "00"}}, "rng", "within-rounding"),
        ({"fwd": "ff"}, "forward", "untested"),
        ({"lr": [(0.2).hex()]}, "update", "beyond-rounding"),
        ({"skipped": True}, "update", "beyond-rounding"),
        ({"opt": 1}, "update", "beyond-rounding"),
    ],
)
def test_one_changed_value_is_named_with_its_step(make_side, build, fields, signal, word):
    """What is computed counts by its size; other samples or draws by what becomes of them."""
    a, b = make_side(), make_side([changed(build, 2, **fields)])
    verdict = judge(a, b)
    assert verdict.numerics == word
    assert verdict.outcome == "equivalent"  # the weights in the end are the same bits
    assert (verdict.first.signal, verdict.first.step) == (signal, 3)


def test_last_bit_of_a_loss_is_a_difference(make_side, build):
    b = changed(build, 0, loss=(1.0 + 2**-52).hex())
    verdict = judge(make_side(), make_side([b]))
    assert verdict.signals["loss"].largest == 2**-52
    assert verdict.signals["loss"].first_step == 1


def test_signs_of_zero_are_two_values(make_side, build):
    a, b = changed(build, 0, loss=(0.0).hex()), changed(build, 0, loss=(-0.0).hex())
    verdict = judge(make_side([a]), make_side([b]))
    assert verdict.first.signal == "loss"
    assert verdict.signals["loss"].largest == 0.0


def test_causal_order_decides_within_a_step(make_side, build):
    fields = {"loss": "nan", "idx": "ff", "gn": (9.0).hex()}
    verdict = judge(make_side(), make_side([changed(build, 1, **fields)]))
    assert verdict.first.signal == "samples"


def test_smaller_step_beats_causal_order(make_side, build):
    whole = build.segment()
    one, two, *rest = whole.steps.rows()
    steps = [change(one, gn=(9.0).hex()), change(two, idx="ff"), *rest]
    verdict = judge(make_side(), make_side([build.trace(change(whole, steps=build.steps(steps)))]))
    assert (verdict.first.signal, verdict.first.step) == ("gradient", 1)


@pytest.mark.parametrize("name", ["weights", "buffers", "state"])
def test_snapshot_lists(make_side, build, name):
    whole = build.segment()
    a = [change(s, **{name: ["1", "2"]}) if s.step == 3 else s for s in whole.snapshots]
    b = [change(s, **{name: ["1", "3"]}) if s.step == 3 else s for s in whole.snapshots]
    verdict = judge(*(make_side([build.trace(change(whole, snapshots=x))]) for x in (a, b)))
    assert (verdict.first.signal, verdict.first.step) == ("update" if name == "state" else "weights", 3)
    assert verdict.numerics == "untested"  # a difference without a size
    assert any("recorded without a size" in said for said in verdict.evidence)


def test_buffers_that_only_the_end_of_the_program_moved_belong_to_the_evaluation(make_side, build):
    """Batch-norm statistics move when an evaluation runs in training mode."""
    whole = build.segment()
    sides = [
        make_side(
            [
                build.trace(
                    change(
                        whole, snapshots=[change(s, buffers=[str(s.step // 4 * n)]) for s in whole.snapshots]
                    )
                )
            ]
        )
        for n in (1, 2)
    ]
    verdict = judge(*sides)
    assert (verdict.first.signal, verdict.first.step) == ("eval", 4)
    assert verdict.cause["code"] == "eval_mode_not_set"
    assert (verdict.numerics, verdict.outcome) == ("untested", "untested")


def test_programs_that_print_different_things_are_said(make_side):
    a, b = make_side(files={"log.txt": "11"}), make_side(files={"log.txt": "22"})
    assert any(said.startswith("output:") for said in judge(a, b).not_controlled)
    assert not any(said.startswith("output:") for said in judge(a, a).not_controlled)


def test_init_differs_and_sketches_give_a_size(make_side, build):
    verdict = judge(make_side(), make_side([build.trace(build.segment(salt=2))]))
    assert (verdict.first.signal, verdict.first.step) == ("init", 0)
    assert verdict.signals["init"].largest is None
    assert verdict.signals["init"].largest_relative == pytest.approx(2000 / 2.0)


@pytest.mark.parametrize("field", ["shape", "dtype"])
def test_equal_fingerprints_of_other_shapes_are_no_equal_weights(make_side, build, field):
    """A tensor of zeros has the same fingerprint in every shape and type."""
    whole = build.segment()
    start = {**whole.start, "params": [{**whole.start["params"][0], field: "other"}]}
    verdict = judge(make_side(), make_side([build.trace(change(whole, start=start))]))
    assert verdict.first.signal == "init"
    assert (verdict.numerics, verdict.basis) == ("beyond-rounding", "bits")


def test_missing_signal_is_said_and_never_equal(make_side, build):
    whole = build.segment()
    steps = [change(s, loss=None, idx=None, batch=None) for s in whole.steps.rows()]
    verdict = judge(make_side(), make_side([build.trace(change(whole, steps=build.steps(steps)))]))
    assert "loss" not in verdict.signals
    assert any(
        said.startswith("loss: not compared, 4 values are not recorded in b")
        for said in verdict.not_controlled
    )
    assert any(said.startswith("samples:") for said in verdict.not_controlled)


def test_final_weights_must_have_been_seen(make_side, build):
    whole = build.segment()
    blind = build.trace(change(whole, snapshots=whole.snapshots[:-1]))
    verdict = judge(make_side([blind]), make_side([blind]))
    assert verdict.numerics == "untested"
    assert any("final weights" in said for said in verdict.evidence)


def test_generator_that_nobody_draws_from_does_not_count(make_side, build):
    whole = build.segment()
    other = [change(s, rng={**s.rng, "python": "77"}) for s in whole.steps.rows()]
    verdict = judge(make_side(), make_side([build.trace(change(whole, steps=build.steps(other)))]))
    assert verdict.numerics == "identical"
    assert any("python" in said for said in verdict.evidence)


def test_generator_of_torch_counts_even_when_nobody_draws_from_it(make_side, build):
    whole = build.segment()
    still, other = (
        make_side(
            [
                build.trace(
                    change(
                        whole, steps=build.steps([change(s, rng={"torch": word}) for s in whole.steps.rows()])
                    )
                )
            ]
        )
        for word in ("11", "22")
    )
    assert judge(still, other).first.signal == "rng"
    assert judge(still, still).numerics == "identical"


def test_generator_that_one_side_draws_from_counts(make_side, build):
    whole = build.segment()
    other = [change(s, rng={**s.rng, "python": f"{s.step:02x}"}) for s in whole.steps.rows()]
    verdict = judge(make_side(), make_side([build.trace(change(whole, steps=build.steps(other)))]))
    assert verdict.first.signal == "rng"


def test_other_micro_batches_of_the_same_samples_are_the_same_batch(make_side, build):
    """Batches are laid one after another; a loss is the sum over them, as recorded."""
    whole = build.segment()
    other = [change(s, nb=2, loss=(2 * float.fromhex(s.loss)).hex()) for s in whole.steps.rows()]
    verdict = judge(make_side(), make_side([build.trace(change(whole, steps=build.steps(other)))]))
    assert verdict.signals["samples"].first_step is None
    assert verdict.signals["samples"].compared == 8
    assert (verdict.first.signal, verdict.first.step) == ("loss", 1)
    said = "1 micro-batches in a and 2 in b at step 1; recorded as sums over them, losses in b are 2 times"
    assert any(said in words for words in verdict.evidence)


def test_incomplete_is_never_called_equal(make_side):
    verdict = judge(make_side(), make_side(complete=False))
    assert verdict.verdict == "incomplete"
    assert (verdict.numerics, verdict.outcome) == ("untested", "untested")
    assert exit_status(verdict.verdict) == 7


def test_torn_trace_is_not_identical(make_side, build):
    verdict = judge(make_side(), make_side([build.trace(torn=True)]))
    assert verdict.numerics == "untested"
    assert any("cut" in said for said in verdict.evidence)


def test_other_length_is_compared_on_common_steps_and_said(make_side, build):
    verdict = judge(make_side(), make_side([build.trace(build.segment(7))]))
    assert verdict.first is None
    assert verdict.numerics == "untested"
    assert verdict.signals["loss"].compared == 4
    assert any("steps 1-4 in a, 1-7 in b" in said for said in verdict.evidence)


def test_rank_of_one_side_only(make_side, build):
    both = [build.trace(), build.trace(rank=1)]
    verdict = judge(make_side(both), make_side())
    assert verdict.numerics == "untested"
    assert any("rank 1 was traced only in a" in said for said in verdict.evidence)
    assert judge(make_side(both), make_side(both)).numerics == "identical"


def test_difference_in_any_rank_counts(make_side, build):
    a = [build.trace(), build.trace(rank=1)]
    b = [build.trace(), build.trace(build.segment(salt=1), rank=1)]
    assert judge(make_side(a), make_side(b)).first.signal == "init"


def test_run_without_steps_needs_metrics_and_rows(make_side):
    rows = [{"id": 1, "prediction": 3, "correct": True}]
    whole = {"traces": [], "metrics": {"acc": 0.5}, "rows": rows}
    assert judge(make_side(**whole), make_side(**whole)).numerics == "identical"
    for name in ("metrics", "rows"):
        part = {key: value for key, value in whole.items() if key != name}
        assert judge(make_side(**part), make_side(**part)).numerics == "untested"
    nothing = judge(make_side([]), make_side([]))
    assert nothing.verdict == "untested"
    assert exit_status(nothing.verdict) == 6


def test_several_runs_against_one(make_side, build):
    a, b = make_side(), make_side([build.trace(build.segment(salt=1))])
    assert [v.verdict for v in compare_many(a, [a, b, a])] == ["identical", "beyond-rounding", "identical"]


def test_every_word_has_an_exit_status():
    from repro.model.verdict import NUMERICS, OUTCOMES

    assert set(EXIT_STATUS) == {*NUMERICS, *OUTCOMES, "incomparable", "incomplete"}
    order = list(EXIT_STATUS)
    assert all(
        order.index(x) < order.index(y) for x, y in pairwise(["incomparable", "incomplete", "identical"])
    )


def test_runs_of_one_name_are_told_apart_by_their_folders(make_side):
    a, b = make_side(name="rec"), make_side(name="rec")
    other = type(b)(change(b.run, path="/elsewhere/rec"), b.traces)
    assert (judge(a, other).a, judge(a, other).b) == ("/runs/rec", "/elsewhere/rec")
    labelled = make_side(name="r1", attempt={"run_id": "r1", "label": "avx2"})
    assert judge(a, labelled).b == "r1 (avx2)"


@pytest.mark.parametrize(
    ("holds", "word", "status"),
    [
        ({"beyond-rounding", "untested"}, "beyond-rounding", 1),
        ({"beyond-rounding", "inconclusive"}, "inconclusive", 6),
        ({"beyond-rounding", "equivalent"}, "equivalent", 0),
        ({"beyond-rounding", "diverged"}, "diverged", 1),
        ({"within-rounding", "inconclusive"}, "within-rounding", 0),
        ({"within-rounding", "diverged"}, "diverged", 1),
        ({"untested", "inconclusive"}, "inconclusive", 6),
    ],
)
def test_after_more_than_rounding_the_second_question_decides(holds, word, status):
    assert strongest(holds) == word
    assert exit_status(word) == status


@pytest.fixture
def pair(build):
    """A run and one that differs from it."""
    return {"a": build.trace(), "b": build.trace(build.segment(salt=1))}


MACHINE = {"cpu.model": "Xeon", "torch.version": "2.13.0"}


def test_unequal_runs_of_one_thing_on_one_machine_do_not_repeat(make_side, pair):
    a, b = (make_side([t], name=n, conditions=MACHINE) for n, t in pair.items())
    verdict = judge(a, b)
    assert verdict.repeatable is False
    assert any("does not repeat on one machine" in said for said in verdict.evidence)


def test_generators_that_nobody_seeded_do_not_make_other_conditions(make_side, pair):
    a, b = (make_side([t], name=n, conditions={**MACHINE, "seed.torch": n}) for n, t in pair.items())
    assert judge(a, b).repeatable is False


def test_equal_runs_of_one_thing_repeat(make_side):
    a, b = (make_side(name=n, conditions=MACHINE) for n in "ab")
    assert judge(a, b).repeatable is True
    assert judge(a, a).repeatable is None  # one run is no repeat


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ({"conditions": {**MACHINE, "threads.intra": 1}}, {"conditions": {**MACHINE, "threads.intra": 2}}),
        ({"conditions": MACHINE, "params": {"lr": 1}}, {"conditions": MACHINE, "params": {"lr": 2}}),
        ({"conditions": {"cpu.model": "Xeon"}}, {"conditions": {"cpu.model": "EPYC"}}),
        ({"conditions": {"torch.version": "2.13.0"}}, {"conditions": {"torch.version": "2.13.0"}}),
        (
            {"conditions": MACHINE, "attempt": {"environment": {"X": "1"}}},
            {"conditions": MACHINE, "attempt": {"environment": {"X": "2"}}},
        ),
    ],
    ids=["conditions", "parameters", "machine", "no machine known", "environment"],
)
def test_other_runs_say_nothing_about_repeating(make_side, pair, x, y):
    assert (
        judge(make_side([pair["a"]], name="a", **x), make_side([pair["b"]], name="b", **y)).repeatable is None
    )
