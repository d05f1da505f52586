import math

import pytest

from repro.compare import exit_status, judge
from repro.compare.protocol import covers

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
    assert differences(longer) == {"command": ("/env/bin/python x", "/env/bin/python x --fast")}


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
