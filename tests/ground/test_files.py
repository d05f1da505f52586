import errno
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro import files, tarball
from repro.errors import ReproError


def test_write_whole_replaces_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "a.json"
    files.write_whole(target, b"one")
    files.write_whole(target, b"two")
    assert target.read_bytes() == b"two"
    assert [p.name for p in target.parent.iterdir()] == ["a.json"]


def test_write_whole_keeps_the_old_content_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.json"
    files.write_whole(target, b"old")

    def full(_fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReproError) as caught:
        files.write_whole(target, b"new")
    assert caught.value.code == "disk-full"
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_folder_aside_leaves_nothing_unless_it_became_something(tmp_path: Path) -> None:
    with files.folder_aside(tmp_path, "x") as aside:
        (aside.path / "f").write_text("1")
    assert list(tmp_path.iterdir()) == []
    with files.folder_aside(tmp_path, "x") as aside:
        (aside.path / "f").write_text("1")
        aside.become(tmp_path / "whole")
    assert (tmp_path / "whole" / "f").read_text() == "1"
    assert [p.name for p in tmp_path.iterdir()] == ["whole"]


def test_folder_aside_clears_what_a_killed_process_left(tmp_path: Path) -> None:
    program = (
        "import os, sys, signal; from pathlib import Path; from repro import files\n"
        "with files.folder_aside(Path(sys.argv[1]), 'x') as a:\n"
        "    (a.path / 'half').write_text('h'); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert [p.name.startswith(".part-x-") for p in tmp_path.iterdir()] == [True]
    with files.folder_aside(tmp_path, "x") as aside:
        others = [p for p in tmp_path.iterdir() if p != aside.path]
    assert others == []


def _tar(members: list[tarball.Member]) -> bytes:
    out = io.BytesIO()
    tarball.write(out, members)
    return out.getvalue()


_NAMES = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=120
).filter(lambda name: name not in (".", ".."))


@given(st.dictionaries(_NAMES, st.binary(max_size=600), max_size=8), st.randoms())
def test_a_tar_is_the_same_bytes_for_any_order(content: dict[str, bytes], random) -> None:  # type: ignore[no-untyped-def]
    members = [tarball.Member(f"code/{name}", data) for name, data in content.items()]
    first = _tar(members)
    random.shuffle(members)
    assert _tar(members) == first
    with tarfile.open(fileobj=io.BytesIO(first), encoding="utf-8", errors="surrogateescape") as tar:
        found = {m.name.removeprefix("code/"): tar.extractfile(m).read() for m in tar if m.isfile()}  # type: ignore[union-attr]
    assert found == content


def test_a_tar_folds_modes_owners_and_times(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("x")
    (tmp_path / "run.sh").chmod(0o700)
    (tmp_path / "plain").write_text("y")
    (tmp_path / "plain").chmod(0o600)
    (tmp_path / "link").symlink_to("plain")
    data = _tar(tarball.folder_members(tmp_path, "top"))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        rows = {m.name: (m.mode, m.uid, m.uname, m.mtime, m.linkname) for m in tar}
    assert rows == {
        "top": (0o755, 0, "", tarball.EPOCH, ""),
        "top/link": (0o777, 0, "", tarball.EPOCH, "plain"),
        "top/plain": (0o644, 0, "", tarball.EPOCH, ""),
        "top/run.sh": (0o755, 0, "", tarball.EPOCH, ""),
    }
