"""Reads addresses of package indexes: proxy, CA bundle and logins as pip has them; causes told apart."""

import base64
import http.client
import netrc
import os
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from repro import redact
from repro.errors import ReproError
from repro.lock.pipconf import PipConfig

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_TIMEOUT = 30.0
# Besides what the system reports: an answer that is no HTTP, and an address that is none.
FAILURES = (OSError, http.client.HTTPException, ValueError)


class Reply(Protocol):
    """The parts of a response that are used."""

    headers: Message
    status: int | None
    url: str

    def read(self, amount: int = -1, /) -> bytes:
        """Next bytes of the body, at most `amount`; empty at its end."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


@dataclass(frozen=True)
class Page:
    """A whole answer: its address after redirects, its content type, its bytes."""

    url: str
    kind: str
    body: bytes


class Missing(Exception):  # noqa: N818 - an answer, not a failure
    """The address is not there (404, 410)."""


class Web:
    """Opens addresses with one configuration."""

    def __init__(self, config: PipConfig, trusted: tuple[str, ...] = ()) -> None:
        self._config = config
        self._trusted = {*trusted, *config.many("trusted-host")}
        self._openers: dict[bool, urllib.request.OpenerDirector] = {}
        self._down: dict[str, ReproError] = {}

    def page(self, url: str) -> Page:
        """The whole answer for an address; see `open`."""
        reply = self.open(url)
        try:
            return Page(reply.url or url, reply.headers.get("Content-Type", ""), reply.read())
        except FAILURES as problem:
            raise self._told(problem, url) from None
        finally:
            reply.close()

    def open(self, url: str, *, method: str = "GET", start: int = 0) -> Reply:
        """The response for an address, from byte `start` where the server can do that.

        Raises:
            Missing: the server says that there is no such address.
            lock-index-dns, -proxy, -certificate, -login, -unreachable: no answer, with its cause.
        """
        host = _host(url)
        if host in self._down:
            raise self._down[host]
        try:
            return self._asked(url, host, method, start)
        except urllib.error.HTTPError as problem:
            problem.close()
            if problem.code == 416 and start:  # past the end: the file there is shorter, or was whole
                return self.open(url, method=method)
            if problem.code in (404, 410):
                raise Missing(host) from None
            raise self._told(problem, url) from None
        except FAILURES as problem:
            self._down[host] = self._told(problem, url)
            raise self._down[host] from None

    def _asked(self, url: str, host: str, method: str, start: int) -> Reply:
        bare, login = split_login(url)
        headers = {"Accept": _ACCEPT, "User-Agent": "repro", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        if login:
            headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
        request = urllib.request.Request(bare, headers=headers, method=method)  # noqa: S310 - http(s) only, see below
        return self._opener(host).open(request, timeout=_TIMEOUT)  # type: ignore[no-any-return]

    def _told(self, problem: Exception, url: str) -> ReproError:
        return told(problem, _host(url), _Way(self._proxied(url), self._config.bundle))

    def _opener(self, host: str) -> urllib.request.OpenerDirector:
        checked = host not in self._trusted and not any(t.split(":")[0] == host for t in self._trusted)
        if checked not in self._openers:
            context = ssl.create_default_context(cafile=self._config.bundle or None)
            if not checked:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            proxy = self._config.proxy
            proxies = {"http": proxy, "https": proxy} if proxy else None
            handlers: list[Any] = [
                urllib.request.HTTPSHandler(context=context),
                urllib.request.ProxyHandler(proxies),
            ]
            self._openers[checked] = urllib.request.build_opener(*handlers)
        return self._openers[checked]

    def _proxied(self, url: str) -> str:
        proxy = self._config.proxy or urllib.request.getproxies().get(url.partition("://")[0], "")
        if not self._config.proxy and urllib.request.proxy_bypass(_host(url)):
            return ""
        return split_login(proxy)[0] if proxy else ""


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # half an IPv6 address
        return ""


def split_login(url: str) -> tuple[str, str]:
    """(address without login, `user:password` or empty); ~/.netrc is asked where the address has none."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        login, _, host = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=host)), ":".join(unquote(p) for p in login.split(":", 1))
    return url, _from_netrc(parts.hostname or "")


def _from_netrc(host: str) -> str:
    path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    try:
        found = netrc.netrc(path).authenticators(host) if host and path.is_file() else None
    except (netrc.NetrcParseError, OSError):
        return ""
    return f"{found[0]}:{found[2]}" if found else ""


@dataclass(frozen=True)
class _Way:
    """What lies between this machine and an index: proxy without login, path of the CA bundle; or empty."""

    proxy: str
    bundle: str


def told(problem: Exception, host: str, way: _Way) -> ReproError:
    """The error for a failed address: name resolution, proxy, certificate, login, or anything else."""
    reason = problem.reason if isinstance(problem, urllib.error.URLError) else problem
    code, _fits, needs, tries = next(row for row in _CAUSES if row[1](problem, reason, way))
    through = [f"through the proxy `{way.proxy}`"] if way.proxy else []
    checked = [f"checked with the CA bundle `{way.bundle or 'of the system'}`"]
    return ReproError(
        code,
        f"the package index `{host}` does not answer",
        found=[
            _seen(problem, reason),
            *through,
            *(checked if code == "lock-index-certificate" else []),
        ],
        needs=needs,
        done="what was downloaded before is kept and used by the next try",
        tries=tries,
    )


def _seen(problem: Exception, reason: object) -> str:
    if isinstance(problem, urllib.error.HTTPError):
        return f"HTTP status {problem.code}"
    if isinstance(problem, http.client.HTTPException):
        return f"an answer that is no HTTP ({type(problem).__name__})"
    return redact.text(str(reason)) or type(problem).__name__


_Cause = tuple[str, Callable[[Exception, Any, _Way], bool], str, tuple[str, ...]]
_CAUSES: list[_Cause] = [
    (
        "lock-index-login",
        lambda p, _r, _w: isinstance(p, urllib.error.HTTPError) and p.code in (401, 403),
        "a login for that host in ~/.netrc, or as ${NAME} in the address",
        ("add a line `machine HOST login USER password ...` to ~/.netrc",),
    ),
    (
        "lock-index-proxy",
        lambda p, r, way: (
            "tunnel connection failed" in str(r).lower()
            or getattr(p, "code", 0) == 407
            # With a proxy, names are resolved and connections made to it alone.
            or (bool(way.proxy) and isinstance(r, (ConnectionError, socket.gaierror)))
        ),
        "a proxy that answers and lets this host through",
        ("check HTTPS_PROXY and NO_PROXY", "pip config list"),
    ),
    (
        "lock-index-certificate",
        lambda _p, r, _w: isinstance(r, (ssl.SSLError, FileNotFoundError, IsADirectoryError)),
        "a certificate that the CA bundle in use knows",
        ("pip config set global.cert /path/of/the/bundle.crt",),
    ),
    (
        "lock-index-dns",
        lambda _p, r, _w: isinstance(r, socket.gaierror),
        "a name that this machine can resolve, or a proxy that resolves it",
        ("check the address for a typing error", "check HTTPS_PROXY, if this network needs one"),
    ),
    (
        "lock-index-unreachable",
        lambda _p, _r, _w: True,
        "an answer from the index",
        ("repro lock", "name another index with `dependencies.index_url` in repro.toml"),
    ),
]
