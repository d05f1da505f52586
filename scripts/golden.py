"""Keep one finished run as a golden trace, in a folder named for its conditions."""

import json
import shutil
import sys
from pathlib import Path

KEPT = ("run.json", "conditions.json", "params.json", "metrics.json", "eval.jsonl", "trace-0.jsonl")


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
    target.mkdir(parents=True)
    for name in KEPT:
        shutil.copy(attempt / name, target / name)
    record = json.loads((target / "run.json").read_text())
    record |= {"label": "golden", "run_id": "", "started": "", "ended": ""}
    (target / "run.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    print(target.relative_to(golden.parent.parent), sum(p.stat().st_size for p in target.iterdir()), "bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
