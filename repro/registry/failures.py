"""What a registry or the way to it refuses, as a cause with a next step."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repro import redact
from repro.errors import ReproError

if TYPE_CHECKING:
    from requests import Response

_SHOWN = 300
_CERTS = Path("/etc/docker/certs.d")
_NOT_TLS = re.compile(
    r"WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE|UNKNOWN_PROTOCOL|HTTP_REQUEST", re.IGNORECASE
)
_KEPT = "what has arrived whole is kept, and is not sent again by the next try"


@dataclass(frozen=True)
class Asking:
    """What was asked of which registry, for the words of an error; `user` as whom, empty for nobody."""

    host: str
    repository: str
    what: str
    user: str = ""

    @property
    def place(self) -> str:
        """Registry and repository."""
        return f"{self.host}/{self.repository}"


def is_not_tls(problem: Exception) -> bool:
    """Whether something answered a TLS greeting with words that are none, as a server of plain http does."""
    return bool(_NOT_TLS.search(str(problem)))


def unreachable(problem: Exception, asking: Asking) -> ReproError:
    """The error for a request that got no answer."""
    said = str(problem)
    code, _fits, message, needs, tries = next(row for row in _CAUSES if row[1](problem, said))
    return ReproError(
        code,
        message.format(host=asking.host),
        found=[_short(_reason(problem)), f"while {asking.what}"],
        needs=needs,
        done=_KEPT,
        tries=[line.format(**_words(asking.host)) for line in tries],
    )


def refused(reply: "Response", asking: Asking) -> ReproError:
    """The error for an answer that is a refusal."""
    status = reply.status_code
    row = _STATUSES.get(status) or (_SERVER if status >= 500 else _OTHER)
    code, message, needs, tries = row
    who = f"with the login of `{asking.user}`" if asking.user else "without a login"
    seen = [f"HTTP status {status} while {asking.what}, {who}", *words(reply)]
    if wait := reply.headers.get("Retry-After", ""):
        seen.append(f"it asks to wait {_short(wait)} s")
    names = {"host": asking.host, "place": asking.place}
    return ReproError(
        code,
        message.format(**names),
        found=seen,
        needs=needs,
        done=_KEPT,
        tries=[line.format(**names) for line in tries],
    )


def words(reply: "Response") -> list[str]:
    """What a registry says of its refusal, shortened and without credentials."""
    try:
        rows = reply.json()["errors"]
        told = [f"{row.get('code', '')}: {row.get('message', '')}" for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
    return [_short(line) for line in told[:3]]


def codes(reply: "Response") -> set[str]:
    """The registry's words for what is wrong (distribution specification, "Error Codes")."""
    try:
        return {str(row["code"]) for row in reply.json()["errors"]}
    except (ValueError, KeyError, TypeError):
        return set()


def _short(text: str) -> str:
    line = " ".join(redact.text(text).split())
    printable = "".join(c if c.isprintable() else "?" for c in line)
    return printable if len(printable) <= _SHOWN else printable[:_SHOWN] + "…"


def _reason(problem: Exception) -> str:
    """The innermost cause; the library wraps it in names of its own classes and in the whole address."""
    inner = getattr(problem.args[0], "reason", problem.args[0]) if problem.args else problem
    text = str(inner) or type(problem).__name__
    return re.sub(r"^.*?(?:object at 0x[0-9a-f]+>|HTTPS?Connection(?:Pool)?\([^)]*\)): ?", "", text)


def _words(host: str) -> dict[str, str]:
    """What the next commands are made of: the host, its name alone, and with a port in any case."""
    name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    name = name or host
    numbered = host if port.isdigit() and name != host else f"{host}:443"
    return {"host": host, "name": name, "peer": numbered, "bundle": _bundle(host)}


def _bundle(host: str) -> str:
    """The file by which Docker's engine trusts that registry, where there is one."""
    own = _CERTS / host / "ca.crt"
    return str(own) if own.is_file() else "/path/of/the/bundle.crt"


_Cause = tuple[str, Callable[[Exception, str], bool], str, str, tuple[str, ...]]
_CAUSES: list[_Cause] = [
    (
        "registry-plain",
        lambda p, _s: is_not_tls(p),
        "registry `{host}` does not speak https",
        "https; plain http is used for registries on this machine alone, unless --insecure is given",
        ("add --insecure, if nobody else can read or change what goes over that network",),
    ),
    (
        "registry-certificate",
        lambda _p, s: "CERTIFICATE" in s.upper() or "SSL" in s.upper(),
        "the certificate of registry `{host}` is not trusted",
        "a certificate for that name, signed by an authority that this machine knows",
        ("export REQUESTS_CA_BUNDLE={bundle}", "openssl s_client -showcerts -connect {peer}"),
    ),
    (
        "registry-no-answer",
        lambda p, s: type(p).__name__ == "ProxyError" or "proxy" in s.lower(),
        "the proxy on the way to registry `{host}` does not let through",
        "a proxy that answers, or none for this host",
        ("check HTTPS_PROXY and NO_PROXY",),
    ),
    (
        "registry-no-answer",
        lambda _p, s: "NameResolution" in s or "getaddrinfo" in s or "Name or service" in s,
        "the name of registry `{host}` is not known",
        "a name that this machine can resolve",
        ("check the reference for a typing error", "getent hosts {name}"),
    ),
    (
        "registry-no-answer",
        lambda _p, _s: True,
        "registry `{host}` does not answer",
        "an answer",
        ("run the same command again: it goes on where it stopped", "curl -I https://{host}/v2/"),
    ),
]

_DENIED = (
    "registry-denied",
    "registry `{host}` does not allow this for `{place}`",
    "a login that may do it; of a repository that is not there some registries say the same",
    ("docker login {host}",),
)
_STATUSES: dict[int, tuple[str, str, str, tuple[str, ...]]] = {
    401: _DENIED,
    403: _DENIED,
    404: (
        "registry-no-repository",
        "registry `{host}` has no such thing in `{place}`",
        "a repository that is there, or a registry that makes it when something is pushed",
        ("check the reference for a typing error", "docker login {host}"),
    ),
    413: (
        "registry-too-large",
        "registry `{host}`, or a proxy before it, takes no pieces of that size",
        "a limit of at least 1 MB a request (nginx: client_max_body_size 0)",
        ("raise the limit of the proxy before the registry", "use another registry"),
    ),
    429: (
        "registry-rate-limit",
        "registry `{host}` takes no more requests for now",
        "some patience, or a login, which has a higher limit in many registries",
        ("run the same command again later", "docker login {host}"),
    ),
}
_SERVER = (
    "registry-failed",
    "registry `{host}` has a fault of its own",
    "an answer that is not an error of the server",
    ("run the same command again: it goes on where it stopped", "read the registry's log"),
)
_OTHER = (
    "registry-refused",
    "registry `{host}` refuses this for `{place}`",
    "",
    ("read the registry's log",),
)
