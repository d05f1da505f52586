"""The wheelhouse is judged by us, since pip says the same words for a missing and for an unfit wheel."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from repro.errors import ReproError
from repro.events import silent
from repro.lock import prove

pytestmark = pytest.mark.net


@pytest.fixture
def made(make: Callable[..., Any], index: Any, lock_of: Callable[..., Any]) -> Any:
    index.add("alpha", "1.0", requires=("beta",))
    index.add("beta", "1.0")
    return lock_of(make({"requirements.in": f"--index-url {index.url}\nalpha\n"})).lock


def refused(code: str, lock: Any, out: Path, place: Any) -> ReproError:
    with pytest.raises(ReproError) as caught:
        prove(lock, out, place, silent)
    assert caught.value.code == code, caught.value.document()
    return caught.value


def test_a_missing_wheel(made: Any, here: Any, tmp_path: Path) -> None:
    (tmp_path / "out" / "wheels" / made.wheels[0].file).unlink()
    assert made.wheels[0].file in refused("lock-wheel-missing", made, tmp_path / "out", here()).message


def test_a_damaged_wheel(made: Any, here: Any, tmp_path: Path) -> None:
    path = tmp_path / "out" / "wheels" / made.wheels[0].file
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data + b"x")
    problem = refused("lock-wheel-damaged", made, tmp_path / "out", here())
    assert any(made.wheels[0].sha256 in line for line in problem.needs)


def test_a_wheel_for_another_python(made: Any, here: Any, tmp_path: Path, wheel_file: Any) -> None:
    from repro.files import sha256_file

    path = wheel_file(tmp_path / "out" / "wheels", "beta", "1.0", tag="cp38-cp38-manylinux1_x86_64")
    other = msgspec.structs.replace(made.wheels[1], file=path.name, sha256=sha256_file(path))
    lock = msgspec.structs.replace(made, wheels=[made.wheels[0], other])
    assert path.name in refused("lock-wheel-unfit", lock, tmp_path / "out", here()).message


def test_a_dependency_that_is_not_locked(made: Any, here: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "wheels" / made.wheels[1].file).unlink()
    text = (out / "requirements.lock").read_text("utf-8")
    (out / "requirements.lock").write_text(text[: text.index("beta==")])
    lock = msgspec.structs.replace(made, wheels=made.wheels[:1])
    problem = refused("lock-not-closed", lock, out, here())
    assert any("beta" in line for line in problem.found)
