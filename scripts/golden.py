"""Keep one finished run as a golden trace, in a folder named for its conditions."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

KEPT = ("run.json", "conditions.json", "params.json", "metrics.json", "eval.jsonl", "trace-0.jsonl")


def write(path: Path, document: dict[str, object]) -> None:
    """One JSON file, indented, keys sorted."""
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def main(run: Path, golden: Path) -> None:
    """Copy the attempt's records, without times and paths of this machine."""
    attempt = max(run.glob("attempt-*"))
    seen = json.loads((attempt / "conditions.json").read_text())["values"]
    words = [
        seen["platform.machine"],
        seen["cpu.capability"].lower(),
        f"torch{seen['torch.version']}",
        f"{seen['threads.intra']}threads",
    ]
    target = golden / "-".join(words)
    shutil.rmtree(target, ignore_errors=True)
    kept = target / "attempt-1"
    kept.mkdir(parents=True)
    for name in KEPT:
        shutil.copy(attempt / name, kept / name)
    record = json.loads((kept / "run.json").read_text())
    write(
        kept / "run.json",
        record | {"attempt": 1, "label": "golden", "run_id": "", "started": "", "ended": ""},
    )
    digests = {name: hashlib.sha256((kept / name).read_bytes()).hexdigest() for name in KEPT}
    write(target / "result.json", {"schema": 1, "attempt": 1, "status": "ok", "files": digests})
    print(target.relative_to(golden.parent.parent), sum(p.stat().st_size for p in kept.iterdir()), "bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
