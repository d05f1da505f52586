"""Reads addresses of package indexes: proxy, CA bundle and logins as pip has them; causes told apart."""

import base64
import netrc
import os
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from repro.errors import ReproError
from repro.lock.pipconf import PipConfig

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_TIMEOUT = 30.0


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


class Missing(Exception):  # noqa: N818 - an answer, not a failure
    """The address is not there (404, 410)."""


class Web:
    """Opens addresses with one configuration."""

    def __init__(self, config: PipConfig, trusted: tuple[str, ...] = ()) -> None:
        self._config = config
        self._trusted = {*trusted, *config.many("trusted-host")}
        self._openers: dict[bool, urllib.request.OpenerDirector] = {}
        self._down: dict[str, ReproError] = {}

    def open(self, url: str, *, method: str = "GET", start: int = 0) -> Reply:
        """The response for an address, from byte `start` where the server can do that.

        Raises:
            Missing: the server says that there is no such address.
            lock-index-dns, -proxy, -certificate, -login, -unreachable: no answer, with its cause.
        """
        host = urlsplit(url).hostname or ""
        if host in self._down:
            raise self._down[host]
        bare, login = split_login(url)
        headers = {"Accept": _ACCEPT, "User-Agent": "repro", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        if login:
            headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
        request = urllib.request.Request(bare, headers=headers, method=method)  # noqa: S310 - http(s) only, see below
        try:
            return self._opener(host).open(request, timeout=_TIMEOUT)  # type: ignore[no-any-return]
        except urllib.error.HTTPError as problem:
            problem.close()
            if problem.code in (404, 410):
                raise Missing(host) from None
            raise told(problem, host, self._proxied(bare)) from None
        except (urllib.error.URLError, TimeoutError, ssl.SSLError, OSError) as problem:
            error = told(problem, host, self._proxied(bare))
            self._down[host] = error
            raise error from None

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
        scheme = urlsplit(url).scheme
        proxy = self._config.proxy or urllib.request.getproxies().get(scheme, "")
        return split_login(proxy)[0] if proxy else ""


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


def told(problem: Exception, host: str, proxy: str) -> ReproError:
    """The error for a failed address: name resolution, proxy, certificate, login, or anything else."""
    reason = getattr(problem, "reason", problem)
    for code, fits, needs, tries in _CAUSES:
        if fits(problem, reason):
            return _error(code, host, proxy, _seen(problem, reason), needs, tries)
    tries = ("repro lock", "name another index with `dependencies.index_url` in repro.toml")
    return _error(
        "lock-index-unreachable", host, proxy, _seen(problem, reason), "an answer from the index", tries
    )


def _seen(problem: Exception, reason: object) -> str:
    if isinstance(problem, urllib.error.HTTPError):
        return f"HTTP status {problem.code}"
    return str(reason) or type(problem).__name__


def _error(code: str, host: str, proxy: str, seen: str, needs: str, tries: tuple[str, ...]) -> ReproError:
    through = [f"through the proxy `{proxy}`"] if proxy else []
    done = "what was downloaded before is kept and used by the next try"
    return ReproError(
        code,
        f"the package index `{host}` does not answer",
        found=[seen, *through],
        needs=needs,
        done=done,
        tries=tries,
    )


_Cause = tuple[str, Callable[[Exception, Any], bool], str, tuple[str, ...]]
_CAUSES: list[_Cause] = [
    (
        "lock-index-login",
        lambda p, _: isinstance(p, urllib.error.HTTPError) and p.code in (401, 403),
        "a login for that host in ~/.netrc, or as ${NAME} in the address",
        ("add a line `machine HOST login USER password ...` to ~/.netrc",),
    ),
    (
        "lock-index-proxy",
        lambda p, r: "tunnel connection failed" in str(r).lower() or getattr(p, "code", 0) == 407,
        "a proxy that lets this host through",
        ("check HTTPS_PROXY and NO_PROXY", "pip config list"),
    ),
    (
        "lock-index-certificate",
        lambda _, r: isinstance(r, ssl.SSLError),
        "a certificate that the CA bundle in use knows",
        ("pip config set global.cert /path/of/the/bundle.crt",),
    ),
    (
        "lock-index-dns",
        lambda _, r: isinstance(r, socket.gaierror),
        "a name that this machine can resolve, or a proxy that resolves it",
        ("check the address for a typing error", "check HTTPS_PROXY, if this network needs one"),
    ),
]
