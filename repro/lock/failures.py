"""Turns what pip and pip-tools say when they give up into errors with a cause and a next step."""

import re
from collections.abc import Callable

from repro.errors import ReproError
from repro.lock.index import project_of, version_of
from repro.lock.requests import Requests, normal
from repro.lock.target import Answer

_KEPT = "nothing was locked; what was downloaded is kept and used by the next try"


def resolution_failed(answer: Answer, requests: Requests) -> ReproError:
    """The error for a resolver that ended badly, the first cause that its output shows."""
    for pattern, make in _CAUSES:
        found = re.search(pattern, answer.output, re.IGNORECASE)
        if found:
            return make(answer, found, requests)
    return ReproError(
        "lock-unresolved",
        f"the resolver stopped while it was at `{answer.failed}`",
        found=answer.tail(),
        done=_KEPT,
        tries=["read the lines above", "repro lock"],
    )


_CLASH = re.compile(
    r"requirement=(\w+)\('?([^')]*)'?\), parent=(None|.*?)\)(?=, RequirementInformation|\]|$)"
)
_OLD_CLASH = re.compile(r"^\s+(\S+) \(from ([^)]*?)->-r [^)]*\(line \d+\)\)", re.MULTILINE)


def _chains(answer: Answer, requests: Requests) -> list[str]:
    """Who asks for what, a line a side: pip's own words are hidden by pip-tools, the exception's are not."""
    chains = []
    for kind, wanted, parent in _CLASH.findall(answer.output):
        file = re.search(r"([^/\\']+\.(?:whl|tar\.gz|zip))", parent)
        what = f"Python {wanted}" if kind == "RequiresPythonRequirement" else wanted.split(" (from")[0]
        asker = f"{project_of(file.group(1))} {version_of(file.group(1))}" if file else ""
        chains.append(_chain(asker, what, requests))
    for wanted, asker in _OLD_CLASH.findall(answer.output):
        chains.append(_chain(asker.split("->")[0].replace("==", " "), wanted, requests))
    return list(dict.fromkeys(chains))


def _chain(asker: str, wanted: str, requests: Requests) -> str:
    name = normal(re.split(r"[\s\[<>=!~;]", asker or wanted)[0])
    place = next((r.place for r in requests.requirements if r.name == name), "")
    if asker:
        return f"{asker} depends on {wanted}" + (f" ({name} is asked for at {place})" if place else "")
    return f"{wanted} is asked for at {place}" if place else f"{wanted} is asked for by a constraint"


def _conflict(answer: Answer, _found: re.Match[str], requests: Requests) -> ReproError:
    chains = _chains(answer, requests)
    wanted = [c.split(" depends on ")[-1].split(" ")[0] for c in chains]
    names = sorted({re.split(r"[\[<>=!~;]", w)[0] for w in wanted if w})
    return ReproError(
        "lock-conflict",
        "no set of versions meets all requirements",
        found=chains or answer.tail(4),
        needs=f"one version of {', '.join(names) or 'each project'} that all of these allow",
        done=_KEPT,
        tries=["loosen one of the two ends in the dependency files, then run the same command again"],
    )


def _no_match(answer: Answer, found: re.Match[str], requests: Requests) -> ReproError:
    wanted = found.group(1).strip().rstrip(".")
    name = re.split(r"[\s\[<>=!~;(]", wanted)[0].lower()
    versions = re.search(r"from versions: ([^)]*)\)", answer.output)
    tried = re.search(r"Tried: (.*)", answer.output)
    seen = versions.group(1) if versions else tried.group(1) if tried else "none"
    asked = _chains(answer, requests) or [
        f"asked for at {r.place}" for r in requests.requirements if r.name == name
    ]
    return ReproError(
        "lock-no-version",
        f"no version of `{name}` fits `{wanted}` on this Python",
        found=[*asked, f"offered: {seen[-600:]}"],
        needs="a version that is offered for this Python",
        done=_KEPT,
        tries=[f"loosen or correct `{name}`", "set another `dependencies.python` in repro.toml"],
    )


def _metadata(answer: Answer, _found: re.Match[str], _requests: Requests) -> ReproError:
    about = re.findall(r"^.*(?:has invalid metadata|Requested ).*$", answer.output, re.MULTILINE)
    return ReproError(
        "lock-invalid-metadata",
        "a release has metadata that pip 24.1 and newer refuse",
        found=[line.strip() for line in about[:4]] or answer.tail(4),
        needs="another version of that release, or pip 24.0",
        done=_KEPT,
        tries=["pin a newer version of the release named above", "repro explain lock-invalid-metadata"],
    )


def _build(answer: Answer, _found: re.Match[str], _requests: Requests) -> ReproError:
    return ReproError(
        "lock-needs-build",
        "a requirement has no wheel for this Python, and its source archive could not be read or built",
        found=answer.tail(10),
        needs="a wheel for this Python, or a base image with the compiler and headers that it needs",
        done=_KEPT,
        tries=[
            "choose a version that has a wheel",
            "build the wheel once and name its folder in `dependencies.find_links`",
        ],
    )


def _network(code: str, needs: str) -> Callable[[Answer, re.Match[str], Requests], ReproError]:
    def make(answer: Answer, found: re.Match[str], _requests: Requests) -> ReproError:
        host = re.search(
            r"host='([^']+)'|https?://(?:\*+@)?([^/\s'\"]+)", answer.output[max(0, found.start() - 400) :]
        )
        name = next((g for g in host.groups() if g), "") if host else ""
        shown = f"the package index `{name}`" if name else "a package index"
        return ReproError(
            code,
            f"{shown} does not answer inside the target",
            found=found.group(0)[:300],
            needs=needs,
            done=_KEPT,
            tries=["pip config list", "repro lock"],
        )

    return make


def _full(answer: Answer, _found: re.Match[str], _requests: Requests) -> ReproError:
    return ReproError(
        "disk-full",
        "no space is left on the disk of the target",
        found=answer.tail(2),
        done=_KEPT,
        tries=["free some space, then run the same command again", "docker system df"],
    )


def _removed_hash(answer: Answer, _found: re.Match[str], _requests: Requests) -> ReproError:
    return ReproError(
        "lock-hash-mismatch",
        "a downloaded file does not have the hash that was asked for",
        found=answer.tail(8),
        done=_KEPT,
        tries=["repro lock"],
    )


_CAUSES: list[tuple[str, Callable[[Answer, re.Match[str], Requests], ReproError]]] = [
    (r"No space left on device|Errno 28|Disk quota exceeded", _full),
    (r"Please use pip<24\.1|has invalid metadata", _metadata),
    (r"Could not find a version that satisfies the requirement ([^(\n]+)", _no_match),
    (r"ResolutionImpossible|There are incompatible versions in the resolved dependencies", _conflict),
    (r"CERTIFICATE_VERIFY_FAILED[^\n]*",
     _network("lock-index-certificate", "a certificate that the CA bundle knows")),
    (r"ProxyError[^\n]*|Tunnel connection failed[^\n]*",
     _network("lock-index-proxy", "a proxy that lets this host through")),
    (r"Name or service not known[^\n]*|Temporary failure in name resolution[^\n]*|getaddrinfo failed[^\n]*",
     _network("lock-index-dns", "a name that the target can resolve")),
    (r"\b40[13] (?:Client Error|Unauthorized|Forbidden)[^\n]*",
     _network("lock-index-login", "a login in ~/.netrc")),
    (r"DO NOT MATCH THE HASHES", _removed_hash),
    (r"metadata-generation-failed|subprocess-exited-with-error|Failed to build|error: command '[^']*gcc",
     _build),
    (r"Could not find a version that matches ([^(\n]+)", _no_match),
    (r"No matching distribution found for ([^\n]+)", _no_match),
    (r"Max retries exceeded[^\n]*|Connection refused[^\n]*|Read timed out[^\n]*",
     _network("lock-index-unreachable", "an answer from the index")),
]  # fmt: skip
