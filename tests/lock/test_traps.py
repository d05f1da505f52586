"""Requirements as they are met in the wild: what is said of them, where, and whether it may go on."""

from collections.abc import Callable

import pytest

from repro.errors import ReproError
from repro.lock import examine, read
from repro.model.project import Project

R = "requirements.txt"
TORCH = "torch==2.1.2\n"
JIT = "from torch.utils.cpp_extension import load\nm = load(name='m', sources=['m.cu'])\n"
# Files, the finding that must be there with its place, and whether it must stop.
FOUND = {
    "web page": ({R: TORCH + "https://git.example.invalid/a/b\n"}, "bad-line", f"{R}:2", True),
    "shell command": ({R: "pip install torch\n"}, "bad-line", f"{R}:1", True),
    "pip list": ({R: "Package Version\ntorch   2.1.2\n"}, "bad-line", f"{R}:1", True),
    "no-break space": ({R: "torch\u00a0==2.1.2\n"}, "bad-line", f"{R}:1", True),
    "option without value": ({R: TORCH + "-f\n"}, "bad-line", f"{R}:2", True),
    "scp address": ({R: TORCH + "git@git.example.invalid:a/b.git\n"}, "bad-line", f"{R}:2", True),
    "mercurial": ({R: TORCH + "hg+https://hg.example.invalid/z#egg=z\n"}, "vcs-unsupported", f"{R}:2", True),
    "git protocol": (
        {R: TORCH + "git+git://git.example.invalid/a/b.git@v1\n"},
        "vcs-protocol",
        f"{R}:2",
        False,
    ),
    "variable in a repository": (
        {R: TORCH + "git+https://${TOKEN}@git.example.invalid/a/b.git\n"},
        "env-variable",
        f"{R}:2",
        False,
    ),
    "two indexes": (
        {R: "-i https://a.example.invalid/simple\n-i https://b.example.invalid/simple\n" + TORCH},
        "index-replaced",
        f"{R}:2",
        False,
    ),
    "plain http": (
        {R: "-i http://a.example.invalid/simple\n" + TORCH},
        "index-not-encrypted",
        f"{R}:1",
        False,
    ),
    "option not obeyed": ({R: TORCH + "--no-binary=pillow\n"}, "option-not-obeyed", f"{R}:2", False),
    "wheel of another Python": (
        {R: "https://a.example.invalid/torch-1.9.0-cp37-cp37m-linux_x86_64.whl\n"},
        "no-wheel-for-python",
        f"{R}:1",
        True,
    ),
    "address of a repository's archive": (
        {R: TORCH + "https://git.example.invalid/a/archive/main.zip\n"},
        "direct-url",
        f"{R}:2",
        False,
    ),
    "no such release": ({R: "torch==1.14.0\n"}, "no-such-release", f"{R}:1", True),
    "partner of a range": ({R: "torch~=1.13.0\ntorchvision==0.15.1\n"}, "conflict", f"{R}:1-2", True),
    "torch unnamed": ({R: "torchvision==0.9.1\n"}, "torch-unnamed", f"{R}:1", False),
    "scatter of another torch": (
        {R: "torch==1.13.1+cu117\ntorch-scatter==2.1.0+pt112cu116\n"},
        "conflict",
        f"{R}:2",
        True,
    ),
    "libraries of another CUDA": (
        {R: TORCH + "nvidia-cublas-cu11==11.10.3.66\n"},
        "nvidia-mismatch",
        f"{R}:2",
        False,
    ),
    "model of spaCy": ({R: TORCH + "en-core-web-sm==3.4.1\n"}, "not-on-index", f"{R}:2", True),
    "apex": ({R: TORCH + "apex==0.1\n"}, "not-on-index", f"{R}:2", True),
    "extension from a repository": (
        {R: TORCH + "git+https://git.example.invalid/x/detectron2.git@v0.6\n"},
        "build-needs-torch",
        f"{R}:2",
        True,
    ),
    "cudatoolkit for pip": ({R: TORCH + "cudatoolkit==11.3\n"}, "conda-name", f"{R}:2", False),
    "two cv2": (
        {R: TORCH + "opencv-python==4.8.0\nopencv-python-headless\n"},
        "same-module",
        f"{R}:2-3",
        False,
    ),
    "old metadata by range": ({R: TORCH + "omegaconf<2.1\n"}, "invalid-metadata", f"{R}:2", False),
    "two entries in one": (
        {"environment.yml": "dependencies:\n  - python=3.9\n   - torch\n"},
        "bad-line",
        "environment.yml:1",
        True,
    ),
    "conda alternatives": (
        {"environment.yml": "dependencies:\n  - pytorch=1.10|1.11\n"},
        "bad-line",
        "environment.yml:2",
        True,
    ),
    "pip section as text": (
        {"environment.yml": "dependencies:\n  - pip: req.txt\n"},
        "bad-line",
        "environment.yml:2",
        True,
    ),
    "missing file of a conda file": (
        {"environment.yml": "dependencies:\n  - pip:\n    - -r req.txt\n"},
        "bad-line",
        "environment.yml:3",
        True,
    ),
    "missing file of setup.cfg": (
        {"setup.cfg": "[options]\ninstall_requires = file: req.txt\n"},
        "missing-include",
        "setup.cfg:2",
        True,
    ),
    "computed dependencies": (
        {"pyproject.toml": "[project]\nname='x'\ndynamic=['dependencies']\n"},
        "code-at-parse",
        "pyproject.toml:3",
        True,
    ),
    "dependencies as text": (
        {"pyproject.toml": "[project]\nname='x'\ndependencies='torch'\n"},
        "bad-line",
        "pyproject.toml:3",
        True,
    ),
    "login in a table": (
        {
            "pyproject.toml": "[project]\nname='x'\ndependencies=['torch']\n"
            "[[tool.pdm.source]]\nurl='https://u:p4ssword@a.example.invalid'\n"
        },
        "credentials",
        "pyproject.toml:5",
        True,
    ),
    "nothing asked for": ({R: "# later\n", "train.py": "import torch\n"}, "no-dependencies", R, True),
    "import without a name": (
        {R: TORCH, "train.py": "import torch\nimport einops\n"},
        "import-only",
        "train.py:2",
        False,
    ),
    "install command": (
        {"Dockerfile": "FROM x\nRUN pip install torch==1.8.1\n"},
        "install-hint",
        "Dockerfile:2",
        True,
    ),
    "other file": ({R: TORCH, "requirements-gpu.txt": "torch==2.1.2+cu118\n"}, "other-manifest", R, False),
    "Python 2 asked for": (
        {R: "torch==1.4.0\n", ".python-version": "2.7.18\n"},
        "python-unsupported",
        ".python-version",
        True,
    ),
    "Python 2 code": ({R: TORCH, "old.py": "print 'x'\n"}, "not-python3", "old.py:1", False),
    "range without a wheel": (
        {R: TORCH, "setup.py": "from setuptools import setup\nsetup(python_requires='<3.8')\n"},
        "no-wheel-for-python",
        f"{R}:1",
        True,
    ),
    "compiled when it runs": (
        {R: TORCH, "ops.py": JIT},
        "cuda-jit",
        "ops.py:2",
        True,
    ),
    "kernels that nothing builds": ({R: TORCH, "lib/nms.cu": "//\n"}, "cuda-source", "lib/nms.cu", False),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_trap_is_named_at_its_place(name: str, make: Callable[..., Project]) -> None:
    files, code, where, stops = FOUND[name]
    project = make(files)
    findings = examine(project).findings
    assert [f for f in findings if f.code == code and f.where == where], [(f.code, f.where) for f in findings]
    if stops:
        with pytest.raises(ReproError, match="cannot be locked"):
            read(project)
    else:
        read(project)


ASKED = {
    "conda's name keeps its version": ("pytorch==1.8.1\n", ["torch==1.8.1"]),
    "the placeholder's own version says nothing": ("pytorch==1.0.2\n", ["torch"]),
    "import name": ("skimage==0.19.3\n", ["scikit-image==0.19.3"]),
    "three parts of four": ("opencv-python==4.5.1\n", ["opencv-python==4.5.1.*"]),
    "version in a path of another machine": (
        "torch @ file:///C:/x/torch-1.9.0%2Bcu111-cp38-cp38-win_amd64.whl\n",
        ["torch==1.9.0+cu111"],
    ),
    "standard library": ("os\njson\ntorch==2.1.2\n", ["torch==2.1.2"]),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_for_after_all(name: str, make: Callable[..., Project]) -> None:
    text, wanted = ASKED[name]
    assert [r.text for r in read(make({R: text})).requirements] == wanted


def test_a_named_folder_stays_a_folder(make: Callable[..., Project]) -> None:
    setup = "from setuptools import setup\nsetup(name='shapes')\n"
    got = read(make({R: "shapes @ ./lib\nother @ file:lib\n", "lib/setup.py": setup}))
    assert [(r.name, r.path) for r in got.requirements] == [("shapes", "lib"), ("other", "lib")]


def test_markers_of_other_pythons_do_not_clash(make: Callable[..., Project]) -> None:
    lines = "torch<1.8; python_version < '3.9'\ntorch>=2.0; python_version >= '3.9'\n"
    assert not [f for f in read(make({R: lines}, python="3.8")).findings if f.code == "conflict"]


def test_a_chosen_base_image_may_hold_the_compiler(make: Callable[..., Project]) -> None:
    files = {
        R: TORCH,
        "ops.py": "from torch.utils.cpp_extension import load\nm = load(name='m', sources=['m.cu'])\n",
    }
    read(make(files, base="lab/devel:12"))


def test_an_extension_that_is_required_as_a_wheel_is_no_error(make: Callable[..., Project]) -> None:
    setup = "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n"
    setup += "setup(name='my_ops', ext_modules=[CUDAExtension('my_ops', ['a.cu'])])\n"
    files = {"setup.py": setup, "train.py": "import my_ops\n"}
    with pytest.raises(ReproError):
        read(make({**files, R: TORCH}))
    read(make({**files, R: TORCH + "--find-links wheels\nmy_ops==0.1\n"}))
