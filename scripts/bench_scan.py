"""Scan real wheels, hold the counts against the vendor's listings, and time both against plain tools.

    python scripts/bench_scan.py [--folder FOLDER] [--cuobjdump PROGRAM] [--fetch-cuobjdump]

Wheels are kept in the folder for the next time. `cuobjdump` is a yardstick only: one that is on PATH, one
that is named, or the two that --fetch-cuobjdump takes out of wheels (its vendor's licence applies to you).
Exit code 1 when any count differs. Ratios are of figures taken in turns in one run, so that they hold on a
busy machine; the times themselves do not.
"""

import argparse
import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import msgspec
from bench_measure import ROUNDS, Cost, cost, download, fetched_tools, inflate, least, listed, walked

from repro.model.binary import BinaryFacts, WheelFacts
from repro.paths import cache
from repro.scan.package.wheel import scan_wheel

ROOT = Path(__file__).resolve().parent.parent
TRUTH = ROOT / "tests" / "fixtures" / "fatbin_truth.json"
WHEELS = (
    ("torch==1.13.1", "3.10"),  # CUDA 11.7
    ("torch==2.9.1", "3.11"),  # CUDA 12.8
    ("torchvision==0.14.1", "3.10"),
    ("xformers==0.0.16", "3.10"),
    ("bitsandbytes==0.50.2", "3.10"),  # CUDA 11.8 to 13.2
)
SECTIONS = {"exec": "nv_fatbin", "reloc": "nv_relfatbin"}
MB = 1e6


def differences(facts: BinaryFacts | None, truth: dict[str, Any], *, data: bool) -> list[str]:
    """Where one file is not as the vendor's tool lists it; code in data sections if it was searched."""
    if facts is None:
        return ["not scanned"]
    pairs = [
        ("sass", facts.counts("sass"), truth.get("sass_header", truth["sass"])),
        ("ptx", facts.counts("ptx"), truth["ptx"]),
    ]
    for section, name in SECTIONS.items():
        ours = sum(g.count for g in facts.groups if g.section == section and g.images)
        pairs.append((f"containers of {name}", ours, _containers(truth, name)))
        pairs.append((f"ptx of {name}", facts.counts("ptx", section), truth[name]["ptx"]))
        if "sass_header" not in truth:
            pairs.append((f"sass of {name}", facts.counts("sass", section), truth[name]["sass"]))
    if data:
        ours = sum(g.count * len(g.images) for g in facts.groups if g.section == "data")
        pairs.append(("images in data", ours, truth["other_section_images"]))
    return [f"{what}: {ours}, not {theirs}" for what, ours, theirs in pairs if ours != theirs]


def _containers(truth: dict[str, Any], name: str) -> int:
    return sum(n for section, n in truth["non_empty_containers"].items() if section.strip("._") == name)


def unknown(facts: WheelFacts, truth: dict[str, Any]) -> list[str]:
    """Files with code for the driver that the listing does not have."""
    known = {file["path"] for file in truth["files"]}
    return [b.path for b in facts.binaries if b.path not in known and (b.counts("sass") or b.counts("ptx"))]


def scan(wheel: Path, truth: dict[str, Any]) -> tuple[WheelFacts, Cost, Cost]:
    """Facts of a wheel, and what scanning and plain inflation cost, in turns."""
    scans, floors = [], []
    for _ in range(ROUNDS):
        floors.append(cost(sys.executable, __file__, "--inflate", wheel))
        with tempfile.TemporaryDirectory() as empty:
            scans.append(cost(sys.executable, __file__, "--scan", wheel, truth["sha256"], empty))
    return msgspec.json.decode(scans[0].output, type=WheelFacts), least(scans), least(floors)


def installed(wheel: Path, file: dict[str, Any], tools: list[Path]) -> tuple[list[str], list[float]]:
    """Differences of one file on disk, and seconds: walk CPU and wall, the tool's CPU and wall."""
    with tempfile.NamedTemporaryFile(suffix=".so") as place, zipfile.ZipFile(wheel) as archive:
        with archive.open(file["path"]) as member:
            shutil.copyfileobj(member, place, 1 << 20)
        place.flush()
        facts, *ours = walked(Path(place.name))
        return differences(facts, file, data=False), [*ours, *listed(Path(place.name), tools)]


def one_wheel(
    wheel: Path, truth: dict[str, Any], tools: list[Path]
) -> tuple[int, Cost, Cost, list[list[float]]]:
    """Print a wheel's files; number of files that differ, costs of scan and inflation, seconds by file."""
    facts, scanned, floor = scan(wheel, truth)
    print(f"\n{wheel.name}")
    by_path = {binary.path: binary for binary in facts.binaries}
    wrong, seconds = unknown(facts, truth), []
    for path in wrong:
        print(f"  differs  {path}: code that the listing does not have")
    for file in truth["files"]:
        found = differences(by_path.get(file["path"]), file, data=True)
        on_disk, times = installed(wheel, file, tools)
        found += [f"installed, {difference}" for difference in on_disk]
        wrong += [file["path"]] * bool(found)
        seconds.append(times)
        beside = f", cuobjdump {times[3]:.2f} s, x{times[3] / times[1]:.0f}" if times[3] else ""
        print(f"  {'differs' if found else 'equal':8} {file['path']} ({file['size'] / MB:.0f} MB)", end="")
        print(f": walk {times[1] * 1e3:.1f} ms{beside}")
        for difference in found:
            print(f"             {difference}")
    print(f"  scan of the wheel {scanned.cpu:.2f} s of CPU, inflation alone {floor.cpu:.2f} s", end="")
    print(f", x{scanned.cpu / floor.cpu:.2f}, {scanned.memory:.0f} MB")
    return len(wrong), scanned, floor, seconds


def summary(wrong: int, scans: list[Cost], floors: list[Cost], seconds: list[list[float]]) -> None:
    """Print the figures of the whole run beside their targets."""
    ratio = sum(s.cpu for s in scans) / sum(f.cpu for f in floors)
    memory = max(s.memory for s in scans)
    print(f"\nfiles whose counts differ   {wrong} of {len(seconds)} (target 0)")
    print(f"wheel scan / inflation      x{ratio:.2f} of CPU (target at most 1.30)")
    print(f"greatest memory             {memory:.0f} MB, interpreter included (target below 60)")
    both = [times for times in seconds if times[3]]
    if not both:
        print("cuobjdump / installed scan  not compared: no cuobjdump; --fetch-cuobjdump gets one")
        return
    cpu, wall, tool_cpu, tool_wall = map(sum, zip(*both, strict=True))
    print(
        f"cuobjdump / installed scan  x{tool_wall / wall:.0f} of time, x{tool_cpu / cpu:.0f} of CPU", end=""
    )
    print(f" over {len(both)} files (target at least 100)")


def main() -> int:
    """Scan, compare, say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=cache() / "bench-scan", help="where wheels are kept")
    parser.add_argument("--cuobjdump", type=Path, action="append", help="program to compare with")
    parser.add_argument("--fetch-cuobjdump", action="store_true", help="take two versions out of wheels")
    chosen = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    chosen.folder.mkdir(parents=True, exist_ok=True)
    tools = chosen.cuobjdump or [Path(found) for found in (shutil.which("cuobjdump"),) if found]
    if chosen.fetch_cuobjdump:
        tools += fetched_tools(chosen.folder)
    truths = {wheel["wheel"]: wheel for wheel in json.loads(TRUTH.read_text())["wheels"]}
    wrong, scans, floors, seconds = 0, [], [], []
    for requirement, python in WHEELS:
        wheel = download(requirement, python, chosen.folder)
        differ, scanned, floor, times = one_wheel(wheel, truths[wheel.name], tools)
        wrong, scans, floors, seconds = (
            wrong + differ,
            [*scans, scanned],
            [*floors, floor],
            [*seconds, *times],
        )
    summary(wrong, scans, floors, seconds)
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inflate"]:
        inflate(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["--scan"]:
        facts = scan_wheel(Path(sys.argv[2]), Path(sys.argv[4]), sha256=sys.argv[3])
        sys.stdout.buffer.write(msgspec.json.encode(facts))
    else:
        sys.exit(main())
