"""Facts of build files that are not Python: shell scripts, Dockerfiles, Makefiles, CMake, pyproject.toml."""

import re
import tomllib

from repro.model.check import SourceFact
from repro.scan.source.archflags import flag_targets, list_targets, ordered, variables

_SCRIPT = re.compile(
    r"(?:^|/)(?:[^/]*Dockerfile[^/]*|[^/]+\.dockerfile|GNUmakefile|[Mm]akefile[^/]*|CMakeLists\.txt|[^/]+\.(?:sh|bash|mk|cmake))$"
)
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_SPOKEN = re.compile(r"\s*(?:@?echo|printf|message)\b")


def is_script(name: str) -> bool:
    """Whether a file of this name is one of these scripts."""
    return _SCRIPT.search(name) is not None


def script_facts(name: str, text: str) -> list[SourceFact]:
    """Targets written in a script: one fact for nvcc's flags, one for each variable that holds a list."""
    seen: dict[str, SourceFact] = {}
    for number, line in enumerate(text.split("\n"), 1):
        code = _COMMENT.sub("", line)
        if _SPOKEN.match(code):
            continue
        for how, targets in _targets(code):
            add_targets(seen, how, f"{name}:{number}", code, targets)
    return list(seen.values())


def add_targets(seen: dict[str, SourceFact], how: str, where: str, text: str, targets: list[str]) -> None:
    """Join targets of one file to one fact, at its first place: a list often takes several lines."""
    first = seen.get(how)
    seen[how] = SourceFact(
        kind="hard-coded-arch",
        where=first.where if first else where,
        text=first.text if first else shown(text),
        name=how,
        archs=ordered([*(first.archs if first else []), *targets]),
    )


def pyproject_facts(name: str, text: str) -> list[SourceFact]:
    """Whether the build asks for torch."""
    try:
        wanted = tomllib.loads(text).get("build-system", {}).get("requires", [])
    except (tomllib.TOMLDecodeError, AttributeError, RecursionError):
        return []
    for asked in wanted if isinstance(wanted, list) else []:
        if isinstance(asked, str) and re.match(r"torch(?![\w.-])", asked):
            lines = text.split("\n")
            number = next((n for n, line in enumerate(lines, 1) if asked in line), 1)
            return [SourceFact(kind="build-needs-torch", where=f"{name}:{number}", text=shown(asked))]
    return []


def shown(line: str) -> str:
    """A line as it is quoted: on one line, at most 120 characters."""
    words = " ".join(line.split())
    return words if len(words) <= 120 else f"{words[:119]}…"


def _targets(code: str) -> list[tuple[str, list[str]]]:
    found = [("nvcc", flag_targets(code))]
    for variable in variables():
        if match := re.search(rf"(?<![\w$-])(?:-D)?{variable}(?::\w+)?[=\s]\s*([\"']?)([\w.+;, -]+)", code):
            value = match[2] if match[1] else match[2].split(" ")[0] if "=" in match[0] else match[2]
            found.append((variable, list_targets(variable, value)))
    return [(how, targets) for how, targets in found if targets]
