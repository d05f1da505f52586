"""Judge the runs of two_machines.sh: print what was found, write the page, and check what must be so."""

import sys
from pathlib import Path

from repro import api, report
from repro.model.verdict import Verdict
from repro.pipeline.curves import curves

MEMBERS = (1, 2, 3)
DIFFER = ("platform.machine", "cpu.capability")


def wrong(verdict: Verdict) -> list[str]:
    """What of the verdict is not as two machines with one computation should have it."""
    keys = {condition.key for condition in verdict.conditions_that_differ}
    found = [f"`{key}` should differ" for key in DIFFER if key not in keys]
    if (verdict.numerics, verdict.basis) != ("within-rounding", "members"):
        found.append(f"numerics are {verdict.numerics} by {verdict.basis}")
    if verdict.replay is None or verdict.replay.origin is None:
        found.append("the dense steps name no origin")
    return found


def main(runs: Path) -> int:
    """Exit status 1 when something is not as it should be."""
    a, b = api.load(runs / "x86-64"), api.load(runs / "aarch64")
    members = [api.load(runs / f"member-{number}") for number in MEMBERS]
    dense = (runs / "x86-64-dense", runs / "aarch64-dense")
    verdict = api.compare(a, b, members=members, dense=dense)
    page = runs.parent / "report.html"
    page.write_text(report.html_of([(verdict, curves(a, b, members))]))
    print(report.text(verdict))
    print("\nstep  distance  envelope  ratio")
    for row in verdict.envelope.rows if verdict.envelope else []:
        if row.judged:
            print(f"{row.step:4}  {row.distance:.1e}   {row.envelope:.1e}   {row.ratio:.2f}")
    print(f"\npage: {page}")
    found = wrong(verdict)
    print(*(f"WRONG: {said}" for said in found), sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
