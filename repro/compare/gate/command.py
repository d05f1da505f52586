"""How two commands differ, word by word. Files named on the command line are compared by content."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from repro import redact
from repro.model.run import RunFolder

Found = tuple[str, Any, Any, bool]  # key, a, b, whether it is only a factor

_BY_VALUE = "compared by value"


def command_differences(a: RunFolder, b: RunFolder) -> Iterator[Found]:
    """Key with both values for each word that differs, and whether it may differ as a factor.

    A word that follows an option takes its name (`command.--lr`), any other its place. The
    interpreter at the front may differ: what it is stands in the conditions.
    """
    x, y = _words(a), _words(b)
    if len(x) != len(y):
        yield "command", _shown(x), _shown(y), False
    else:
        yield from _by_word(x, y, _digests(a), _digests(b))
    yield from _unnamed_inputs(a, b, {*x, *y})


def _words(run: RunFolder) -> list[str]:
    """As declared, since the real words hold paths of one run; as run where nothing was declared."""
    return list(run.attempt.command or run.attempt.argv)


def _digests(run: RunFolder) -> dict[str, str]:
    """Digests of the files that words may name; the parameter file's content is compared value by value."""
    spelled_out = run.params_file if run.params else ""
    return {
        name: _BY_VALUE if spelled_out and PurePath(name).name == spelled_out else digest
        for name, digest in run.attempt.inputs.items()
    }


def _by_word(x: list[str], y: list[str], files_x: dict[str, str], files_y: dict[str, str]) -> Iterator[Found]:
    for place, (p, q) in enumerate(zip(x, y, strict=True)):
        if place == 0 and _is_python(p) and _is_python(q):
            if p != q:
                yield "command.0", p, q, True
        elif not _same_word(p, q, files_x, files_y):
            yield _key(x, y, place), _told(p, files_x), _told(q, files_y), False


def _same_word(p: str, q: str, files_x: dict[str, str], files_y: dict[str, str]) -> bool:
    (option_p, value_p), (option_q, value_q) = _split(p), _split(q)
    if option_p != option_q:
        return False
    digest_p, digest_q = files_x.get(value_p), files_y.get(value_q)
    return digest_p == digest_q if digest_p and digest_q else p == q and digest_p == digest_q


def _split(word: str) -> tuple[str, str]:
    """`--lr=0.1` as option and value; any other word is a value alone."""
    option, equals, value = word.partition("=")
    return (option, value) if equals and option.startswith("-") else ("", word)


def _key(x: list[str], y: list[str], place: int) -> str:
    option = _split(x[place])[0]
    if option and option == _split(y[place])[0]:
        return f"command.{option}"
    before = x[place - 1] if place else ""
    named = before.startswith("-") and before == y[place - 1]
    return f"command.{before}" if named else f"command.{place}"


def _told(word: str, files: dict[str, str]) -> str:
    digest = files.get(_split(word)[1])
    shown = redact.text(word)
    return f"{shown} (sha256 {digest[:12]})" if digest and digest != _BY_VALUE else shown


def _shown(words: list[str]) -> str:
    return redact.text(" ".join(words))


def _unnamed_inputs(a: RunFolder, b: RunFolder, words: set[str]) -> Iterator[Found]:
    """Inputs recorded under a name that is no word of the command, such as `python -m NAME`'s file."""
    named = {_split(word)[1] for word in words}
    for name in sorted({*a.attempt.inputs, *b.attempt.inputs} - named):
        x, y = a.attempt.inputs.get(name), b.attempt.inputs.get(name)
        if x != y:
            yield f"inputs.{name}", x, y, False


def _is_python(word: str) -> bool:
    return PurePath(word).name.startswith(("python", "pypy"))
