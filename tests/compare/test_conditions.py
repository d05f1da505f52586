import pytest

from repro.compare import judge
from repro.compare.gate.conditions import RISKS, row_for, table
from repro.model.verdict import SIGNALS


def test_conditions_are_sorted_by_risk_with_a_reason(make_side):
    a = {
        "torch.version": "2.13.0",
        "threads.intra": 2,
        "memory.total_bytes": 8,
        "odd.thing": 1,
        "python.version": "3.11.2",
    }
    b = {
        "torch.version": "1.7.1",
        "threads.intra": 4,
        "memory.total_bytes": 9,
        "odd.thing": 2,
        "python.version": "3.9.1",
    }
    found = judge(make_side(conditions=a), make_side(conditions=b)).conditions_that_differ
    assert [(c.key, c.risk) for c in found] == [
        ("torch.version", "high"),
        ("odd.thing", "medium"),
        ("threads.intra", "medium"),
        ("python.version", "low"),
        ("memory.total_bytes", "none"),
    ]
    assert all(c.why for c in found)
    assert "not in the table" in found[1].why


def test_condition_of_one_side_only(make_side):
    a = {"torch.version": "2.13.0", "env.MKL_CBWR": "COMPATIBLE"}
    (found,) = judge(
        make_side(conditions=a), make_side(conditions={"torch.version": "2.13.0"})
    ).conditions_that_differ
    assert (found.key, found.a, found.b) == ("env.MKL_CBWR", "COMPATIBLE", None)


def test_conditions_that_were_never_recorded_are_said_not_listed(make_side):
    verdict = judge(make_side(), make_side(conditions={}))
    assert verdict.conditions_that_differ == []
    assert "conditions: not recorded in b" in verdict.not_controlled


def test_random_hash_seeds_on_both_sides_are_said(make_side):
    side = make_side(conditions={"hash_seed": "random"})
    assert any("hash seed" in said for said in judge(side, side).not_controlled)


@pytest.mark.parametrize(
    ("name", "risk"),
    [
        ("env.ATEN_CPU_CAPABILITY", "high"),
        ("env.OMP_NUM_THREADS", "medium"),
        ("flags.cuda.matmul.allow_tf32", "high"),
        ("flags.float32_matmul_precision", "high"),
        ("flags.cudnn.benchmark", "medium"),
        ("device.name", "high"),
        ("packages.numpy", "medium"),
        ("packages.anything", "medium"),
    ],
)
def test_table(name, risk):
    assert row_for(name).risk == risk


def test_rows_are_whole_and_act_on_known_signals():
    assert all(row.risk in RISKS and row.why and row.source for row in table())
    assert len({row.pattern for row in table()}) == len(table())
    assert all(set(row.acts) <= {*SIGNALS, "compute"} for row in table())
    assert all(row.size in ("any", "rounding") and row.only in ("", "cuda") for row in table())


@pytest.mark.parametrize(
    "name", ["flags.cudnn_benchmark", "flags.cuda_matmul_allow_tf32", "env.CUBLAS_WORKSPACE_CONFIG"]
)
def test_what_works_on_cards_alone_has_no_effect_on_a_cpu(make_side, name):
    sides = [make_side(conditions={"device.type": "cpu", name: value}) for value in (True, False)]
    (found,) = judge(*sides).conditions_that_differ
    assert (found.risk, "without effect" in found.why) == ("none", True)
    sides = [make_side(conditions={"device.type": "cuda", name: value}) for value in (True, False)]
    (found,) = judge(*sides).conditions_that_differ
    assert found.risk in ("high", "medium")


def test_a_file_read_under_another_name_is_the_same_data(make_side):
    a = {"files.a/x.csv": "0123 5 bytes", "files.a/y.csv": "4567 5 bytes"}
    b = {"files.b/x.csv": "0123 5 bytes", "files.b/y.csv": "89ab 5 bytes"}
    found = judge(make_side(conditions=a), make_side(conditions=b)).conditions_that_differ
    assert {c.key for c in found} == {"files.a/y.csv", "files.b/y.csv"}


def test_files_past_the_recorders_limit_are_not_called_missing(make_side):
    rows = {f"files.data/{n}": "0123 5 bytes" for n in range(250)}
    a = {**rows, "files.data/only": "4567 5 bytes", "files.data/0": "89ab 5 bytes"}
    found = judge(make_side(conditions=a), make_side(conditions=rows)).conditions_that_differ
    assert [c.key for c in found] == ["files.data/0"]
