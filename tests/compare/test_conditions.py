import pytest

from repro.compare import judge
from repro.compare.cause import rules
from repro.compare.conditions import RISKS, row_for, table
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


def test_rows_of_both_tables_are_whole():
    assert all(row.risk in RISKS and row.why and row.source for row in table())
    assert len({row.pattern for row in table()}) == len(table())
    assert all(rule.why and rule.pin and rule.differs for rule in rules())
    assert all(set(rule.first) <= set(SIGNALS) for rule in rules())
    assert len({rule.code for rule in rules()}) == len(rules())


def other_init(make_side, build, **fields):
    return make_side([build.trace(build.segment(salt=1))], **fields)


def test_other_simd_level_explains_other_initial_weights(make_side, build):
    conditions = {"torch.version": "2.13.0", "cpu.capability": "DEFAULT", "hash_seed": "0"}
    attempt = {"environment": {"ATEN_CPU_CAPABILITY": "default"}}
    cause = judge(make_side(), other_init(make_side, build, conditions=conditions, attempt=attempt)).cause
    assert cause["code"] == "cpu-capability-init"
    assert "seed checkpoint" in cause["pin"]
    assert cause["because"] == ["cpu.capability"]
    assert cause["also"] == []


def test_cause_is_not_proven_while_more_differs(make_side, build):
    conditions = {
        "torch.version": "2.13.0",
        "cpu.capability": "DEFAULT",
        "hash_seed": "0",
        "device.name": "x",
    }
    cause = judge(make_side(), other_init(make_side, build, conditions=conditions)).cause
    assert cause["code"] == "device-init"
    assert cause["also"] == ["cpu.capability"]


@pytest.mark.parametrize(("name", "code"), [("seed", "parameter-seed"), ("depth", "parameter")])
def test_parameters_explain_first(make_side, build, name, code):
    a, b = make_side(params={name: 1}), other_init(make_side, build, params={name: 2})
    assert judge(a, b).cause["code"] == code


def test_no_difference_in_the_record_gives_no_cause(make_side, build):
    assert judge(make_side(), other_init(make_side, build)).cause is None


def test_no_difference_in_the_signals_gives_no_cause(make_side):
    assert judge(make_side(params={"seed": 1}), make_side(params={"seed": 2})).cause is None
