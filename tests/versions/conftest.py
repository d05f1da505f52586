"""Old and new torch in containers: the small CPU builds that come with four releases of Debian."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from repro.files import alone

ROOT = Path(__file__).resolve().parent.parent.parent
# Debian's name for a release, and the torch in it (`sid` moves on: whatever is newest).
SUITES = {"bullseye": "1.7", "bookworm": "1.13", "trixie": "2.6", "sid": "2."}
PACKAGES = "python3,python3-torch,python3-numpy"


def held(image: str) -> bool:
    return (
        subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode
        == 0
    )


def make(suite: str, image: str, folder: Path) -> None:
    """Make an image of a Debian release with its torch, without any tool of the project's own."""
    tar = folder / f"{suite}.tar"
    # A mirror of sid may lag: an index past its date is old, and still signed.
    lagging = '--aptopt=Acquire::Check-Valid-Until "false"'
    words = ["mmdebstrap", "--quiet", "--variant=minbase", lagging, f"--include={PACKAGES}", suite, str(tar)]
    subprocess.run(words, check=True, capture_output=True, timeout=900)
    subprocess.run(["docker", "import", str(tar), image], check=True, capture_output=True, timeout=600)
    tar.unlink()


@pytest.fixture(scope="module", params=sorted(SUITES))
def suite(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Image of a Debian release, made once a machine and kept, and the start of its torch's version."""
    name = request.param
    image = f"repro-torch:{name}"
    with alone(Path(tempfile.gettempdir()) / f"repro-test-{name}"):
        if not held(image):
            make(name, image, tmp_path_factory.mktemp(name))
    return image, SUITES[name]
