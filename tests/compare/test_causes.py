"""The rules of causes: what each asks for, how sure it is, and that none speaks against what was measured."""

from typing import Any

import pytest
from msgspec.structs import replace as change

from repro.compare import judge
from repro.compare.causes.evidence import Evidence
from repro.compare.causes.reach import can
from repro.compare.causes.rules import rules, says
from repro.model.verdict import SIGNALS, ModuleRow, Replay

H100 = {
    "device.type": "cuda",
    "device.name": "NVIDIA H100 80GB HBM3",
    "device.capability": "9.0",
    "device.multiprocessors": 132,
    "torch.version": "2.6.0",
    "seed.torch": 1,
}
T4 = {**H100, "device.name": "Tesla T4", "device.capability": "7.5", "device.multiprocessors": 40}


@pytest.fixture
def parted(make_side, build):
    """`parted(a, b, {field: value})`: the cause where steps differ in these fields from step 1 on."""

    def make(a: dict, b: dict, fields: dict[str, Any], *, init: int = 0, shape: int = 2, **more: Any):
        def side(conditions: dict, other: bool):
            whole = build.segment()
            rows = [change(s, **fields) if other else s for s in whole.steps.rows()]
            shots = [build.shot(s.step, s.step + (init if other else 0)) for s in whole.snapshots]
            start = {**whole.start, "params": [{"name": "w", "shape": [shape], "dtype": "float32"}]}
            known = change(whole, steps=build.steps(rows), snapshots=shots, start=start)
            return make_side([build.trace(known)], conditions=conditions, **(more if other else {}))

        return judge(side(a, False), side(b, True)).cause

    return make


def test_rows_are_whole():
    facts = {fact for rule in rules() for clause in (*rule.when, *rule.proof) for fact in clause.split(" + ")}
    for rule in rules():
        assert all((rule.why, rule.source, rule.pin)), rule.code
        assert set(rule.first) <= set(SIGNALS)
        assert rule.when or rule.any or rule.differs, rule.code
        assert rule.at_most in ("", "likely", "possible")
    unsaid = {fact for fact in facts if not says([fact])}
    assert {fact.partition(":")[0] for fact in unsaid} <= {
        "differs", "first", "init.differs", "devices.differ"
    }  # fmt: skip


def test_other_wave_sizes_explain_other_weights_above_the_smaller_wave(parted):
    """T4: 40 multiprocessors of 1024 threads, so a wave of 40 960 elements; H100: 132 of 2048, 270 336."""
    large = parted(H100, T4, {"loss": "0x1p-3"}, init=1000, shape=50_000)
    assert (large["code"], large["sure"]) == ("rng_stream_by_card", "proven")
    small = parted(H100, T4, {"loss": "0x1p-3"}, init=1000, shape=40_000)
    assert (small["code"], small["sure"]) != ("rng_stream_by_card", "proven")


def test_a_card_and_a_cpu_draw_from_other_generators(parted):
    cause = parted({**H100}, {"device.type": "cpu", "seed.torch": 1, "torch.version": "2.6.0"}, {}, init=1000)
    assert cause["code"] == "rng_stream_by_device"


def test_another_seed_is_proven_by_torch_itself(parted):
    cause = parted({"seed.torch": 1}, {"seed.torch": 2}, {}, init=1000)
    assert (cause["code"], cause["sure"], cause["also"]) == ("seed", "proven", [])


def test_a_seed_is_never_named_where_draws_and_weights_are_equal(parted):
    cause = parted({"seed.torch": 1}, {"seed.torch": 2}, {"gn": "0x1.8p-3"})
    assert cause["code"] != "seed"


@pytest.mark.parametrize(
    ("a", "b", "ids"),
    [
        ("1.7.1", "1.13.1", {"random-sampler-1-9"}),
        ("1.8.1", "1.9.1", {"random-sampler-1-9"}),
    ],
)
def test_releases_that_shuffle_otherwise(parted, a, b, ids):
    cause = parted({"torch.version": a}, {"torch.version": b}, {"idx": "00000000000000aa", "batch": "ab"})
    assert cause["code"] == "shuffle_order_by_version"
    assert cause["sure"] == "proven"
    assert ids <= {row["id"] for row in cause["changes"]}


def test_releases_that_shuffle_alike(parted):
    cause = parted({"torch.version": "1.13.1"}, {"torch.version": "2.6.0"}, {"idx": "00000000000000aa"})
    assert cause["code"] != "shuffle_order_by_version"


def test_changes_are_those_of_the_card(parted):
    versions = {"torch.version": "1.11.0"}, {"torch.version": "1.12.0"}
    on_a100 = [{"device.type": "cuda", "device.capability": "8.0", **v} for v in versions]
    on_v100 = [{"device.type": "cuda", "device.capability": "7.0", **v} for v in versions]
    named = [{row["id"] for row in parted(*both, {"fwd": "0a"})["changes"]} for both in (on_a100, on_v100)]
    assert ["tf32-matmul-off" in ids for ids in named] == [True, False]


@pytest.mark.parametrize(
    ("name", "values", "code"),
    [
        ("flags.cuda_matmul_allow_tf32", (True, False), "precision"),
        ("flags.float32_matmul_precision", ("highest", "high"), "precision"),
        ("env.NVIDIA_TF32_OVERRIDE", (None, "0"), "precision"),
        ("flags.cudnn_benchmark", (True, False), "cudnn_algorithm"),
        ("torch.cudnn", (8902, 90100), "cudnn_algorithm"),
        ("flags.flash_sdp", (True, False), "attention_backend"),
        ("env.CUBLAS_WORKSPACE_CONFIG", (None, ":4096:8"), "reduction_order"),
        ("flags.compiled", (True, False), "compiled_kernels"),
        ("memory_format", ("contiguous", "channels_last"), "memory_format"),
        ("torch.blas", ("mkl", "open"), "blas_library"),
        ("env.ONEDNN_MAX_CPU_ISA", (None, "AVX2"), "cpu_kernels"),
        ("flags.flush_denormal", (True, False), "flush_denormals"),
        ("world_size", (1, 2), "world_size"),
        ("torch.version", ("2.5.1", "2.6.0"), "library_version"),
    ],
)
def test_a_condition_that_differs_in_the_forward_pass(parted, name, values, code):
    """Losses and gradients of the first step are apart by one part in a thousand where precision is meant."""
    a, b = ({**H100, **({name: value} if value is not None else {})} for value in values)
    apart = 1e-3 if code == "precision" else 1e-6
    cause = parted(a, b, {"fwd": "0a", "loss": (1 + apart).hex(), "gn": (2 + apart).hex()})
    assert cause["code"] == code


def test_another_card_alone_is_another_order_of_sums(parted):
    near = {"fwd": "0a", "loss": (1 + 1e-7).hex(), "gn": (2 + 1e-7).hex()}
    assert parted(H100, T4, near)["code"] == "reduction_order"


def test_gradients_summed_over_processes_by_another_library(parted):
    a, b = ({**H100, "world_size": 2, "torch.nccl": v} for v in ("2.18", "2.21"))
    assert parted(a, b, {"gn": (2 + 1e-7).hex()})["code"] == "communication"


def test_the_same_card_twice(parted):
    cause = parted(H100, H100, {"gn": (2 + 1e-7).hex()})
    assert (cause["code"], cause["also"]) == ("nondeterministic_kernel", [])
    assert "use_deterministic_algorithms" in cause["pin"]


def test_nan_out_of_nowhere_may_be_memory_that_nobody_wrote(make_side, build):
    whole = build.segment()
    shots = [change(s, weights=["0a"], nonfinite=1) if s.step == 1 else s for s in whole.snapshots]
    broken = make_side([build.trace(change(whole, snapshots=shots))], conditions={"device.type": "cuda"})
    cause = judge(make_side(conditions={"device.type": "cuda"}), broken).cause
    assert (cause["code"], cause["sure"]) == ("uninitialised_memory", "possible")


def test_folders_in_another_order(parted):
    a = {"order.listing": "1", "order.listing_sorted": "9"}
    same, other = {**a, "order.listing": "2"}, {"order.listing": "2", "order.listing_sorted": "8"}
    cause = parted(a, same, {"batch": "0a"})
    assert (cause["code"], cause["sure"]) == ("file_listing_order", "proven")
    assert parted(a, other, {"batch": "0a"})["code"] == "data_content"


def test_nothing_known_says_what_to_record_next(make_side, build):
    cause = judge(
        make_side(conditions={}), make_side([build.trace(build.segment(salt=1))], conditions={})
    ).cause
    assert cause["code"] == "unknown cause"
    assert cause["next"]
    assert all("{" not in command for command in cause["next"])


def test_more_that_differs_makes_a_cause_less_sure(parted):
    a, b = {"seed.torch": 1, "hash_seed": "1"}, {"seed.torch": 2, "hash_seed": "2"}
    cause = parted(a, b, {}, init=1000)
    assert (cause["code"], cause["sure"], cause["also"]) == ("seed", "likely", ["hash_seed"])


def test_what_moves_last_bits_is_no_rival_of_a_large_difference():
    large = Evidence("loss", 1, ["threads.intra"], frozenset({"loss~large"}))
    small = Evidence("loss", 1, ["threads.intra"], frozenset({"loss~rounding"}))
    assert (can("threads.intra", large), can("threads.intra", small)) == (False, True)
    assert not can("params.lr", Evidence("init", 0))
    assert can("params.anything", Evidence("init", 0))


def test_a_replay_that_fits_tf32_names_precision(make_side, build):
    from repro.compare.causes import likely as cause
    from repro.compare.gate import conditions, protocol
    from repro.compare.signals.measured import take

    whole = build.segment()
    rows = [change(s, fwd="0a", loss=(float.fromhex(s.loss) * 1.0005).hex()) for s in whole.steps.rows()]
    a = make_side(conditions={**H100, "device.name": "Tesla T4", "device.capability": "7.5"})
    b = make_side([build.trace(change(whole, steps=build.steps(rows)))], conditions=H100)
    origin = ModuleRow(step=1, n=0, module="conv1", kind="precision", fits=["tf32"])
    found = take(a, b)
    gate, differing = protocol.differences(a, b, ()), conditions.differing(a, b)
    answer = cause.likely(found, gate, differing, a, b, replay=Replay(steps=[1], origin=origin))
    assert (answer["code"], answer["sure"]) == ("precision", "proven")
    assert "fp32_precision" in answer["pin"]
