"""Dependency files as people write them: every form is read, or refused with its place."""

from collections.abc import Callable
from typing import Any

import pytest

from repro.errors import ReproError
from repro.lock import examine, read
from repro.lock.poetry import expand
from repro.lock.text import decode, logical_lines

Make = Callable[..., Any]


def codes(requests: Any) -> set[tuple[str, str]]:
    return {(f.code, f.where) for f in requests.findings}


@pytest.mark.parametrize(
    ("data", "oddity"),
    [
        ("torch\r\nnumpy\r\n".encode("utf-16"), "UTF-16"),
        (b"\xfe\xff" + "torch\r\nnumpy\r\n".encode("utf-16-be"), "UTF-16"),
        ("torch\r\nnumpy\r\n".encode("utf-16-le"), "UTF-16 without"),
        (b"\xef\xbb\xbftorch\nnumpy\n", "UTF-8 with"),
        (b"torch\nnumpy # caf\xe9\n", "Latin-1"),
        (b"torch\rnumpy\r", ""),
    ],
)
def test_any_encoding(data: bytes, oddity: str) -> None:
    text = decode(data)
    assert [line.text for line in logical_lines(text.content)] == ["torch", "numpy"]
    assert text.oddity.startswith(oddity) if oddity == "" else oddity in text.oddity


def test_continued_lines_keep_their_first_number() -> None:
    lines = list(logical_lines("# one\ntorch==1 \\\n  --hash=x\n\nnumpy\n"))
    assert [(line.number, line.text) for line in lines] == [(2, "torch==1 --hash=x"), (5, "numpy")]


def test_forms_of_a_requirement(make: Make) -> None:
    lines = [
        "torch >= 1.0 , != 1.5  # why",
        "requests[socks,security]>=2 ; python_version<'3.9'",
        "foo @ https://h.example.invalid/foo-1.0-py3-none-any.whl",
        "-e git+https://git.example.invalid/lab/m.git@main#egg=m",
        "git+ssh://git@git.example.invalid/lab/x.git@v1.0",
        "--extra-index-url=https://one.example.invalid/simple",
        "-ihttps://two.example.invalid/simple",
    ]
    got = read(make({"requirements.txt": "\n".join(lines)}))
    assert [r.text for r in got.requirements[:2]] == [
        "torch!=1.5,>=1.0",
        'requests[security,socks]>=2 ; python_version < "3.9"',
    ]
    assert [(r.name, r.place) for r in got.requirements[2:4]] == [
        ("foo", "requirements.txt:3"),
        ("m", "requirements.txt:4"),
    ]
    assert [s.kind for s in got.sources] == ["extra-index", "index"]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("numpy=1.2", "numpy==1.2"),
        ("pip install torch", "pip install torch"),
        ("numpy ; nonsense here", "marker"),
        ("-r nowhere.txt", "nowhere.txt"),
        ("--colour red", "--colour"),
        ("numpy>=1.*.2", "numpy"),
    ],
)
def test_bad_lines_are_named_and_never_skipped(make: Make, line: str, part: str) -> None:
    with pytest.raises(ReproError) as caught:
        read(make({"requirements.txt": f"six\n{line}\n"}))
    assert any(
        found.startswith("requirements.txt:2  bad-line") and part in found for found in caught.value.found
    )


def test_all_errors_are_listed_at_once(make: Make) -> None:
    with pytest.raises(ReproError) as caught:
        read(make({"requirements.txt": "numpy=1\nultralytics==8.3.42\n../outside\n"}))
    assert [line.split("  ")[1].split(":")[0] for line in caught.value.found] == [
        "bad-line",
        "removed-release",
        "local-path",
    ]


def test_a_named_file_that_is_missing(make: Make) -> None:
    project = make({"train.py": ""}, requirements=["requirements/base.txt"])
    with pytest.raises(ReproError) as caught:
        read(project)
    assert caught.value.code == "lock-file-missing"
    assert "requirements/base.txt" in caught.value.message


def test_includes_that_go_in_circles(make: Make) -> None:
    got = read(make({"requirements.txt": "-r more.txt\nsix\n", "more.txt": "-r requirements.txt\nidna\n"}))
    assert {r.name for r in got.requirements} == {"six", "idna"}


def test_pyproject_groups_and_extras_stay_out(make: Make) -> None:
    text = """
[project]
name = "x"
requires-python = ">=3.8"
dependencies = [
  "six",
  "idna>=3",
]
[project.optional-dependencies]
dev = ["pytest"]
[dependency-groups]
lint = ["ruff"]
"""
    got = read(make({"pyproject.toml": text}))
    assert [(r.text, r.place) for r in got.requirements] == [
        ("six", "pyproject.toml:6"),
        ("idna>=3", "pyproject.toml:7"),
    ]
    assert got.python[0].python == ">=3.8"
    assert any(f.code == "extras" and "dev" in f.text for f in got.findings)


def test_a_pyproject_that_only_configures_tools_is_no_manifest(make: Make) -> None:
    got = read(
        make(
            {
                "pyproject.toml": "[tool.ruff]\nline-length = 99\n",
                "setup.cfg": "[options]\ninstall_requires =\n  six\n",
            }
        )
    )
    assert [(r.name, r.place) for r in got.requirements] == [("six", "setup.cfg:3")]


def test_dependencies_that_code_computes_stop(make: Make) -> None:
    text = "from setuptools import setup\nsetup(name='x', install_requires=open('r.txt').read().split())\n"
    with pytest.raises(ReproError) as caught:
        read(make({"setup.py": text}))
    assert any(line.startswith("setup.py:2  code-at-parse") for line in caught.value.found)


def test_conda_details(make: Make) -> None:
    text = """
dependencies:
  - python=3.9
  - pytorch::pytorch=1.13.1=py3.9_cpu_0
  - cpuonly
  - numpy=1.23
  - libgcc-ng=12
  - cuda-nvcc
  - sox
  - pip:
    - -r more.txt
"""
    got = read(make({"environment.yml": text, "more.txt": "einops\n"}))
    assert [r.text for r in got.requirements] == ["numpy==1.23.*", "torch==1.13.1+cpu", "einops"]
    assert set(got.left_out) == {"libgcc-ng", "cuda-nvcc"}
    assert got.system == ("sox",)
    assert ("not-covered", "environment.yml:8") in codes(got)


def test_a_build_that_does_not_exist_stops(make: Make) -> None:
    text = "dependencies:\n  - pytorch=1.8.1\n  - cudatoolkit=11.7\n"
    with pytest.raises(ReproError) as caught:
        read(make({"environment.yml": text}))
    assert any("cu111" in line for line in caught.value.found)


@pytest.mark.parametrize(
    ("poetry", "pip"),
    [
        ("^1.2.3", ">=1.2.3,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1", ">=1,<2"),
        ("1.2.3", "==1.2.3"),
        (">=1,<2", ">=1,<2"),
        ("*", ""),
    ],
)
def test_poetry_ranges(poetry: str, pip: str) -> None:
    assert expand(poetry) == pip


def test_two_builds_of_the_torch_family_conflict(make: Make) -> None:
    got = examine(make({"requirements.txt": "torch==2.0.1+cu118\ntorchvision==0.15.2+cpu\n"}))
    assert ("conflict", "requirements.txt:1-2") in codes(got)


def test_an_extension_that_nobody_uses_is_only_a_warning(make: Make) -> None:
    setup = "from torch.utils.cpp_extension import CUDAExtension\n"
    setup += "setup(ext_modules=[\n CUDAExtension('fast', ['a.cu'])])\n"
    unused = examine(
        make({"requirements.txt": "torch==2.1.2\n", "ext/setup.py": setup, "train.py": "import torch\n"})
    )
    assert [(f.where, f.severity) for f in unused.findings if f.code == "cuda-extension"] == [
        ("ext/setup.py:3", "warning")
    ]
    used = examine(make({"train.py": "import torch, fast\n"}))
    assert [f.severity for f in used.findings if f.code == "cuda-extension"] == ["error"]


def test_tables_name_their_sources() -> None:
    from repro.lock.table import table

    rows = (
        table("removed_releases")["release"]
        + table("old_metadata")["release"]
        + table("index_aliases")["family"]
    )
    rows += [
        row
        for section in ("deprecated", "os_only", "left_over", "needs_system")
        for row in table("package_names")[section].values()
    ]
    assert all(row["source"] for row in rows)
    assert all(row["why"] for row in table("lock_tools")["tools"])


def test_an_extension_under_another_name_is_seen_and_its_sources_are_built(make: Make) -> None:
    setup = "from setuptools import setup\nfrom torch.utils.cpp_extension import (\n"
    setup += "    CppExtension,\n    CUDAExtension,\n)\n"
    setup += "extension = CppExtension\nif True:\n    extension = CUDAExtension\n"
    setup += "setup(name='MyOps', ext_modules=[extension('MyOps', ['src/a.cu'])])\n"
    files = {
        "requirements.txt": "torch==2.1.2\n",
        "ops/setup.py": setup,
        "ops/src/a.cu": "",
        "train.py": "import MyOps\n",
    }
    found = {f.code: f for f in examine(make(files)).findings}
    assert (found["cuda-extension"].where, found["cuda-extension"].severity) == ("ops/setup.py:6,8", "error")
    assert "cuda-source" not in found


def test_targets_of_a_build_file_are_one_list(make: Make) -> None:
    setup = "from torch.utils.cpp_extension import CUDAExtension\nflags = []\n"
    setup += "".join(f"flags += ['-gencode', 'arch=compute_{n},code=sm_{n}']\n" for n in (75, 80, 90))
    found = examine(make({"requirements.txt": "torch==2.1.2\n", "ext/setup.py": setup})).findings
    (said,) = [f for f in found if f.code == "hard-coded-arch"]
    assert said.where == "ext/setup.py:3-5"
    assert said.text.startswith("only sm_75, sm_80, sm_90 machine code")


def test_old_names_of_the_standard_library_and_own_folders_are_no_packages(make: Make) -> None:
    files = {
        "train.py": "import cPickle, StringIO, urllib2, __builtin__, third_party.ops.knn, boxes, tqdm\n",
        "third_party/ops/knn/call.py": "",
        "utils/boxes.pyx": "",
    }
    found = {f.code: f for f in examine(make(files)).findings}
    assert found["no-manifest"].remedy.endswith("requirements.in: tqdm")
    assert found["import-only"].text == "tqdm is imported and named nowhere"
