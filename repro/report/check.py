"""What a check found, as text and as a document for scripts."""

from collections.abc import Sequence
from typing import Any

import msgspec

from repro.model.check import CheckReport, FileFit, Finding, TargetReport
from repro.model.record import Json
from repro.report import lay, told
from repro.report.findings import TONES, Depth, findings_lines
from repro.report.lay import Paint

MEANING = {
    "runs": "nothing that is known stands against it",
    "runs-after-jit": "the driver must compile kernels at the first start, which takes minutes",
    "risky": "may fail, or runs otherwise than asked; read the warnings",
    "will-fail": "cannot work as it is",
    "unknown": "what is known does not decide it",
}
_ASSUMED = " (assumed: nothing here says it)"
_NO_LOCK = "cannot be installed as it is, whatever the card"
_WORDS = ("exact", "compat", "jit", "jitlink", "none")
_STACK = ("torch", "cuda", "python", "kernels", "precision", "packages")


def check_document(report: CheckReport) -> Json:
    """The answer of `repro check --json`; keys of a target and of a finding never change."""
    document: dict[str, Any] = msgspec.to_builtins(report)
    return {"schema": document.pop("schema"), "command": "check", **document}


def check_text(report: CheckReport, *, width: int = 100, colour: bool = False, depth: Depth = "usual") -> str:
    """The report for a terminal: the stack, then the targets with what is their own, then what all share.

    Targets of which the same is said stand in one block, a line each.

    Args:
        report: the answer.
        width: columns; a long word such as a path is not broken.
        colour: whether words get colours; nothing is said by colour alone.
        depth: `usual` folds what is alike and what the lock said besides; `all` folds nothing; `less`
            leaves notes out.
    """
    paint = Paint(colour)
    targets = [_told(target, depth) for target in report.targets]
    held = told.shared(targets) if len(targets) > 1 else []
    blocks = told.groups(targets, held)
    alone = len(blocks) == 1 and not blocks[0][1]  # nothing differs: no heading is needed
    parts = [_stack(report, width)]
    for alike, own in blocks:
        lines = [line for target in alike for line in _verdict(target, width, paint)]
        lines += findings_lines(held if alone else own, width, paint, depth)
        parts.append([*lines, *_files(alike[0].files)])
    if held and not alone:
        parts.append([paint("strong", "on every target"), *findings_lines(held, width, paint, depth)])
    parts += [] if _has_card(report) else [_held(report, width)]
    parts.append(_end(report, width, depth))
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _told(target: TargetReport, depth: Depth) -> TargetReport:
    findings = target.findings if depth == "all" else told.once(target.findings)
    kept = [f for f in findings if depth != "less" or f.severity != "note"]
    return msgspec.structs.replace(target, findings=kept)


def _stack(report: CheckReport, width: int) -> list[str]:
    known = [key for key in _STACK if report.stack.get(key)]
    assumed = report.stack.get("assumed", [])
    values = {key: f"{report.stack[key]}{_ASSUMED if key in assumed else ''}" for key in known}
    rows = [line for key, value in values.items() for line in lay.field(key, value, width)]
    return ["stack", *rows] if rows else []


def _verdict(target: TargetReport, width: int, paint: Paint) -> list[str]:
    if not target.gpu:
        return [paint("strong", "without a target")]
    facts = [target.name or target.gpu]
    facts += [f"capability {target.capability}"] if target.capability else []
    facts += [f"driver {target.driver}"] if target.driver else []
    words = f"{target.verdict}: {', '.join(facts)}: {_meaning(target)}"
    first, *rest = lay.wrapped(words, width, "", "    ")
    tone = TONES.get(target.verdict, "open")
    return [first.replace(target.verdict, paint(tone, target.verdict), 1), *rest]


def _meaning(target: TargetReport) -> str:
    errors: list[Finding] = [f for f in target.findings if f.severity == "error"]
    return _NO_LOCK if errors and all(map(told.is_of_lock, errors)) else MEANING[target.verdict]


def _files(files: Sequence[FileFit]) -> list[str]:
    """Containers by word: torch file by file, the others by package, vendors' libraries in a line."""
    loaded = [f for f in files if f.loaded and not f.vendor]
    own = [(_short(f.path), f.containers) for f in loaded if f.owner == "torch"]
    others = sorted({f.owner or f.path for f in loaded if f.owner != "torch"})
    for name in others:
        alike = [f.containers for f in loaded if (f.owner or f.path) == name]
        own.append((name, {word: sum(c.get(word, 0) for c in alike) for word in _WORDS}))
    rows = [(name, *(str(counts.get(word, 0)) for word in _WORDS)) for name, counts in own]
    vendors = sum(1 for f in files if f.vendor)
    lines = lay.columns([("containers", *_WORDS), *rows], right=range(1, len(_WORDS) + 1)) if rows else []
    libraries = "1 library of a vendor, which chooses for itself"
    if vendors > 1:
        libraries = f"{vendors} libraries of vendors, which choose for themselves"
    return [*lines, f"  and {libraries}"] if vendors else lines


def _short(path: str) -> str:
    """The path as it stands in a wheel, for a file installed in an image."""
    return path.rpartition("site-packages/")[2]


def _has_card(report: CheckReport) -> bool:
    return any(target.gpu for target in report.targets)


def _held(report: CheckReport, width: int) -> list[str]:
    """What the files with GPU code hold, for want of a card to fit them to."""
    lines = []
    for file in report.stack.get("files", []):
        said = f"{file['path']}: {file['containers']} containers: {' '.join(file['holds'])}"
        lines += lay.wrapped(said, width, lay.INDENT, lay.INDENT * 2)
    return ["files with GPU code", *lines] if lines else []


def _end(report: CheckReport, width: int, depth: Depth) -> list[str]:
    lines = []
    if report.arch_list and any(target.verdict != "will-fail" for target in report.targets):
        lines += lay.field("arch list", f'TORCH_CUDA_ARCH_LIST="{report.arch_list}"', width)
    if report.allowed:
        lines += lay.field("allowed", "built although a target fails (--allow-incompatible)", width)
    if any(target.findings for target in report.targets):
        more = "`repro explain CODE` says more of a code in [ ]" + "; --verbose folds nothing" * (
            depth == "usual"
        )
        lines += lay.field("more", more, width)
    if not _has_card(report):
        said = "name a target: --gpu a100, or [targets] in repro.toml; `repro gpus` lists the cards"
        lines += lay.wrapped(said, width, "", "")
    return lines
