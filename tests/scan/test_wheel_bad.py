"""Wheels that are cut, made to harm, or not wheels: each says what it is, and where."""

import os
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.errors import ReproError
from repro.model.binary import BinaryFacts
from repro.scan.package.wheel import scan_wheel

from .wheels import EXTENSION, dist_info, fat, noise, plain, wheel

LIBRARY = "ext/libextension.so"


def refusal(path: Path) -> str:
    with pytest.raises(ReproError) as problem:
        scan_wheel(path, path.parent / "cache")
    assert problem.value.code == "wheel-unreadable"
    assert problem.value.exit_status == 3
    assert problem.value.tries
    assert not (path.parent / "cache").exists()
    return problem.value.message


def scanned(path: Path) -> dict[str, BinaryFacts]:
    return {binary.path: binary for binary in scan_wheel(path, path.parent / "cache").binaries}


def made(folder: Path, content: bytes) -> Path:
    path = folder / "x-1-py3-none-any.whl"
    path.write_bytes(content)
    return path


def test_a_truncated_wheel(tmp_path: Path) -> None:
    path = wheel(tmp_path, "ext", "1", EXTENSION)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    assert "is cut or damaged: the directory that ends a zip archive is not in its" in refusal(path)


def test_no_wheel_at_all(tmp_path: Path) -> None:
    assert "is no wheel: it starts with b'<html>" in refusal(made(tmp_path, b"<html>Please log in</html>"))


def test_an_empty_file(tmp_path: Path) -> None:
    assert "is empty (0 bytes)" in refusal(made(tmp_path, b""))


def test_a_missing_file(tmp_path: Path) -> None:
    assert "cannot be opened: No such file" in refusal(tmp_path / "a-1-py3-none-any.whl")


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.whl").mkdir()
    assert "is no regular file" in refusal(tmp_path / "a.whl")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.whl")
    assert "is no regular file" in refusal(tmp_path / "a.whl")


def test_a_file_that_this_user_may_not_read(tmp_path: Path) -> None:
    path = wheel(tmp_path, "ext", "1", EXTENSION)
    path.chmod(0)
    if os.access(path, os.R_OK):  # root may read anything: let the system refuse it by a link in a circle
        path.unlink()
        path.symlink_to(path)
        assert "cannot be opened: Too many levels" in refusal(path)
    else:
        assert "cannot be opened: Permission denied" in refusal(path)


def test_members_that_overlap(tmp_path: Path) -> None:
    """One compressed block that many entries of the directory share: a quick way to fill a disk."""
    path = wheel(tmp_path, "ext", "1", {f"a{n}.so": noise(20000) for n in range(3)})
    whole = bytearray(path.read_bytes())
    end = whole.index(b"PK\x05\x06")
    count, size, start = struct.unpack_from("<HII", whole, end + 10)
    directory = bytes(whole[start : start + size])
    tail = bytes(whole[end:])
    bomb = whole[:start] + directory * 4 + tail
    struct.pack_into("<HHII", bomb, len(bomb) - len(tail) + 8, count * 4, count * 4, size * 4, start)
    path.write_bytes(bomb)
    assert "has members that overlap" in refusal(path)


def test_a_wheel_that_is_said_to_inflate_without_end(tmp_path: Path) -> None:
    path = wheel(tmp_path, "ext", "1", EXTENSION)
    directory(path, LIBRARY, 24, "<I", 0xFFFFFFF0)
    assert "is said to inflate from" in refusal(path)


def test_a_directory_of_absurd_size(tmp_path: Path) -> None:
    path = wheel(
        tmp_path, "ext", "1", {f"a/{n:07}" + "x" * 200: b"" for n in range(40000)}, zipfile.ZIP_STORED
    )
    assert "has a damaged directory: its directory is said to take" in refusal(path)


def test_a_damaged_metadata(tmp_path: Path) -> None:
    path = wheel(tmp_path, "ext", "1", EXTENSION)
    directory(path, "ext-1.dist-info/METADATA", 10, "<H", 12)
    assert "has a damaged `ext-1.dist-info/METADATA`: compressed by method 12" in refusal(path)


def directory(path: Path, member: str, field: int, form: str, value: int) -> None:
    """Change a field of a member's entry in the directory; they lie in the order of the members."""
    whole = bytearray(path.read_bytes())
    entry = whole.index(b"PK\x01\x02")
    while whole[entry + 46 : entry + 46 + len(member)] != member.encode():
        entry = whole.index(b"PK\x01\x02", entry + 4)
    struct.pack_into(form, whole, entry + field, value)
    path.write_bytes(whole)


@pytest.mark.parametrize(
    ("field", "form", "value", "says"),
    [
        (8, "<H", 1, "encrypted"),
        (10, "<H", 14, "compressed by method 14"),
        (16, "<I", 0x1234, "does not match its checksum (CRC-32 "),
        (20, "<I", 400, "cut at byte "),
        (24, "<I", 3000, "content goes on after the 3000 bytes"),
        (24, "<I", 5000, "cut at byte 3488 of 5000"),
        (24, "<I", 500 << 20, "no library is that empty, so it is not unpacked (zip bomb)"),
        (42, "<I", 7, "the directory points to byte 7, where no member begins"),
    ],
)
def test_a_member_that_is_not_what_the_directory_says(
    field: int, form: str, value: int, says: str, tmp_path: Path
) -> None:
    path = wheel(tmp_path, "ext", "1", EXTENSION)
    directory(path, LIBRARY, field, form, value)
    found = scanned(path)
    assert says in found[LIBRARY].problems[0]
    assert (found[LIBRARY].groups, found[LIBRARY].elf) == ([], None)
    assert found["ext/part.so"].problems == []  # the other one is read


def test_a_stored_member_with_two_sizes(tmp_path: Path) -> None:
    path = wheel(tmp_path, "ext", "1", EXTENSION, zipfile.ZIP_STORED)
    directory(path, LIBRARY, 24, "<I", 5000)
    assert "stored, but with two sizes: 3488 and 5000" in scanned(path)[LIBRARY].problems[0]


def test_a_bomb_within_its_claim_is_not_unpacked(tmp_path: Path) -> None:
    """300 MB of zeros after an ELF header: honest sizes, and no library."""
    path = tmp_path / "bomb-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in dist_info("bomb", "1").items():
            archive.writestr(name, data)
        with archive.open("bomb/_C.so", "w") as member:
            member.write(plain("old.so"))
            for _ in range(300):
                member.write(bytes(1 << 20))
    (found,) = scanned(path).values()
    assert "no library is that empty" in found.problems[0]


def test_damaged_compressed_data(tmp_path: Path) -> None:
    path = wheel(tmp_path, "ext", "1", {LIBRARY: plain("old.so") + noise(100000)})
    whole = bytearray(path.read_bytes())
    whole[40000:40100] = bytes(100)
    path.write_bytes(whole)
    problem = scanned(path)[LIBRARY].problems[0]
    assert problem.startswith(("damaged after byte", "content does not match", "cut at byte"))


def test_two_members_of_one_name(tmp_path: Path) -> None:
    path = wheel(tmp_path, "ext", "1", EXTENSION)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(LIBRARY, fat("two_tu.so"))
    found = [b for b in scan_wheel(path, tmp_path / "cache").binaries if b.path == LIBRARY]
    assert ["2 members have this name" in binary.problems[0] for binary in found] == [True, True]


THIRTY_TWO = b"\x7fELF\x01\x01\x01" + bytes(57)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"/* GNU ld script */ INPUT(libc.so.6)", "is no ELF file: it starts with 2f 2a 20 47"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is no ELF file: it starts with 76 65 72 73"),
        (b"", "is empty"),
        (THIRTY_TWO, "is a 32-bit ELF file"),
        (b"\x7fELF\x02\x02\x01" + bytes(57), "is a big-endian ELF file"),
        (b"\x7fELF\x02\x01", "cut at byte 6"),
    ],
)
def test_a_shared_object_by_name_alone(data: bytes, says: str, tmp_path: Path) -> None:
    path = wheel(tmp_path, "ext", "1", {"ext/_C.so": data, "ext/good.so": plain("old.so")})
    found = scanned(path)
    assert says in found["ext/_C.so"].problems[0]
    assert found["ext/good.so"].problems == []


def test_a_library_that_was_cut_before_it_was_packed(tmp_path: Path) -> None:
    found = scanned(wheel(tmp_path, "ext", "1", {"ext/_C.so": fat("two_tu.so")[:20000]}))
    assert any("cut at byte 20000" in problem for problem in found["ext/_C.so"].problems)


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_wheels_raise_this_tools_own_error_alone(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "mutated"
    folder.mkdir(exist_ok=True)
    path = wheel(folder, "ext", "1", EXTENSION | {"ext/x.so": fat("two_tu.so")})
    whole = bytearray(path.read_bytes())
    start = whole.index(b"PK\x01\x02") if data.draw(st.booleans()) else 0
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(start, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    path.write_bytes(whole[: data.draw(st.integers(len(whole) // 2, len(whole)))])
    assert outcome(path, f"{zlib.crc32(whole):064x}") in ("read", "wheel-unreadable")


def outcome(path: Path, sha256: str) -> str:
    try:
        scan_wheel(path, path.parent / "cache", sha256=sha256)
    except ReproError as problem:
        return problem.code
    return "read"
