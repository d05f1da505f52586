"""How a registry asks who is there, and the answer: Basic, or a token fetched from where it points to.

Token flow: distribution's `docs/spec/auth/token.md` and `oauth.md`.
"""

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from repro.registry.credentials import Login

_FIELD = re.compile(r'([A-Za-z_]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))')
_CLIENT = "repro"


@dataclass(frozen=True)
class Challenge:
    """The header `WWW-Authenticate`: kind in small letters, and its fields."""

    kind: str
    fields: Mapping[str, str] = field(default_factory=dict)


def read(header: str) -> Challenge:
    """The first challenge of a header that we can answer; kind is empty when there is none."""
    kind, _, rest = header.strip().partition(" ")
    if kind.lower() not in ("basic", "bearer"):
        return Challenge("")
    found = {name.lower(): quoted or plain for name, quoted, plain in _FIELD.findall(rest)}
    return Challenge(kind.lower(), found)


def basic(login: Login) -> str:
    """Value of the header `Authorization` for a name and a password."""
    return "Basic " + base64.b64encode(f"{login.user}:{login.password}".encode()).decode()


@dataclass(frozen=True)
class TokenRequest:
    """What to ask a token server: method, address, query or form, and the header with the login if any."""

    method: str
    url: str
    words: dict[str, str]
    header: str = ""


def token_request(challenge: Challenge, scope: str, login: Login | None) -> TokenRequest:
    """The request for a token that allows `scope`."""
    words = {"service": challenge.fields.get("service", ""), "scope": scope}
    realm = challenge.fields.get("realm", "")
    if login and login.refresh:
        words |= {"grant_type": "refresh_token", "refresh_token": login.refresh, "client_id": _CLIENT}
        return TokenRequest("POST", realm, words)
    return TokenRequest("GET", realm, words, basic(login) if login else "")


def token_of(document: Any) -> str:
    """The token in a server's answer, or empty."""
    if not isinstance(document, dict):
        return ""
    found = document.get("token") or document.get("access_token") or ""
    return found if isinstance(found, str) else ""


# Fetches what a token server answers to a request.
Fetch = Callable[[TokenRequest], Any]


class Authority:
    """The header `Authorization` for each scope, as a registry's challenges ask for it."""

    def __init__(self, login: Callable[[], Login | None], fetch: Fetch) -> None:
        self._find, self._fetch = login, fetch
        self.known: Login | None = None
        self._asked = False
        self._headers: dict[str, str] = {}

    @property
    def login(self) -> Login | None:
        """Who is asking; the credential store is read once, and only when a registry wants a login."""
        if not self._asked:
            self.known, self._asked = self._find(), True
        return self.known

    def header(self, scope: str) -> str:
        """What to send with a request in that scope; empty before any challenge."""
        return self._headers.get(scope, "")

    def answer(self, header: str, scope: str) -> bool:
        """Meet a challenge; False when it cannot be met, or was met like this before."""
        challenge = read(header)
        before = self._headers.get(scope, "")
        if challenge.kind == "basic" and self.login:
            self._headers[scope] = basic(self.login)
        elif challenge.kind == "bearer" and challenge.fields.get("realm"):
            token = token_of(self._fetch(token_request(challenge, _wanted(challenge, scope), self.login)))
            self._headers[scope] = f"Bearer {token}" if token else ""
        return self._headers.get(scope, "") not in ("", before)


def _wanted(challenge: Challenge, scope: str) -> str:
    """Our scope, which covers all that is done in the repository; the registry's own for anything else."""
    asked = challenge.fields.get("scope", "")
    return scope if asked.rpartition(":")[0] in ("", scope.rpartition(":")[0]) else asked
