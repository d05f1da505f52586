"""What the try-out of a new image says, and what becomes of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from repro.errors import ReproError
from repro.image import import_probe
from repro.image.imports import debian_package, explain


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libGL.so.1", "libgl1"),
        ("libgthread-2.0.so.0", "libglib2.0-0"),
        ("libsndfile.so.1", "libsndfile1"),
        ("libx.so", ""),
    ],
)
def test_libraries_have_packages(library: str, package: str) -> None:
    assert debian_package(library) == package


def test_a_missing_library_is_an_error() -> None:
    said = "importing cv2\nfailed cv2\tImportError\tlibGL.so.1: cannot open shared object file: gone\ndone\n"
    with pytest.raises(ReproError) as caught:
        explain(0, said)
    assert caught.value.code == "image-import-failed"
    assert "libgl1" in caught.value.tries[0]
    assert "headless" in caught.value.tries[1]


def test_an_unknown_library_is_named() -> None:
    with pytest.raises(ReproError) as caught:
        explain(0, "failed x\tImportError\tlibodd.so.3: cannot open shared object file: gone\ndone\n")
    assert "libodd.so.3" in caught.value.message
    assert "apt-file search libodd.so.3" in caught.value.tries[0]


def test_a_crash_names_the_package() -> None:
    with pytest.raises(ReproError) as caught:
        explain(139, "importing numpy\nimporting torch\n")
    assert "import torch" in caught.value.message


def test_torch_must_load_and_others_may_fail() -> None:
    assert explain(0, "failed odd\tRuntimeError\tneeds a card\ndone\n") == [
        "`import odd` fails in the image: RuntimeError: needs a card"
    ]
    with pytest.raises(ReproError):
        explain(0, "failed torch\tOSError\tbad\ndone\n")


def test_the_probe_tells_good_from_bad(tmp_path: Path) -> None:
    for name, code in (("good", ""), ("bad", "raise ValueError('two\\nlines')")):
        (tmp_path / f"{name}.py").write_text(code)
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "top_level.txt").write_text(f"{name}\n")
    code = f"""
import sys, sysconfig
sys.path.insert(0, {str(tmp_path)!r})
sysconfig.get_paths = lambda: {{"platlib": {str(tmp_path)!r}}}
sys.argv = ["x", "good", "bad", "absent"]
exec(compile(open({import_probe.__file__!r}).read(), "probe", "exec"))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        "importing good",
        "importing bad",
        "failed bad\tValueError\ttwo lines",
        "done",
    ]


def test_modules_are_found_without_top_level(tmp_path: Path) -> None:
    info = tmp_path / "My_Pkg-1.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("my_pkg/__init__.py,,\nmy_pkg/sub/__init__.py,,\n_hidden/__init__.py,,\n")
    assert import_probe.modules_of(tmp_path, "my-pkg") == ["my_pkg"]
