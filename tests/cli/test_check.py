"""`repro check` as a user asks it: words, folders, wheels; its answer, its exit status, and what it costs."""

import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import msgspec
import pytest

from repro import paths
from repro.check.carried import carried
from repro.check.words.question import stack_and_target
from repro.cli.ending import end
from repro.cli.main import cli
from repro.engine.fake import FakeEngine
from repro.errors import ReproError
from repro.events import Event, Note, silent
from repro.files import sha256_file
from repro.model import canonical
from repro.model.check import Question, Stack, Target
from repro.model.lock import Lock, Wheel
from repro.pipeline.check import Wishes, image_stack, judge
from repro.pipeline.code import with_tar
from repro.pipeline.locked import read_wheels

ROOT = Path(__file__).resolve().parents[2]
FATBIN = ROOT / "tests" / "fixtures" / "fatbin"
DEPS = ROOT / "tests" / "cases" / "deps"


class Said:
    """What a command answered."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> dict[str, object]:
        return json.loads(self.out)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)

    def ask(*words: str) -> Said:
        status = end(cli, ["check", *words])
        said = capsys.readouterr()
        return Said(status, said.out, said.err)

    return ask


def test_the_default_wheel_of_1_12_has_no_ampere_code(check) -> None:
    said = check("--torch", "1.12.1", "--gpu", "a100")
    assert said.status == 1
    assert "will-fail: " in said.out
    assert "cu113" in said.out
    assert "\x1b" not in said.out


def test_json_has_the_promised_keys(check) -> None:
    said = check("--torch", "1.12.1", "--gpu", "a100", "--gpu", "v100", "--driver", "535.104.05", "--json")
    document = said.json
    assert (document["schema"], document["command"]) == (1, "check")
    failing, running = document["targets"]
    assert (failing["verdict"], running["verdict"]) == ("will-fail", "runs")
    assert failing["driver"] == "535.104.05"
    errors = [f for f in failing["findings"] if f["severity"] == "error"]
    assert errors
    for found in errors:
        assert {"rule", "severity", "found", "needed", "why", "fix", "source"} <= set(found)
        assert found["fix"]
        assert found["source"]


def test_another_build_of_the_same_version_runs(check) -> None:
    said = check("--torch", "1.12.1+cu113", "--gpu", "a100", "--json")
    assert said.status == 0, said.out
    assert said.json["targets"][0]["verdict"] == "runs"
    assert said.json["stack"]["torch"] == "1.12.1+cu113"
    assert said.json["arch_list"] == "8.0+PTX"


def test_the_issues_own_example_answers(check) -> None:
    words = ["--torch", "1.7.1+cu110", "--index", "pytorch-cu110", "--python", "3.8", "--gpu", "a100"]
    said = check(*words, "--with", "flash-attn==2.5.8", "--arch-list", "sm_50 sm_70", "--json")
    assert said.status == 1
    assert any("sm_70" in f["found"] for f in said.json["targets"][0]["findings"])


def test_unknown_exits_with_six(check) -> None:
    said = check("--torch", "2.99.0", "--gpu", "a100", "--json")
    assert said.json["targets"][0]["verdict"] == "unknown"
    assert said.status == 6


def test_without_a_target_facts_and_a_hint(check) -> None:
    said = check("--torch", "1.12.1")
    assert said.status == 0, said.out
    assert "sm_70" in said.out
    assert "--gpu" in said.out
    assert "repro gpus" in said.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--torch", "1.12.1", "--gpu", "a100", "--driver", "new"), "target-driver"),
        (("--torch", "1.12.1", "--gpu", "a100", "--driver-cuda", "new"), "target-driver-cuda"),
        (("--torch", "1.12.1", "--with", ":"), "usage"),
        (("--torch", "1.12.1", "--memory", "much"), "usage"),
        (("--image", "a", "--wheel", "b"), "usage"),
        (("--question", "not-there.json"), "usage"),
        (("--wheel", "not-there.whl"), "wheel-unreadable"),
        (("--wheel", "."), "usage"),
        (("--torch", "1.12.1", "--gpu", " "), "usage"),
    ],
)
def test_what_cannot_be_asked_says_so(check, words: tuple[str, ...], code: str) -> None:
    said = check(*words, "--json")
    assert said.json["error"]["code"] == code
    assert said.status in (2, 3)


def test_questions_in_a_file_get_one_answer_each(check, tmp_path: Path) -> None:
    rows = [
        {"torch": {"spec": "torch==1.12.1", "index": "default"}, "gpu": {"name": "a100", "cc": "8.0"}},
        {"torch": {"spec": "torch==1.12.1+cu113", "index": "pytorch-cu113"}, "gpu": {"name": "a100"}},
    ]
    (tmp_path / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    said = check("--question", "q.jsonl")
    answers = [json.loads(line) for line in said.out.splitlines()]
    assert [a["targets"][0]["verdict"] for a in answers] == ["will-fail", "runs"]
    assert said.status == 1
    (tmp_path / "one.json").write_text(json.dumps(rows[1], indent=1))
    assert check("--question", "one.json", "--json").json["targets"][0]["verdict"] == "runs"


def lines(where: str) -> tuple[str, set[int]]:
    """A place as file and line numbers: `a.txt:2-4,8`."""
    file, colon, numbers = where.rpartition(":")
    if not colon or not numbers.replace("-", "").replace(",", "").isdigit():
        return where, set()
    found: set[int] = set()
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return file, found


# Said where a project's Python is another one than that of the lock; a check takes the project's own.
OF_ANOTHER_PYTHON = {"python-differs"}


@pytest.mark.parametrize("name", sorted(path.name for path in DEPS.iterdir()))
def test_every_fault_of_a_project_is_told_at_its_place(check, name: str) -> None:
    expected = json.loads((DEPS / name / "expected.json").read_text("utf-8"))
    said = check(str(DEPS / name / "project"), "--gpu", expected.get("target_gpu", "a100"), "--json")
    found = said.json["targets"][0]["findings"]
    told = [
        (f["found"].partition(":")[0], *lines(f["where"])) for f in found if f["rule"].startswith("lock-")
    ]
    for wanted in expected["must_detect"]:
        file, numbers = lines(wanted["where"])
        if wanted["code"] in OF_ANOTHER_PYTHON:
            continue
        assert any(c == wanted["code"] and f == file and numbers <= n for c, f, n in told), (wanted, told)
    if expected["outcome"] == "error":
        assert said.json["targets"][0]["verdict"] == "will-fail"
        assert said.status == 1
    assert "not-a-real-secret" not in said.out


def cpu_seconds(*argv: str, cwd: Path) -> float:
    """Least user and system time of three runs of a child: the others paid for a busy machine's caches."""
    best = 99.0
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *argv], capture_output=True, check=False, cwd=cwd, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def test_words_are_answered_soon(tmp_path: Path) -> None:
    """At most eight times what importing the libraries takes: 0.5 s of CPU where those take 0.065 s."""
    asked = cpu_seconds("-m", "repro", "check", "--torch", "1.12.1", "--gpu", "a100", cwd=tmp_path)
    bare = cpu_seconds("-c", "import click, msgspec, packaging.version, tomllib", cwd=tmp_path)
    assert asked < 8 * bare


def test_words_import_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys; from repro.cli.ending import end; from repro.cli.main import cli\n"
        "end(cli, ['check', '--torch', '1.12.1', '--gpu', 'a100'])\n"
        "heavy = {'docker', 'git', 'jinja2', 'yaml', 'torch', 'pynvml', 'pip', 'requests', 'repro.lock'}\n"
        "sys.exit(f'imported: {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr


def test_every_rule_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    from repro.check.finding import rule_rows

    assert end(cli, ["explain", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["codes"]
    assert set(rule_rows()) <= set(listed)
    assert "incompatible" in listed
    for code, row in rule_rows().items():
        assert end(cli, ["explain", code, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert (document["severity"], document["verdict"]) == (row.severity, row.outcome)
        assert document["source"]


def test_a_misspelt_rule_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(cli, ["explain", "lock-warnin"]) == 2
    assert "lock-warning" in capsys.readouterr().err


def wheel_of(folder: Path, name: str, files: dict[str, Path]) -> Path:
    """A wheel that holds fixture files."""
    info, path = f"{name}-1.0.dist-info", folder / f"{name}-1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for place, source in files.items():
            wheel.write(source, place)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
        wheel.writestr(f"{info}/RECORD", "".join(f"{place},,\n" for place in files))
    return path


def test_a_wheel_is_judged_container_by_container(check, tmp_path: Path) -> None:
    """two_tu.so: one source for sm_80, sm_86 and PTX 8.6, the other for sm_80 and sm_90 without PTX."""
    wheel = wheel_of(tmp_path, "knn", {"knn/_ext.so": FATBIN / "two_tu.so"})
    said = check("--wheel", str(wheel), "--torch", "2.9.1", "--gpu", "a100", "--gpu", "b200", "--json")
    fits = [target["files"][0]["containers"] for target in said.json["targets"]]
    assert fits == [{"exact": 2}, {"jit": 1, "none": 1}]
    assert any(f["where"] == "knn/_ext.so" or "knn/_ext.so" in f["found"] for f in found_in(said, 1))


def found_in(said: Said, target: int) -> list[dict[str, str]]:
    return said.json["targets"][target]["findings"]


def test_a_wheel_without_a_card_shows_what_it_holds(check, tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, "knn", {"knn/_ext.so": FATBIN / "two_tu.so"})
    said = check("--wheel", str(wheel), "--json")
    assert said.status == 0
    (file,) = said.json["stack"]["files"]
    assert (file["path"], file["owner"], file["containers"]) == ("knn/_ext.so", "knn", 2)
    assert file["holds"] == ["sm_80", "compute_86", "sm_86", "sm_90"]
    assert said.json["targets"][0]["files"] == []
    assert "knn/_ext.so: 2 containers" in check("--wheel", str(wheel)).out


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that pins a torch, names targets, and has a compiled file of somebody's machine in it."""
    folder = tmp_path / "project"
    (folder / "third_party").mkdir(parents=True)
    shutil.copy(FATBIN / "ptx_only.so", folder / "third_party" / "ext.so")
    (folder / "requirements.txt").write_text("torch==1.13.1\n")
    (folder / "train.py").write_text("import torch\n")
    (folder / "repro.toml").write_text(
        'schema = 1\nname = "p"\n[dependencies]\npython = "3.10"\n[protocol]\nprecision = "bf16"\n'
        '[targets]\ngpus = ["A100-80GB", "h100"]\ndriver = "535.104.05"\n'
    )
    return folder


def test_a_project_is_judged_for_its_own_targets(check, project: Path) -> None:
    said = check(str(project), "--json")
    assert [t["verdict"] for t in said.json["targets"]][1] == "will-fail"
    assert [t["driver"] for t in said.json["targets"]] == ["535.104.05"] * 2
    assert [t["capability"] for t in said.json["targets"]] == ["8.0", "9.0"]
    stack = said.json["stack"]
    assert (stack["origin"], stack["torch"], stack["precision"]) == ("project", "1.13.1+cu117", "bf16")
    assert [f["path"] for f in stack["files"]] == ["third_party/ext.so"]


def test_options_go_before_the_projects_settings(check, project: Path) -> None:
    said = check(str(project), "--gpu", "v100", "--torch", "1.12.1", "--precision", "fp32", "--json")
    (target,) = said.json["targets"]
    assert (target["capability"], said.json["stack"]["torch"]) == ("7.0", "1.12.1+cu102")
    assert said.json["stack"]["precision"] == "fp32"


def lock_of(inputs: dict[str, str], python: str) -> Lock:
    torch = Wheel(
        name="torch",
        version="1.12.1+cu113",
        file="torch-1.12.1+cu113-py3-none-any.whl",
        sha256="a" * 64,
        bytes=1,
        origin="local",
    )
    return Lock(
        python=python,
        platform="linux_x86_64",
        libc="glibc 2.36",
        resolver="pip-tools",
        inputs=inputs,
        inputs_sha256="b" * 64,
        requirements_sha256="c" * 64,
        wheels=[torch],
    )


def test_a_lock_of_these_very_inputs_is_taken(check, project: Path) -> None:
    inputs = {"requirements.txt": sha256_file(project / "requirements.txt")}
    where = project / ".repro" / "lock" / "lock.json"
    where.parent.mkdir(parents=True)
    where.write_bytes(canonical.pretty(lock_of(inputs, "3.10")))
    said = check(str(project), "--json")
    assert (said.json["stack"]["origin"], said.json["stack"]["torch"]) == ("lock", "1.12.1+cu113")
    (project / "requirements.txt").write_text("torch==1.13.1\n# changed since\n")
    assert check(str(project), "--json").json["stack"]["origin"] == "project"


def test_a_lock_of_the_cache_counts_as_well(check, project: Path) -> None:
    inputs = {"requirements.txt": sha256_file(project / "requirements.txt")}
    kept = paths.cache() / "locks" / "some-key" / "lock.json"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(canonical.pretty(lock_of(inputs, "3.10")))
    try:
        assert check(str(project), "--json").json["stack"]["origin"] == "lock"
        kept.write_bytes(canonical.pretty(lock_of(inputs, "3.9")))
        assert check(str(project), "--json").json["stack"]["origin"] == "project"
    finally:
        shutil.rmtree(kept.parent)


def test_an_image_is_one_stack_like_any_other_and_read_once(tmp_path: Path) -> None:
    root = io.BytesIO()
    with tarfile.open(fileobj=root, mode="w") as tar:
        tar.add(FATBIN / "two_tu.so", "usr/lib/python3.10/site-packages/knn/_ext.so")
    image = f"sha256:{'1' * 64}"
    engine = FakeEngine(roots={image: root.getvalue()})
    stack = image_stack(engine, image, "some:tag", tmp_path, silent)
    assert (stack.origin, stack.detail) == ("image", "some:tag")
    assert [b.path.rpartition("/")[2] for b in stack.binaries] == ["_ext.so"]
    assert "_ext.so" in (stack.libraries or [])
    assert image_stack(engine, image, "some:tag", tmp_path, silent) == stack
    assert engine.calls == [f"export {image}"]


def test_stack_json_holds_what_the_runtime_compares() -> None:
    """The shape that `docs/formats.md` promises."""
    stack, target = stack_and_target(Question(torch="torch==1.13.1", index="default", gpu="a100"))
    document = carried(stack, [target])
    assert document["torch"]["sass"][-1] == "sm_86"
    assert document["driver"] == {"floor": "450.80.02", "ptx_floor": "515.43.04"}
    assert document["targets"][0]["capability"] == "8.0"
    assert "NVIDIA A100-SXM4-80GB" in document["targets"][0]["names"]
    assert document["help"]["code_fixes"]["9.0"]
    assert "8.0" not in document["help"]["code_fixes"]
    assert (document["precision"], document["memory_bytes"], document["allowed"]) == ("", None, False)
    assert canonical.pretty(document) == canonical.pretty(carried(stack, [target]))
    assert carried(Stack(origin="words"), [Target()])["torch"] is None


def test_the_example_of_the_readme_is_what_is_printed(check) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    shown = readme.partition("$ repro check --torch 1.12.1 --gpu a100\n")[2].partition("```")[0]
    assert check("--torch", "1.12.1", "--gpu", "a100").out == shown


def test_a_card_that_is_named_twice_is_judged_once(check) -> None:
    words = ["--torch", "1.12.1", "--gpu", "a6000", "--gpu", "NVIDIA RTX A6000", "--gpu", "v100", "--json"]
    assert [t["gpu"] for t in check(*words).json["targets"]] == ["rtx-a6000", "v100"]


@pytest.mark.parametrize("size", ["47000000000", "47gb", "47 GB", "44GiB", "44 gib", "47g"])
def test_sizes_as_people_write_them(check, size: str) -> None:
    said = check("--torch", "1.12.1+cu113", "--gpu", "a100-40gb", "--memory", size, "--json")
    assert "memory-too-small" in {f["rule"] for f in found_in(said, 0)}


def test_a_bad_question_among_good_ones_has_its_error(check, tmp_path: Path) -> None:
    good = {"torch": {"spec": "torch==1.12.1", "index": "default"}, "gpu": "a100"}
    bad = [json.dumps(good | {"torch": 5}), json.dumps(good | {"driver": "none of these"}), "not JSON"]
    (tmp_path / "q.jsonl").write_text("\n".join([json.dumps(good), *bad, json.dumps(good)]) + "\n")
    said = check("--question", "q.jsonl")
    assert said.status == 2
    answers = [json.loads(line) for line in said.out.splitlines()]
    assert [one["error"]["code"] if "error" in one else one["targets"][0]["verdict"] for one in answers] == [
        "will-fail", "question-unreadable", "target-driver", "question-unreadable", "will-fail",
    ]  # fmt: skip
    assert "q.jsonl:2" in answers[1]["error"]["found"][0]


def test_a_question_may_begin_with_a_byte_order_mark(check, tmp_path: Path) -> None:
    text = '{"torch": {"spec": "torch==1.12.1", "index": "default"}, "gpu": {"name": "a100"}}'
    (tmp_path / "q.json").write_text(text, "utf-8-sig")
    assert check("--question", "q.json", "--json").json["targets"][0]["verdict"] == "will-fail"


def test_a_project_that_names_no_torch_is_unknown(check, tmp_path: Path) -> None:
    """What its files pin is not all that gets installed: torch may come with another package."""
    (tmp_path / "requirements.txt").write_text("numpy==1.26.4\n")
    (tmp_path / "train.py").write_text("import torch\n")
    said = check(".", "--gpu", "a100", "--json")
    assert (said.json["targets"][0]["verdict"], said.status) == ("unknown", 6)


def test_what_a_project_does_not_say_is_assumed(check, project: Path) -> None:
    assert "assumed" not in check(str(project), "--json").json["stack"]
    (project / "repro.toml").unlink()
    assert check(str(project), "--gpu", "a100", "--json").json["stack"]["assumed"] == ["precision"]


def test_a_card_of_the_settings_that_nobody_knows_has_its_place(check, project: Path) -> None:
    (project / "repro.toml").write_text('schema = 1\nname = "p"\n[targets]\ngpus = ["a1000000"]\n')
    (found,) = [f for f in found_in(check(str(project), "--json"), 0) if f["rule"] == "card-unknown"]
    assert found["where"] == "repro.toml, targets.gpus"


def test_an_image_without_torch_is_named(tmp_path: Path) -> None:
    """Even where nothing can be kept of it: the cache's place is taken by a file."""
    (tmp_path / "cache").write_text("")
    image = f"sha256:{'1' * 64}"
    engine, said = FakeEngine(roots={image: tar_of({"etc/passwd": b""})}), []
    stack = image_stack(engine, image, "a:1", tmp_path / "cache", said.append)
    (report,) = judge(stack, Wishes(gpus=("a100",)).targets()).targets
    assert [f.found for f in report.findings if f.rule == "torch-unknown"] == [
        "the image a:1 holds neither torch nor Python"
    ]
    assert any(isinstance(event, Note) and event.level == "warning" for event in said)


def tar_of(files: dict[str, bytes]) -> bytes:
    root = io.BytesIO()
    with tarfile.open(fileobj=root, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return root.getvalue()


@pytest.mark.parametrize("data", [None, b"", b"no tar at all", tar_of({"p/train.py": b"x" * 4000})[:2000]])
def test_a_bundle_with_damaged_code_says_so(data: bytes | None, tmp_path: Path) -> None:
    if data is not None:
        (tmp_path / "code.tar").write_bytes(data)
    with pytest.raises(ReproError) as caught:
        with_tar(Stack(origin="bundle"), tmp_path / "code.tar")
    assert caught.value.code == "bundle-unreadable"


def test_a_wheel_that_was_changed_after_the_lock_is_told(tmp_path: Path) -> None:
    path = wheel_of(tmp_path, "knn", {"knn/_ext.so": FATBIN / "two_tu.so"})
    locked = Wheel(name="knn", version="1.0", file=path.name, sha256="d" * 64, bytes=1, origin="local")
    said: list[Event] = []
    lock = msgspec.structs.replace(lock_of({}, "3.11"), wheels=[locked])
    (facts,) = read_wheels(lock, tmp_path, tmp_path / "cache", said.append)
    assert facts.sha256 == sha256_file(path)
    assert any("is not the file that was locked" in e.text for e in said if isinstance(e, Note))
