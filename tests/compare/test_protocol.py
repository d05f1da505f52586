import math

import msgspec
import pytest

from repro.compare import exit_status, judge
from repro.compare.gate.protocol import covers

change = msgspec.structs.replace
IDENTITY = dict.fromkeys(["tree", "patch", "lock", "params", "eval", "protocol", "base", "runtime"], "0" * 64)
SPEC = {
    "schema": 1,
    "name": "x",
    "command": ["python"],
    "log": {},
    "protocol": {"precision": "fp32", "margin": 0.1},
}


def differences(verdict, class_="must-equal"):
    return {row.key: (row.a, row.b) for row in verdict.protocol_differences if row.class_ == class_}


def test_parameter_is_named_with_both_values_and_nothing_else(make_side):
    a = make_side(params={"lr": 0.1, "seed": 1, "deep": {"x": [1, 2]}})
    b = make_side(params={"lr": 0.2, "seed": 1, "deep": {"x": [1, 3]}})
    verdict = judge(a, b)
    assert verdict.verdict == "incomparable"
    assert exit_status(verdict.verdict) == 7
    assert differences(verdict) == {"params.lr": (0.1, 0.2), "params.deep.x": ([1, 2], [1, 3])}
    assert verdict.signals["loss"].first_step is None


def test_digests_that_values_explain_are_not_named_twice(make_side):
    a = make_side(params={"lr": 0.1}, identity=IDENTITY, protocol=SPEC)
    b = make_side(params={"lr": 0.2}, identity={**IDENTITY, "params": "1" * 64}, protocol=SPEC)
    assert set(differences(judge(a, b))) == {"params.lr"}


def test_digest_counts_where_values_are_unknown(make_side):
    a, b = make_side(identity=IDENTITY), make_side(identity={**IDENTITY, "params": "1" * 64})
    assert set(differences(judge(a, b))) == {"identity.params"}


@pytest.mark.parametrize("name", ["tree", "patch", "eval"])
def test_what_must_be_equal(make_side, name):
    verdict = judge(make_side(identity=IDENTITY), make_side(identity={**IDENTITY, name: "1" * 64}))
    assert set(differences(verdict)) == {f"identity.{name}"}
    assert verdict.verdict == "incomparable"


@pytest.mark.parametrize("name", ["lock", "base", "runtime"])
def test_what_may_differ_as_the_factor(make_side, name):
    verdict = judge(make_side(identity=IDENTITY), make_side(identity={**IDENTITY, name: "1" * 64}))
    assert set(differences(verdict, "factor")) == {f"identity.{name}"}
    assert verdict.verdict == "identical"


def test_protocol_fields_and_settings(make_side):
    other = {**SPEC, "log": {"acc": "x"}, "protocol": {"precision": "bf16", "margin": 0.1}, "name": "y"}
    verdict = judge(make_side(protocol=SPEC), make_side(protocol=other))
    assert differences(verdict) == {"protocol.precision": ("fp32", "bf16"), "settings.log.acc": (None, "x")}
    assert differences(verdict, "recorded") == {"name": ("x", "y")}


def test_bundle_against_bare_command(make_side):
    a, b = make_side(identity=IDENTITY, protocol=SPEC, params={"lr": 1}), make_side()
    found = differences(judge(a, b))
    assert found["params"] == ("recorded", None)
    assert found["protocol"] == ("declared", None)
    assert found["identity.tree"] == ("0" * 64, None)


def test_nan_parameters_are_equal(make_side):
    for value in (math.nan, {"$float": "nan"}, [math.nan, 1.0]):
        assert judge(make_side(params={"p": value}), make_side(params={"p": value})).verdict == "identical"


@pytest.mark.parametrize(
    ("x", "y"), [(1, 1.0), (1, True), (0.0, -0.0), (None, ""), ({"$float": "inf"}, 1.0), ("1", 1)]
)
def test_values_that_only_look_equal(make_side, x, y):
    verdict = judge(make_side(params={"p": x}), make_side(params={"p": y}))
    assert set(differences(verdict)) == {"params.p"}


def test_allowed_difference_is_recorded(make_side):
    a, b = make_side(params={"lr": 0.1}), make_side(params={"lr": 0.2})
    for allow in (["params"], ["params.lr"]):
        verdict = judge(a, b, allow=allow)
        assert verdict.verdict == "identical"
        assert [row.allowed for row in verdict.protocol_differences] == [True]
        assert any("allowed to differ by request: params.lr" in said for said in verdict.evidence)


def test_allowing_something_else_has_no_effect_and_says_so(make_side):
    verdict = judge(make_side(params={"lr": 0.1}), make_side(params={"lr": 0.2}), allow=["params.seed"])
    assert verdict.verdict == "incomparable"
    assert any("`--allow params.seed` had no effect" in said for said in verdict.evidence)


def test_allow_matches_whole_dotted_parts():
    assert covers("params.lr", "params.lr.x")
    assert not covers("params.lr", "params.lr_decay")
    assert not covers("params.lr.x", "params.lr")


def command(make_side, *argv, inputs=None, **fields):
    return make_side(
        attempt={"argv": ["/env/bin/python", *argv], "command": ["python", *argv], "inputs": inputs or {}},
        **fields,
    )


def test_files_on_the_command_line_are_compared_by_content(make_side):
    a = command(make_side, "t.py", "--params", "a.json", inputs={"t.py": "11", "a.json": "22"})
    same = command(make_side, "t.py", "--params", "b.json", inputs={"t.py": "11", "b.json": "22"})
    other = command(make_side, "t.py", "--params", "b.json", inputs={"t.py": "11", "b.json": "33"})
    edited = command(make_side, "t.py", "--params", "a.json", inputs={"t.py": "12", "a.json": "22"})
    assert judge(a, same).verdict == "identical"
    assert differences(judge(a, other)) == {"command.--params": ("a.json (sha256 22)", "b.json (sha256 33)")}
    assert set(differences(judge(a, edited))) == {"command.1"}


def test_parameter_file_on_the_command_line_is_told_by_its_values(make_side):
    a = command(
        make_side, "--p=a.json", inputs={"a.json": "22"}, params={"lr": 1, "x": 1}, params_file="a.json"
    )
    b = command(
        make_side, "--p=b.json", inputs={"b.json": "33"}, params={"lr": 2, "x": 1}, params_file="b.json"
    )
    assert differences(judge(a, b)) == {"params.lr": (1, 2)}


def test_options_are_named_by_option(make_side):
    for x, y in ((["--lr", "0.1"], ["--lr", "0.2"]), (["--lr=0.1"], ["--lr=0.2"])):
        verdict = judge(command(make_side, *x), command(make_side, *y))
        assert set(differences(verdict)) == {"command.--lr"}
        assert verdict.verdict == "incomparable"
    longer = judge(command(make_side, "x"), command(make_side, "x", "--fast"))
    assert differences(longer) == {"command": ("python x", "python x --fast")}


def test_a_recorded_command_may_write_to_its_own_run(make_side):
    said = ["python", "x", "--out", "{out}"]
    runs = [
        make_side(attempt={"argv": [*said[:-1], f"/{name}/out"], "command": said, "inputs": {"x": "11"}})
        for name in ("a", "b")
    ]
    assert differences(judge(*runs)) == {}


def test_another_interpreter_is_a_factor(make_side):
    a = make_side(attempt={"argv": ["/a/bin/python3.11", "x"]})
    b = make_side(attempt={"argv": ["/b/bin/python", "x"]})
    verdict = judge(a, b)
    assert verdict.verdict == "identical"
    assert set(differences(verdict, "factor")) == {"command.0"}


def test_environment_is_a_factor_and_secrets_stay_hidden(make_side):
    a = make_side(attempt={"environment": {"ATEN_CPU_CAPABILITY": "default", "API_TOKEN": "one"}})
    b = make_side(attempt={"environment": {"API_TOKEN": "two"}, "label": "x"})
    verdict = judge(a, b)
    assert differences(verdict, "factor") == {
        "environment.ATEN_CPU_CAPABILITY": ("default", None),
        "environment.API_TOKEN": ("****", "****"),
    }
    assert differences(verdict, "recorded") == {"label": ("", "x")}


def test_what_could_not_be_checked_is_said(make_side):
    said = judge(make_side(), make_side()).not_controlled
    assert [line.partition(":")[0] for line in said[:3]] == ["code", "parameters", "protocol"]


def test_equal_protocol_digest_needs_no_values(make_side):
    """A run that was copied out of its bundle still names the bundle's digests."""
    a, b = make_side(identity=IDENTITY, protocol=SPEC), make_side(identity=IDENTITY)
    assert differences(judge(a, b)) == {}


SEEDED = {"seed": "aa" * 32}
ON_CARD = {"device.type": "cuda", "torch.version": "2.13.0"}


def rows(a, b):
    return {row.key: (row.class_, row.a, row.b) for row in judge(a, b).protocol_differences}


def test_runs_from_other_seed_checkpoints_are_incomparable(make_side):
    a, b = (make_side(attempt={"plan": {"seed": word}}) for word in ("aa", "bb"))
    assert rows(a, b) == {"seed_checkpoint": ("must-equal", "aa", "bb")}
    assert judge(a, b).verdict == "incomparable"
    assert judge(a, b, allow=["seed_checkpoint"]).verdict == "identical"


def test_seed_checkpoint_of_one_run_alone_is_recorded(make_side):
    a, b = make_side(attempt={"plan": SEEDED}), make_side()
    assert rows(a, b) == {"seed_checkpoint": ("recorded", SEEDED["seed"], None)}
    assert judge(a, b).verdict == "identical"  # the weights are the same bits either way


def test_moved_weights_are_a_factor(make_side):
    a, b = make_side(), make_side(attempt={"plan": {"perturb": 1}})
    assert rows(a, b) == {"plan.perturb": ("factor", None, 1)}


@pytest.mark.parametrize(
    ("key", "name", "x", "y"),
    [
        ("precision.autocast", "flags.autocast", "cuda bfloat16", "cuda float16"),
        ("precision.autocast", "flags.autocast", "off", "cuda bfloat16"),
        ("precision.cuda_matmul_tf32", "flags.cuda_matmul_allow_tf32", True, False),
        ("precision.cudnn_tf32", "flags.cudnn_allow_tf32", True, False),
        ("precision.float32_matmul", "flags.float32_matmul_precision", "highest", "high"),
        ("precision.default_dtype", "flags.default_dtype", "float32", "float64"),
    ],
)
def test_precision_that_nothing_declared_explains_is_refused(make_side, key, name, x, y):
    """Such as a script that takes bfloat16 where the card has it."""
    a, b = (make_side(conditions={**ON_CARD, name: value}) for value in (x, y))
    assert rows(a, b)[key][0] == "must-equal"
    assert judge(a, b).verdict == "incomparable"
    assert judge(a, b, allow=["precision"]).verdict == "identical"


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ({"params": {"amp": 0}}, {"params": {"amp": 1}}),
        ({"conditions": {"torch.version": "1.11.0"}}, {"conditions": {"torch.version": "1.12.0"}}),
        ({"conditions": {"env.NVIDIA_TF32_OVERRIDE": "0"}}, {}),
    ],
    ids=["a parameter", "the defaults of torch", "an override"],
)
def test_precision_that_follows_from_something_else_is_a_factor(make_side, x, y):
    """So that allowing what it follows from is enough."""
    sides = [
        make_side(
            **{
                **fields,
                "conditions": {
                    **ON_CARD,
                    "flags.cuda_matmul_allow_tf32": tf32,
                    **fields.get("conditions", {}),
                },
            }
        )
        for fields, tf32 in ((x, True), (y, False))
    ]
    assert rows(*sides)["precision.cuda_matmul_tf32"][0] == "factor"
    assert judge(*sides, allow=["params"]).verdict == "identical"


@pytest.mark.parametrize("value", ["absent", "unknown", "unknown: RuntimeError", "mixed", None])
def test_precision_that_was_not_read_is_not_compared(make_side, value):
    a = make_side(conditions={**ON_CARD, "flags.autocast": "cuda bfloat16", "flags.cudnn_allow_tf32": True})
    b = make_side(conditions={**ON_CARD, "flags.autocast": value, "flags.cudnn_allow_tf32": value})
    assert rows(a, b) == {}


def test_settings_of_cards_do_not_count_without_one(make_side):
    a, b = (
        make_side(conditions={"device.type": "cpu", "flags.cudnn_allow_tf32": on}) for on in (True, False)
    )
    assert rows(a, b) == {}


def cut(build, nb):
    whole = build.segment()
    return build.trace(change(whole, steps=build.steps([change(s, nb=nb) for s in whole.steps.rows()])))


def test_effective_batch_is_what_counts(make_side, build):
    """Micro-batches times their size: 1 x 32 and 2 x 16 are one effective batch, 1 x 16 is another."""
    a, same, half = (
        make_side([cut(build, nb)], conditions={"loader.batch_size": size})
        for nb, size in ((1, 32), (2, 16), (1, 16))
    )
    assert rows(a, same) == {}
    assert rows(a, half) == {"effective_batch": ("must-equal", 32, 16)}
    assert rows(a, make_side()) == {}


def test_confounded_is_said_where_a_factor_differs_too(make_side):
    a = make_side(params={"lr": 1}, conditions={"device.name": "A100", "device.type": "cuda"})
    b = make_side(params={"lr": 2}, conditions={"device.name": "H100", "device.type": "cuda"})
    said = [line for line in judge(a, b, allow=["params.lr"]).evidence if line.startswith("confounded")]
    assert len(said) == 1
    assert "params.lr" in said[0]
    assert "device.name" in said[0]
    alone = make_side(params={"lr": 2}, conditions=a.run.conditions)
    assert not any(line.startswith("confounded") for line in judge(a, alone).evidence)
