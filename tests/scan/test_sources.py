"""GPU code in source form: what is seen, what is not, and that nothing makes the reader stumble."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.model.check import SourceFact
from repro.scan.source.archflags import flag_targets, list_targets
from repro.scan.source.codefiles import MAX_BYTES, code_files, is_read, plain_text
from repro.scan.source.sources import file_facts, scan_sources

DEPS = Path(__file__).parent.parent / "cases" / "deps"


def seen(text: str, name: str = "a.py") -> list[tuple[str, int]]:
    return [(f.kind, int(f.where.rpartition(":")[2])) for f in file_facts(name, text)]


def test_the_extension_of_a_real_report_is_seen_line_by_line() -> None:
    facts = scan_sources(DEPS / "cuda_extension_subfolder" / "project")
    assert [(f.kind, f.where, f.name, f.archs) for f in facts] == [
        ("build-needs-torch", "third_party/knn/setup.py:2", "", []),
        ("cuda-extension", "third_party/knn/setup.py:6", "knn_ops", []),
        ("hard-coded-arch", "third_party/knn/setup.py:7", "nvcc", ["sm_70"]),
        ("cuda-source", "third_party/knn/src/knn_kernel.cu:1", "", []),
    ]


@pytest.mark.parametrize("case", ["opencv_libgl", "submodule_editable_empty", "setup_py_only", "readme_only"])
def test_projects_without_gpu_code_have_no_facts(case: str) -> None:
    assert scan_sources(DEPS / case / "project") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from torch.utils.cpp_extension import load\nx = load('x', z)", [("jit-extension", 2)]),
        ("from torch.utils import cpp_extension as e\ne.load_inline('x', '')", [("jit-extension", 2)]),
        ("import torch.utils.cpp_extension\ntorch.utils.cpp_extension.load('x', [])", [("jit-extension", 2)]),
        ("import torch as t\n@t.compile\ndef f(): pass", [("torch-compile", 2)]),
        ("import torch\nmodel = torch.compile(model, mode='x')", [("torch-compile", 2)]),
        ("import triton\n@triton.jit\ndef k(): pass", [("triton", 2)]),
        ("from triton import jit\n@jit\ndef k(): pass", [("triton", 2)]),
        ("import cupy as cp\nk = cp.RawKernel('', 'k')", [("cupy", 2)]),
        ("from numba import cuda\n@cuda.jit('void()')\ndef k(): pass", [("numba-cuda", 2)]),
        ("from pycuda.compiler import SourceModule\nm = SourceModule('')", [("pycuda", 2)]),
        ("def f():\n  from deepspeed.ops.op_builder import FusedAdamBuilder\n  FusedAdamBuilder().load()",
         [("jit-extension", 3)]),
        ("from torch.utils.cpp_extension import *\nCUDAExtension('x', [])", [("cuda-extension", 2)]),
        ("import torch.utils.cpp_extension as c\next = c.CppExtension\nif cuda:\n    ext = c.CUDAExtension",
         [("cpp-extension", 2), ("cuda-extension", 4)]),
    ],
)  # fmt: skip
def test_names_count_as_the_imports_resolve_them(text: str, found: list[tuple[str, int]]) -> None:
    assert seen(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "# torch.utils.cpp_extension.load('x')\n",
        '"""Use @triton.jit; -gencode=arch=compute_70,code=sm_70."""\nimport torch, triton\n',
        "import torch\nprint('torch.compile is fast; try -arch=sm_70')\n",
        "import torch\nif hasattr(torch, 'compile'):\n    pass\n",
        "import json\ndata = json.load(open('x'))\n",
        "from pickle import load\nx = load(f)\n",
        "import re\np = re.compile('x')\n",
        "from torch.utils.cpp_extension import load, CUDAExtension\n",
        "import os\nlist = os.environ.get('TORCH_CUDA_ARCH_LIST', '7.0')\n",
        "raise RuntimeError('set TORCH_CUDA_ARCH_LIST=7.0 or -gencode=arch=compute_70,code=sm_70')\n",
        "parser.add_argument('--x', help='-arch=sm_70')\n",
    ],
)
def test_words_and_other_names_do_not_count(text: str) -> None:
    assert seen(text) == []


def test_targets_of_one_file_are_one_fact_at_the_first_place() -> None:
    text = (
        "import os, torch\nos.environ['TORCH_CUDA_ARCH_LIST'] = '7.0;Ampere'\nflags = [\n"
        "  '-gencode', 'arch=compute_70,code=sm_70',\n  '-gencode=arch=compute_80,code=compute_80',\n]\n"
    )
    facts = file_facts("x/setup.py", text)
    assert [(f.kind, f.where, f.name, f.archs) for f in facts] == [
        ("build-needs-torch", "x/setup.py:1", "", []),
        (
            "hard-coded-arch",
            "x/setup.py:2",
            "TORCH_CUDA_ARCH_LIST",
            ["sm_70", "sm_80", "sm_86", "compute_86"],
        ),
        ("hard-coded-arch", "x/setup.py:4", "nvcc", ["sm_70", "compute_80"]),
    ]


PYTHON_2 = """import torch
from torch.utils.cpp_extension import CUDAExtension, BuildExtension
print "building"  # CUDAExtension(
'''
CUDAExtension(docs)
'''
setup(ext_modules=[CUDAExtension('x', ['x.cu'],
      extra_compile_args={'nvcc': ['-arch=sm_60']})])
"""


def test_python_2_is_read_by_its_lines() -> None:
    facts = file_facts("setup.py", PYTHON_2)
    assert sorted((f.kind, f.where, tuple(f.archs)) for f in facts) == [
        ("build-needs-torch", "setup.py:1", ()),
        ("build-needs-torch", "setup.py:2", ()),
        ("cuda-extension", "setup.py:7", ()),
        ("hard-coded-arch", "setup.py:8", ("sm_60", "compute_60")),
    ]


@pytest.mark.parametrize(
    ("name", "line", "archs"),
    [
        ("Dockerfile", 'ENV TORCH_CUDA_ARCH_LIST="6.0 7.0+PTX"', ["sm_60", "sm_70", "compute_70"]),
        ("docker/Dockerfile.gpu", "ENV TORCH_CUDA_ARCH_LIST 7.5", ["sm_75"]),
        ("build.sh", "export TORCH_CUDA_ARCH_LIST=8.0  # cards", ["sm_80"]),
        ("build.sh", "TORCH_CUDA_ARCH_LIST='8.0;8.6' pip install .", ["sm_80", "sm_86"]),
        ("make.sh", "nvcc -c x.cu -arch=sm_52", ["sm_52", "compute_52"]),
        ("Makefile", "ARCH= -gencode arch=compute_61,code=[sm_61,compute_61]", ["sm_61", "compute_61"]),
        ("CMakeLists.txt", "set(CMAKE_CUDA_ARCHITECTURES 70;75-real;80-virtual)",
         ["sm_70", "compute_70", "sm_75", "compute_80"]),
        ("x.sh", "cmake -DCMAKE_CUDA_ARCHITECTURES=86 ..", ["sm_86", "compute_86"]),
    ],
)  # fmt: skip
def test_scripts_name_targets(name: str, line: str, archs: list[str]) -> None:
    (fact,) = file_facts(name, f"\n{line}\n")
    assert (fact.kind, fact.where, fact.archs) == ("hard-coded-arch", f"{name}:2", archs)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("build.sh", "# export TORCH_CUDA_ARCH_LIST=7.0"),
        ("build.sh", 'echo "set TORCH_CUDA_ARCH_LIST=7.0"'),
        ("build.sh", "export TORCH_CUDA_ARCH_LIST=${CARDS:-7.0}"),
        ("build.sh", "gcc -march=sm_70 x.c"),
        ("README.md", "export TORCH_CUDA_ARCH_LIST=7.0"),
    ],
)
def test_comments_and_other_files_name_none(name: str, line: str) -> None:
    assert file_facts(name, line) == []


def test_flags_follow_nvccs_manual() -> None:
    assert flag_targets("-gencode=arch=compute_90a,code=sm_90a") == ["sm_90a"]
    assert flag_targets("--gpu-architecture=compute_80") == ["compute_80"]
    assert flag_targets("-gencode arch=compute_{cc},code=sm_{cc}") == []
    assert list_targets("TORCH_CUDA_ARCH_LIST", "12.0a 9.0") == ["sm_90", "sm_120a"]
    assert list_targets("TORCH_CUDA_ARCH_LIST", "native") == []


def test_leftovers_are_told_by_folder() -> None:
    names = [
        "ops/build/temp.linux-x86_64-3.8/src/knn.o",
        "ops/build/temp.linux-x86_64-3.8/src/b.o",
        "ops/build/lib.linux-x86_64-3.8/knn.so",
        "lib/_C.cpython-38-x86_64-linux-gnu.so",
        "build/readme.txt",
        "src/a.o.txt",
    ]
    assert [(f.kind, f.where) for f in scan_sources((name, "") for name in names)] == [
        ("build-folder", "ops/build/temp.linux-x86_64-3.8"),
        ("build-folder", "ops/build/lib.linux-x86_64-3.8"),
        ("build-folder", "lib/_C.cpython-38-x86_64-linux-gnu.so"),
    ]


def test_a_build_that_asks_for_torch_is_seen() -> None:
    text = '[project]\nname = "x"\n[build-system]\nrequires = [\n  "setuptools",\n  "torch>=2.0",\n]\n'
    assert seen(text, "pyproject.toml") == [("build-needs-torch", 6)]
    assert seen('[build-system]\nrequires = ["torchvision"]\n', "pyproject.toml") == []
    assert seen("[build-system\n", "pyproject.toml") == []


def test_a_folder_is_read_within_bounds(tmp_path: Path) -> None:
    use = "import triton\n@triton.jit\ndef k(): pass\n"
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    for folder in ("venv", ".git", "site-packages", "src"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "k.py").write_text(use)
    (tmp_path / "big.py").write_text(use + "#" * MAX_BYTES)
    (tmp_path / "binary.py").write_bytes(use.encode() + b"\0")
    (tmp_path / "link.py").symlink_to(tmp_path / "src" / "k.py")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [f.where for f in scan_sources(tmp_path)] == ["src/k.py:2"]


def test_pairs_and_folder_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("\ufeffimport torch\r\ntorch.compile(f)\r\n".encode())
    (tmp_path / "k.cu").write_bytes(b"\xff\x00")
    assert scan_sources(tmp_path) == scan_sources(code_files(tmp_path))
    assert Counter(f.kind for f in scan_sources(tmp_path)) == {"torch-compile": 1, "cuda-source": 1}


NAMES = st.sampled_from(
    ["setup.py", "a.py", "Dockerfile", "x.sh", "Makefile", "CMakeLists.txt", "pyproject.toml", "k.cu",
     "b/build/lib.x/a.so"]
)  # fmt: skip
PIECES = st.sampled_from(
    ["import torch\n", "from torch.utils.cpp_extension import *\n", "CUDAExtension(", "TORCH_CUDA_ARCH_LIST",
     "'-gencode=arch=compute_70,code=sm_70'", "=7.0\n", "'''", "\n", "(", ")", "[", "@triton.jit", "\\", "\t",
     "def f():\n", "\0", "é", "\ud800"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=25).map("".join))


@given(st.lists(st.tuples(NAMES, TEXTS), max_size=4))
@settings(max_examples=400, deadline=None)
def test_no_text_makes_the_reader_stumble(files: list[tuple[str, str]]) -> None:
    for fact in scan_sources(files):
        assert isinstance(fact, SourceFact)
        assert fact.where
        assert len(fact.text) <= 120


@given(st.binary(max_size=200))
def test_any_bytes_become_a_text(data: bytes) -> None:
    scan_sources([("setup.py", plain_text(data))])


def test_deep_nesting_is_read_by_lines() -> None:
    deep = "import triton\nx = " + "(" * 5000 + ")" * 5000 + "\n@triton.jit\ndef f(): pass\n"
    assert seen(deep) == [("triton", 3)]
    added = "import triton\nx = " + "+".join(["1"] * 20000) + "\n@triton.jit\ndef f(): pass\n"
    assert ("triton", 3) in seen(added)


def test_scripts_that_build_releases_elsewhere_do_not_count(tmp_path: Path) -> None:
    line = 'export TORCH_CUDA_ARCH_LIST="3.5;5.0+PTX"\n'
    for name in (".github/workflows/cuda/env.sh", ".circleci/build.sh", "scripts/build.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(line)
    assert [fact.where for fact in scan_sources(tmp_path)] == ["scripts/build.sh:1"]
    assert not is_read(".github/workflows/cuda/env.sh")
