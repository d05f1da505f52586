"""Packages without a file at hand: whether they were made for the torch at hand."""

import re
from collections.abc import Iterator

from packaging.version import Version

from repro.check.finding import finding
from repro.check.known.policy import Known, Prebuilt, exact, prebuilt, prebuilt_of
from repro.check.rules.extras import (
    is_linked,
    is_locked,
    is_plain,
    is_prebuilt,
    made_here,
    mentioned,
    minor,
    name_of,
    place_of,
    says_cuda,
    torch_name,
)
from repro.model.check import Extra, Finding, Stack, Target, Torch
from repro.tables.toolkits import tag_cuda

_PRIVATE = {
    "nightly": "a pre-release",
    "source": "a torch compiled by hand",
    "vendor": "a vendor's own build",
}
_FOR_ANOTHER = re.compile(
    r"\b(?:another|different|older|previous|other|old|wrong) (?:version of )?(?:py)?torch"
    r"|before (?:(?:py)?torch|the torch) (?:was |got )?(?:upgrad|updat|replac|chang)",
    re.IGNORECASE,
)
_EARLY = re.compile(r"pre-?release|nightly|preview|alpha|\d(?:a|rc)\d")


def for_this_torch(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on packages whose code was made for another torch than the stack's."""
    for extra, row in mentioned(stack):
        if stack.torch.tag == "cpu":
            yield from _on_cpu(extra, row, stack)
        elif extra.for_torch:
            yield from _said(extra, row, stack)
        elif _FOR_ANOTHER.search(extra.how):
            yield _tell(
                "extra-other-torch",
                extra,
                stack,
                f"{name_of(extra)}: {extra.how}",
                fix=_wheel_for(extra, stack.torch),
            )
        if stack.torch.make in _PRIVATE:
            yield from _private(extra, row, stack)
        elif not extra.for_torch and stack.torch.tag != "cpu" and not _is_compiled(extra, row):
            yield from _by_table(extra, row, stack)


def _is_compiled(extra: Extra, row: Known | None) -> bool:
    return extra.built == "source" and not is_prebuilt(extra, row)


def _on_cpu(extra: Extra, row: Known | None, stack: Stack) -> Iterator[Finding]:
    if says_cuda(extra) or (row and row.cuda_only):
        yield _tell(
            "extra-on-cpu-torch", extra, stack, f"{name_of(extra)} is built for CUDA",
            needed="a torch built for CUDA",
            fix=f"lock torch=={stack.torch.version or 'X'} from a CUDA index, or leave {extra.name} out",
        )  # fmt: skip


def _said(extra: Extra, row: Known | None, stack: Stack) -> Iterator[Finding]:
    """The torch that the words name, against the one in the stack."""
    made, tag = extra.for_torch.partition("+")[::2]
    torch = stack.torch
    found = f"{name_of(extra)} was built for torch {extra.for_torch.removeprefix('+')}"
    if made and not torch.version:
        if not torch.accepts and not torch.cuda:
            needed = "the version of torch"
            yield _tell("extra-torch-unsaid", extra, stack, found, needed, "say it: --torch X.Y.Z+cuNNN")
        return
    if (made and minor(made) != minor(torch.version)) or _other_major(tag, torch):
        yield _tell("extra-other-torch", extra, stack, found, fix=_wheel_for(extra, torch))
    elif tag == "cpu" and torch.cuda:
        yield _tell("extra-cpu-build", extra, stack, found, "a build for CUDA", _wheel_for(extra, torch))
    elif _other_patch(made, torch.version) or _other_minor(tag, row, torch):
        yield _tell("extra-other-patch", extra, stack, found, fix=_wheel_for(extra, torch))


def _private(extra: Extra, row: Known | None, stack: Stack) -> Iterator[Finding]:
    """A torch that nobody publishes files for: prebuilt code was linked against another one."""
    torch = stack.torch
    if not is_prebuilt(extra, row) or not is_linked(extra, row) or made_here(extra):
        return
    if extra.for_torch and extra.for_torch.partition("+")[0] == torch.version and torch.make == "nightly":
        return
    release = torch.make == "vendor" and not _is_early(torch)
    yield _tell(
        "extra-on-vendor-torch" if release else "extra-on-private-torch", extra, stack,
        f"{name_of(extra)} is a prebuilt file, {torch_name(torch)} is {_PRIVATE[torch.make]}",
        fix=f"compile {extra.name} against this torch, in the same image",
    )  # fmt: skip


def _by_table(extra: Extra, row: Known | None, stack: Stack) -> Iterator[Finding]:
    """What the package's own releases were built for."""
    torch = stack.torch
    files = prebuilt_of(extra.name, extra.version)
    if files and files.pin and torch.version and files.pin != torch.version:
        same = minor(files.pin) == minor(torch.version)
        yield _tell(
            "extra-other-pin" if same else "extra-other-torch", extra, stack,
            f"{name_of(extra)} asks for torch {files.pin}", needed=f"torch {files.pin}",
            fix=[f"lock torch=={files.pin}", *_pinned_to(extra, torch)], source=files.source,
        )  # fmt: skip
        return
    listed = files.torch if files else _ever(extra)
    if not torch.version or not listed or minor(torch.version) in listed or not is_prebuilt(extra, row):
        return
    fetched = extra.built != "wheel"
    yield _tell(
        "extra-compiles" if fetched else "extra-no-wheel", extra, stack,
        f"{name_of(extra)} has prebuilt files for torch {', '.join(listed)}",
        needed=f"one for torch {minor(torch.version)}",
        fix=[*_releases_for(extra, torch), f"compile {extra.name} from source in the image"],
        source=files.source if files else prebuilt(extra.name)[0].source,
    )  # fmt: skip


def compiles_on_install(stack: Stack, _: Target) -> Iterator[Finding]:
    """Findings on described packages that the package index has in source form only."""
    for extra, row in mentioned(stack):
        if row and row.source_only and not row.fetches and is_plain(extra) and not is_locked(stack, extra):
            yield _tell(
                "extra-compiles", extra, stack, f"the package index has no Linux wheel of {name_of(extra)}",
                needed="nvcc of torch's CUDA version, gcc and TORCH_CUDA_ARCH_LIST while the image is built",
                fix=[f"name the wheel for {torch_name(stack.torch)} on the project's own page",
                     "or say how it is built"],
                source=row.source,
            )  # fmt: skip


def _tell(
    code: str,
    extra: Extra,
    stack: Stack,
    found: str,
    needed: str = "",
    fix: str | list[str] = "",
    source: str = "",
) -> Finding:
    return finding(
        code,
        f"{found}; the stack has {torch_name(stack.torch)}",
        needed=needed or f"code built against {torch_name(stack.torch)}",
        fix=fix,
        source=source,
        where=place_of(extra),
    )


def _other_major(tag: str, torch: Torch) -> bool:
    made = tag_cuda(tag)
    return bool(made and torch.cuda and made.split(".")[0] != torch.cuda.split(".")[0])


def _other_minor(tag: str, row: Known | None, torch: Torch) -> bool:
    """Whether the file is for another CUDA of the same major, where a package has files for each."""
    per_major = bool(row and row.fetches) or tag_cuda(tag).isdecimal()
    return bool(tag and torch.tag and tag != torch.tag) and not per_major


def _other_patch(made: str, version: str) -> bool:
    return made.count(".") > 1 and made != version


def _is_early(torch: Torch) -> bool:
    """Whether a vendor's build is of a state before the release: its version or its words say so."""
    version = exact(torch.version)
    return bool(version and version.is_prerelease) or bool(_EARLY.search(torch.asked.lower()))


def _wheel_for(extra: Extra, torch: Torch) -> list[str]:
    return [f"take the file of {extra.name} for {torch_name(torch)}", f"or compile {extra.name} against it"]


def _ever(extra: Extra) -> tuple[str, ...]:
    """Every minor that any release has files for, when the version is not exact."""
    if exact(extra.version):
        return ()
    minors = {name for row in prebuilt(extra.name) for name in row.torch}
    return tuple(sorted(minors, key=_numbers))


def _releases_for(extra: Extra, torch: Torch) -> list[str]:
    """The releases nearest to the asked one with files for this torch."""
    rows = [row for row in prebuilt(extra.name) if minor(torch.version) in row.torch]
    return [f"{extra.name}=={_nearest(rows, extra)}"] if rows else []


def _nearest(rows: list[Prebuilt], extra: Extra) -> str:
    asked = exact(extra.version)
    later = [row.since for row in rows if asked and Version(row.since) > asked]
    return later[0] if later else rows[-1].until


def _pinned_to(extra: Extra, torch: Torch) -> list[str]:
    rows = [row for row in prebuilt(extra.name) if row.pin == torch.version]
    return [f"or lock {extra.name}=={rows[-1].until}"] if rows else []


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
