"""Libraries that nothing provides, as far as search paths, packages and the base image go."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.check.finding import rule_rows
from repro.check.rules.syslibs import system_libraries
from repro.model.binary import BinaryFacts, ElfFacts
from repro.model.check import Finding, Stack, Target
from repro.tables.read import table
from repro.tables.systemlibs import debian_package

SET = msgspec.structs.replace


def elf(
    path: str, *needed: str, owner: str = "", soname: str = "", runpath: tuple[str, ...] = ()
) -> BinaryFacts:
    facts = ElfFacts(machine="x86_64", soname=soname, needed=list(needed), runpath=list(runpath))
    return BinaryFacts(path=path, bytes=1, owner=owner or path.split("/")[0], elf=facts)


def judged(*binaries: BinaryFacts, **more: object) -> dict[str, Finding]:
    stack = SET(Stack(origin="lock", binaries=list(binaries)), **more)
    return {found.rule: found for found in system_libraries(stack, Target())}


# As in the wheel of opencv-python 4.8.1.78.
CORE = "libQt5Core-1.so.5.15.0"
CV2 = elf(
    "cv2/cv2.abi3.so",
    *(CORE, "libGL.so.1", "libz.so.1", "libstdc++.so.6", "libc.so.6"),
    owner="opencv-python",
    runpath=("$ORIGIN/../opencv_python.libs",),
)
QT = elf(
    f"opencv_python.libs/{CORE}",
    *("libgthread-2.0.so.0", "libglib-2.0.so.0", "libpthread.so.0"),
    owner="opencv-python",
    soname=CORE,
    runpath=("$ORIGIN",),
)
PLUGIN = elf(
    "cv2/qt/plugins/platforms/libqxcb.so",
    *(CORE, "libSM.so.6"),
    owner="opencv-python",
    runpath=("$ORIGIN/../../../../opencv_python.libs",),
)


def test_the_case_of_a_window_library() -> None:
    found = judged(CV2, QT, PLUGIN)
    assert set(found) == {"system-library", "system-library-optional"}
    needed = found["system-library"]
    libraries = "libGL.so.1, libglib-2.0.so.0, libgthread-2.0.so.0"
    assert needed.found == f"opencv-python needs {libraries}, which a slim Debian image lacks"
    assert needed.fix == [
        'repro.toml, below [dependencies]: system = ["libgl1", "libglib2.0-0"]',
        "or opencv-python-headless, where no window is opened",
    ]
    assert "libSM.so.6" in found["system-library-optional"].found
    assert rule_rows()["system-library"].outcome == "risky"
    assert rule_rows()["system-library-optional"].outcome == "runs"


def test_added_packages_provide_what_they_hold_and_bring() -> None:
    assert "system-library" not in judged(CV2, QT, system_packages=["libgl1", "libglib2.0-0"])
    needs = judged(CV2, QT, system_packages=["libglib2.0-0"])["system-library"]
    assert needs.needed == "Debian package libgl1"
    assert judged(elf("x/_C.so", "libX11.so.6"), system_packages=["libgl1=1.6"]) == {}


def test_an_image_that_was_looked_into_says_itself() -> None:
    here = [
        "libGL.so.1",
        "libgthread-2.0.so.0",
        "libglib-2.0.so.0",
        "libc.so.6",
        "libpthread.so.0",
        "libstdc++.so.6",
    ]
    found = judged(CV2, QT, libraries=here)
    assert found["system-library-unknown"].found.startswith("opencv-python needs libz.so.1")
    assert judged(CV2, QT, libraries=[*here, "libz.so.1"]) == {}


@pytest.mark.parametrize(
    "library",
    ["libcuda.so.1", "libnvidia-ml.so.1", "libc.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6",
     "libcudart.so.11.0", "libtorch_cuda_cu.so", "libc10.so", "libcudnn.so.8", "libpython3.10.so.1.0"],
)  # fmt: skip
def test_what_the_base_the_driver_and_torch_bring_is_not_missed(library: str) -> None:
    assert judged(elf("x/_C.so", library)) == {}


def test_other_makers_files_are_left_out() -> None:
    assert judged(elf("x/_C.so", "libamdhip64.so.6", "libodd.so.3")) == {}


def test_a_library_without_a_known_package_is_said_to_be_unknown() -> None:
    found = judged(elf("x/_C.so", "libodd.so.3"))
    assert found["system-library-unknown"].severity == "unknown"
    assert found["system-library-unknown"].fix[0].startswith("apt-file search libodd.so.3")


def test_the_loader_finds_by_search_path() -> None:
    bundled = elf("other/libGL.so.1", soname="libGL.so.1")
    module = elf("x/_C.cpython-310-x86_64-linux-gnu.so", "libGL.so.1")
    assert set(judged(module, bundled)) == {"system-library"}
    reached = SET(module, elf=SET(module.elf, runpath=["/lib:${ORIGIN}/../other"]))
    assert judged(reached, bundled) == {}
    # An RPATH of the module holds for what it asks for.
    middle = elf("x/lib/libmiddle.so", "libGL.so.1", soname="libmiddle.so")
    outer = elf("x/_C.so", "libmiddle.so", runpath=("$ORIGIN/lib", "$ORIGIN/../other"))
    assert "system-library" not in judged(outer, middle, bundled)


def test_a_library_that_only_packages_have_counts_wherever_it_lies() -> None:
    assert (
        judged(elf("x/_C.so", "libarrow.so.1400"), elf("pyarrow/libarrow.so.1400", soname="libarrow.so.1400"))
        == {}
    )


def test_what_torch_has_loaded_serves_files_linked_with_it() -> None:
    """torchaudio 2.9.1 asks for libgomp.so.1: torch 2.9.1 has it by that name, 1.13.1 by one of its own."""
    audio = elf("torchaudio/_torchaudio.so", "libtorch.so", "libgomp.so.1")
    torch = elf("torch/lib/libtorch.so", soname="libtorch.so")
    renamed = elf("torch/lib/libgomp-a34b3233.so.1", soname="libgomp-a34b3233.so.1")
    assert not judged(audio, torch, elf("torch/lib/libgomp.so.1", soname="libgomp.so.1"))
    assert set(judged(audio, torch, renamed)) == {"system-library"}
    stranger = elf("other/_C.so", "libgomp.so.1")
    assert set(judged(stranger, elf("torch/lib/libgomp.so.1"))) == {"system-library"}


def test_optional_files_do_not_stop_anything() -> None:
    media = elf("torchaudio/lib/_torchaudio_ffmpeg.so", "libavcodec.so.58", owner="torchaudio")
    assert set(judged(media)) == {"system-library-optional"}


def test_another_system_is_not_judged() -> None:
    assert judged(CV2, QT, system="windows") == {}


def test_the_tables_agree_with_the_locks_own() -> None:
    """What the lock adds for a package by name is what its files are found to need."""
    row = table("package_names")["needs_system"]["opencv-python"]
    named = judged(CV2, QT)["system-library"]
    assert re.findall(r'"([\w.-]+)"', named.fix[0]) == row["debian"]


def test_the_table_is_sound() -> None:
    tables = table("system_libraries")
    packages = set(tables["debian"]["libraries"].values())
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name) for name in packages)
    brought = {name for names in tables["brings"]["packages"].values() for name in names}
    assert brought <= packages
    assert debian_package("libGL.so.1") == "libgl1"
    assert debian_package("libodd.so.3") == ""


LIBRARIES = st.sampled_from(["libGL.so.1", "libodd.so.1", "libc.so.6", "liba.so", "libb.so", "libSM.so.6"])
PATHS = st.sampled_from(["x/_C.so", "x/liba.so", "y/libb.so", "y/m.cpython-310.so", "z.libs/liba.so"])
RUNPATHS = st.sampled_from(
    ["$ORIGIN", "$ORIGIN/../y", "${ORIGIN}/../z.libs", "/usr/lib", "", "../..", "$ORIGIN/../../.."]
)
FILES = st.builds(
    lambda path, needed, runpath: elf(path, *needed, runpath=tuple(runpath)),
    PATHS, st.lists(LIBRARIES, max_size=3), st.lists(RUNPATHS, max_size=2),
)  # fmt: skip


@given(st.lists(FILES, max_size=6))
def test_more_packages_never_make_more_missing(files: list[BinaryFacts]) -> None:
    """Loops of libraries end, and what is added takes findings away."""

    def lacking(packages: list[str]) -> set[str]:
        stack = Stack(origin="lock", binaries=files, system_packages=packages)
        told = [f for f in system_libraries(stack, Target()) if f.rule == "system-library"]
        return {name for f in told for name in re.findall(r"lib\w+\.so\.\d", f.found)}

    assert lacking(["libgl1", "libsm6"]) <= lacking([])
    assert lacking(["libgl1", "libsm6"]) == set()
