"""Questions without a project: reading them, and the stack and target that they describe."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from repro.check.words.extra import extra_from_words
from repro.check.words.surroundings import (
    capability_in,
    driver_cuda_in,
    driver_in,
    glibc_in,
    is_for_another_maker,
    machine_in,
    python_minor,
    system_in,
    targets_in,
)
from repro.check.words.target import target_from_words
from repro.check.words.torch import torch_from_words
from repro.errors import ReproError
from repro.model.check import Package, Question, Stack, Target, Torch
from repro.model.record import Open


class _Platform(Open, kw_only=True):
    system: str | None = None
    machine: str | None = None
    glibc: str | None = None
    detail: str | None = None


class _Torch(Open, kw_only=True):
    spec: str | None = None
    index: str | None = None


class _Extra(Open, kw_only=True):
    name: str
    version: str | None = None
    how: str | None = None


class _Gpu(Open, kw_only=True):
    name: str | None = None
    cc: str | int | float | None = None


class _Probe(Open, kw_only=True):
    cuda_init_error: int | None = None


class _Input(Open, kw_only=True):
    """A question as a file has it; what is not known is null or left out."""

    python: str | int | float | None = None
    platform: _Platform | None = None
    torch: _Torch | str | None = None
    extras: list[_Extra] | None = None
    gpu: _Gpu | str | None = None
    driver: str | int | float | None = None
    driver_cuda: str | int | float | None = None
    precision: str | None = None
    arch_list: list[str] | str | None = None
    host_probe: _Probe | None = None


def questions(text: str, where: str = "question") -> list[Question]:
    """The questions of a file: one JSON object, a list of them, or JSON lines.

    Raises:
        ReproError: `question-unreadable`, with the line.
    """
    found = asked(text, where)
    for one in found:
        if isinstance(one, ReproError):
            raise one
    return [one for one in found if isinstance(one, Question)]


def asked(text: str, where: str = "question") -> list[Question | ReproError]:
    """The questions of a file, and in place of one that cannot be read the reason, with its line."""
    return [_read_one(document, place) for place, document in _documents(text, where)]


def _read_one(document: object, place: str) -> Question | ReproError:
    if isinstance(document, ReproError):
        return document
    try:
        return read_question(document, place)
    except ReproError as wrong:
        return wrong


def read_question(document: object, where: str = "question") -> Question:
    """The question in a JSON object; a row of a casebook is taken by its `input`.

    Raises:
        ReproError: `question-unreadable` where a field has the wrong type.
    """
    if isinstance(document, dict) and isinstance(document.get("input"), dict):
        document = document["input"]
    try:
        told = msgspec.convert(document, _Input)
    except (msgspec.ValidationError, RecursionError) as wrong:
        raise _unreadable(where, str(wrong)) from None
    torch = _Torch(spec=told.torch) if isinstance(told.torch, str) else told.torch or _Torch()
    gpu = _Gpu(name=told.gpu) if isinstance(told.gpu, str) else told.gpu or _Gpu()
    platform = told.platform or _Platform()
    return Question(
        torch=torch.spec or "",
        index=torch.index or "",
        python=_text(told.python),
        system=system_in(platform.system or ""),
        machine=machine_in(platform.machine or ""),
        glibc=glibc_in(platform.glibc or ""),
        detail=platform.detail or "",
        extras=[Package(name=e.name, version=e.version or "", how=e.how or "") for e in told.extras or ()],
        arch_list=_list(told.arch_list),
        precision=told.precision or "",
        cuda_error=(told.host_probe.cuda_init_error or 0) if told.host_probe else 0,
        gpu=gpu.name or "",
        capability=capability_in(_text(gpu.cc)),
        driver=driver_in(_text(told.driver)),
        driver_cuda=driver_cuda_in(_text(told.driver_cuda), _text(told.driver)),
    )


def stack_and_target(question: Question, where: str = "") -> tuple[Stack, Target]:
    """What the question describes, ready for `examine`.

    Raises:
        ReproError: for a driver or capability that is none.
    """
    extras = [extra_from_words(package, where) for package in question.extras]
    stack = Stack(
        origin="words",
        python=python_minor(question.python),
        system=question.system,
        machine=question.machine,
        glibc=question.glibc,
        detail=question.detail,
        torch=_with_list(torch_from_words(question.torch, question.index, where), question.arch_list),
        extras=extras,
        precision=question.precision,
        cuda_error=question.cuda_error,
    )
    target = target_from_words(question.gpu, question.capability, question.driver, question.driver_cuda)
    return stack, target


def _list(words: list[str] | str | None) -> list[str] | None:
    """The targets that were printed; `rocm` for a list of another maker's."""
    if words is None:
        return None
    return ["rocm"] if is_for_another_maker(words) else targets_in(words)


def _with_list(torch: Torch, printed: list[str] | None) -> Torch:
    """What the installed torch printed is surer than a table; an empty list says nothing."""
    if not printed:
        return torch
    if printed == ["rocm"]:
        return msgspec.structs.replace(torch, tag="rocm", cuda="", sass=None, ptx=None, basis="unknown")
    return msgspec.structs.replace(
        torch,
        sass=[name for name in printed if name.startswith("sm_")],
        ptx=[name for name in printed if name.startswith("compute_")],
        basis="arch-list",
        source="torch.cuda.get_arch_list() as given",
    )


def _documents(text: str, where: str) -> Iterator[tuple[str, Any]]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if whole is not None:
        yield from ((where, one) for one in (whole if isinstance(whole, list) else [whole]))
        return
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        yield where, _unreadable(where, "the file is empty")
    for number, line in lines:
        try:
            yield f"{where}:{number}", json.loads(line)
        except (ValueError, RecursionError) as wrong:
            yield f"{where}:{number}", _unreadable(f"{where}:{number}", str(wrong))


def _text(value: str | float | None) -> str:
    return "" if value is None else str(value).strip()


def _unreadable(where: str, wrong: str) -> ReproError:
    return ReproError(
        "question-unreadable",
        "A question cannot be read.",
        found=f"{where}: {wrong}",
        needs="a JSON object with torch, python, gpu, driver ..., or one a line",
        tries='{"torch": {"spec": "torch==1.13.1", "index": "default"}, "gpu": "a100"}',
    )
