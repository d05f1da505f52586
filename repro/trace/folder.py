"""Reads a run's folder: which attempt counts, and what lies in it.

The form is described in docs/formats.md, "A run's folder".
"""

import re
from pathlib import Path
from typing import Any

from repro.model.record import Json, Open
from repro.model.run import Attempt, Gate, Memory, Metrics, RunFolder
from repro.trace.history import read_history
from repro.trace.origin import origin_of
from repro.trace.parts import decode, decode_if_there, read_rows, unreadable

_ATTEMPT = re.compile(r"attempt-(\d+)")
_HOLDS = "a run's folder, which holds attempt-1/run.json, or such an attempt itself"


class _Result(Open):
    schema: int
    attempt: int
    status: str = ""
    files: dict[str, str] = {}


class _Values(Open):
    schema: int
    values: dict[str, Any] = {}


class _Gates(Open):
    schema: int
    gates: list[Gate] = []


def read_run(path: Path) -> RunFolder:
    """The run whose folder, or one of whose attempts, `path` is.

    The attempt that `result.json` names is the one that counts; without a result the last attempt
    is read and `complete` is False.

    Raises:
        run-unreadable: no such folder, not a run's folder, or a file in it cannot be decoded.
        run-too-new: a newer runtime wrote it.
    """
    path = path.resolve()
    folder = path if (path / "run.json").is_file() else _chosen(path)
    result = decode_if_there(folder.parent / "result.json", _Result)
    attempt = decode(folder / "run.json", Attempt)
    times = {"started": attempt.started, "ended": attempt.ended}
    _check_numbers(folder / "run.json", "time", {name: text for name, text in times.items() if text})
    committed = result is not None and result.attempt == attempt.attempt
    complete = result is not None and committed and result.status in ("", "ok")
    origin = origin_of(folder, attempt)
    return RunFolder(
        path=str(folder.parent),
        folder=str(folder),
        complete=complete,
        attempt=attempt,
        protocol=origin.protocol,
        params=origin.params,
        params_file=origin.params_file,
        identity=origin.identity,
        conditions=_values(folder),
        gates=_gates(folder),
        metrics=_metrics(folder),
        memory=decode_if_there(folder / "memory.json", Memory),
        rows=read_rows(folder / "eval.jsonl", whole=complete),
        history=read_history(folder / "log.txt", origin.protocol),
        files=result.files if result and committed else {},
    )


def _chosen(path: Path) -> Path:
    attempts = _attempts(path)
    if not attempts:
        raise unreadable(f"`{path}` is no run", found=_seen(path), needs=_HOLDS)
    result = decode_if_there(path / "result.json", _Result)
    number = result.attempt if result else max(attempts)
    if number not in attempts:
        raise unreadable(
            f"the result of run `{path.name}` names attempt {number}, which is not there",
            found=", ".join(attempts[n].name for n in sorted(attempts)),
            needs=f"{path / f'attempt-{number}' / 'run.json'}",
        )
    return attempts[number]


def _attempts(path: Path) -> dict[int, Path]:
    return {
        int(match[1]): found.parent
        for found in path.glob("attempt-*/run.json")
        if (match := _ATTEMPT.fullmatch(found.parent.name))
    }


def _seen(path: Path) -> str:
    if not path.exists():
        return "no such folder"
    if not path.is_dir():
        return "a file"
    if (path / "bundle.json").is_file():
        return f"a bundle; its runs lie in {path / 'runs'}"
    names = sorted(entry.name for entry in path.iterdir())
    return (
        f"a folder with {', '.join(names[:6])}{' …' if len(names) > 6 else ''}"
        if names
        else "an empty folder"
    )


def _values(folder: Path) -> Json:
    found = decode_if_there(folder / "conditions.json", _Values)
    return found.values if found else {}


def _gates(folder: Path) -> list[Gate]:
    found = decode_if_there(folder / "gates.json", _Gates)
    return found.gates if found else []


def _metrics(folder: Path) -> Metrics | None:
    metrics = decode_if_there(folder / "metrics.json", Metrics)
    _check_numbers(folder / "metrics.json", "metric", metrics.values if metrics else {})
    return metrics


def _check_numbers(place: Path, kind: str, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        try:
            float.fromhex(text)
        except (ValueError, OverflowError):
            raise unreadable(
                f"{kind} `{name}` is no number", found=f"{place}: {text!r}", needs="float.hex() text"
            ) from None
