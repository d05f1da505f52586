"""What a check found, as text and as a document for scripts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from repro.model.check import CheckReport, FileFit, Finding, TargetReport
from repro.model.record import Json
from repro.report import lay
from repro.report.lay import Paint

MEANING = {
    "runs": "nothing that is known stands against it",
    "runs-after-jit": "the driver must compile kernels at the first start, which takes minutes",
    "risky": "may fail, or runs otherwise than asked; read the warnings",
    "will-fail": "cannot work as it is",
    "unknown": "what is known does not decide it",
}
_TONES = {"runs": "good", "will-fail": "bad", "error": "bad"}
_SEVERITIES = ("error", "unknown", "warning", "note")
_WORDS = ("exact", "compat", "jit", "jitlink", "none")
_STACK = ("torch", "cuda", "python", "kernels", "precision", "packages")
_FIELD = 8
_OBVIOUS = ("", "command line")  # places that tell a reader nothing


def check_document(report: CheckReport) -> Json:
    """The answer of `repro check --json`; keys of a target and of a finding never change."""
    document: dict[str, Any] = msgspec.to_builtins(report)
    return {"schema": document.pop("schema"), "command": "check", **document}


def check_text(report: CheckReport, *, width: int = 100, colour: bool = False) -> str:
    """The report for a terminal: the stack, then each target with what is its own, then what all share.

    Notes come last and short; everything else has found, needed, fix and source on lines of its own.
    """
    paint = Paint(colour)
    shared = _shared(report.targets)
    parts = [_stack(report, width)]
    parts += [_target(target, shared, width, paint) for target in report.targets]
    if shared:
        parts.append([paint("strong", "on every target"), *_findings(shared, width, paint)])
    parts += [] if _has_card(report) else [_held(report, width)]
    parts.append(_end(report, width))
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def finding_lines(finding: Finding, width: int, paint: Paint) -> list[str]:
    """One finding: reason first, then its evidence, field by field; of a note what was found alone."""
    lines = _head(finding, width, paint)
    lines += _field("found", finding.found, width)
    if finding.severity == "note":
        return lines
    lines += _field("needs", finding.needed, width)
    for number, fix in enumerate(finding.fix):
        lines += _field("" if number else "try", fix, width)
    lines += _field("source", finding.source, width)
    return lines + _field("see", f"repro explain {finding.rule}", width)


def _head(finding: Finding, width: int, paint: Paint) -> list[str]:
    code = f"{finding.severity}[{finding.rule}]"
    place = f"{finding.where}: " if finding.where not in _OBVIOUS else ""
    first, *rest = lay.wrapped(f"{code}: {place}{finding.why}", width, "  ", "    ")
    return [first.replace(code, paint(_TONES.get(finding.severity, "open"), code), 1), *rest]


def _field(name: str, words: str, width: int) -> list[str]:
    first = " " * 4 + name.ljust(_FIELD)
    return [
        line
        for number, sentence in enumerate(words.splitlines())
        for line in lay.wrapped(sentence, width, " " * len(first) if number else first, " " * len(first))
    ]


def _shared(targets: Sequence[TargetReport]) -> list[Finding]:
    if len(targets) < 2:
        return []
    first, *rest = targets
    return [f for f in first.findings if all(f in target.findings for target in rest)]


def _stack(report: CheckReport, width: int) -> list[str]:
    known = [key for key in _STACK if report.stack.get(key)]
    rows = [line for key in known for line in lay.field(key, str(report.stack[key]), width)]
    return ["stack", *rows] if rows else []


def _target(target: TargetReport, shared: Sequence[Finding], width: int, paint: Paint) -> list[str]:
    lines = [_verdict(target, paint)]
    lines += _findings([f for f in target.findings if f not in shared], width, paint)
    return [*lines, *_files(target.files)]


def _verdict(target: TargetReport, paint: Paint) -> str:
    if not target.gpu:
        return paint("strong", "without a target")
    word = paint(_TONES.get(target.verdict, "open"), target.verdict)
    facts = [target.name or target.gpu]
    facts += [f"capability {target.capability}"] if target.capability else []
    facts += [f"driver {target.driver}"] if target.driver else []
    return f"{word}: {', '.join(facts)}: {MEANING[target.verdict]}"


def _findings(findings: Iterable[Finding], width: int, paint: Paint) -> list[str]:
    """Worst first; of a rule with several notes the reasons alone, for they would hide all else."""
    ordered = sorted(findings, key=lambda f: _SEVERITIES.index(f.severity))
    notes = Counter(f.rule for f in ordered if f.severity == "note")
    many = {rule for rule, count in notes.items() if count > 1}
    lines = []
    for f in ordered:
        lines += _head(f, width, paint) if f.rule in many else finding_lines(f, width, paint)
    return [*lines, paint("faint", "    what these notes found: --json")] if many else lines


def _files(files: Sequence[FileFit]) -> list[str]:
    """Containers by word: torch file by file, the others by package, vendors' libraries in a line."""
    own = [(f.path, f.containers) for f in files if f.owner == "torch" and not f.vendor]
    others = sorted({f.owner or f.path for f in files if f.owner != "torch" and not f.vendor})
    for name in others:
        alike = [f.containers for f in files if (f.owner or f.path) == name and not f.vendor]
        own.append((name, {word: sum(c.get(word, 0) for c in alike) for word in _WORDS}))
    rows = [(name, *(str(counts.get(word, 0)) for word in _WORDS)) for name, counts in own]
    vendors = sum(1 for f in files if f.vendor)
    lines = lay.columns([("containers", *_WORDS), *rows], right=range(1, len(_WORDS) + 1)) if rows else []
    return (
        [*lines, f"  and {vendors} libraries of vendors, which choose for themselves"] if vendors else lines
    )


def _has_card(report: CheckReport) -> bool:
    return any(target.gpu for target in report.targets)


def _held(report: CheckReport, width: int) -> list[str]:
    """What the files with GPU code hold, for want of a card to fit them to."""
    lines = []
    for file in report.stack.get("files", []):
        said = f"{file['path']}: {file['containers']} containers: {' '.join(file['holds'])}"
        lines += lay.wrapped(said, width, lay.INDENT, lay.INDENT * 2)
    return ["files with GPU code", *lines] if lines else []


def _end(report: CheckReport, width: int) -> list[str]:
    lines = (
        lay.field("arch list", f'TORCH_CUDA_ARCH_LIST="{report.arch_list}"', width)
        if report.arch_list
        else []
    )
    if report.allowed:
        lines += lay.field("allowed", "built although a target fails (--allow-incompatible)", width)
    if not _has_card(report):
        lines += ["name a target: --gpu a100, or [targets] in repro.toml; `repro gpus` lists the cards"]
    return lines
