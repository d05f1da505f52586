"""Speaks with one repository of a registry: OCI's distribution interface 1.1 over plain requests."""

from collections.abc import Callable, Iterable, Mapping
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from repro.registry import failures
from repro.registry.challenge import Authority, TokenRequest
from repro.registry.credentials import login_for
from repro.registry.failures import Asking
from repro.registry.patience import LONGEST_WAIT, PASSING, TRIES, passes, wait_before
from repro.registry.reference import Reference

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

_CONNECT, _READ = 15.0, 300.0  # seconds; a registry reads a whole blob again before it says yes
_HOPS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_DENIED = (401,)
_REGISTRY = (200, 401)  # what `GET /v2/` answers (distribution specification 1.1)

Body = Callable[[], bytes | Iterable[bytes]]


class Connection:
    """Requests to one repository. Logins are asked of Docker's store when the registry wants one.

    Args:
        insecure: allow plain http although the registry is not on this machine.
        writing: whether anything will be pushed; a token is asked for accordingly.
    """

    def __init__(self, reference: Reference, *, insecure: bool = False, writing: bool = False) -> None:
        import requests

        self.reference = reference
        self._plain_allowed = insecure or reference.local
        self._scope = f"repository:{reference.repository}:{'pull,push' if writing else 'pull'}"
        self._session = requests.Session()
        self._session.auth = _nobody
        self._session.headers["User-Agent"] = "repro"
        self._authority = Authority(lambda: login_for(reference.host), self._fetch_token)
        self._base = ""

    def close(self) -> None:
        """Give the connections back."""
        self._session.close()

    def ask(
        self,
        method: str,
        path: str,
        what: str,
        *,
        expect: tuple[int, ...] = (200,),
        headers: Mapping[str, str] | None = None,
        body: Body = bytes,
        stream: bool = False,
        once: bool = False,
    ) -> "Response":
        """The answer to one request.

        Args:
            method: of HTTP.
            path: below the repository, as `blobs/sha256:…`; or a whole address that the registry gave.
            what: what is being done, for errors: "asking for …".
            expect: statuses that are no error.
            headers: besides those of every request.
            body: gives the content anew for each try.
            stream: leave the answer's body to be read by the caller, who closes it.
            once: do not try again after a fault that may pass; raise `requests.RequestException`, or give
                the answer back whatever its status is.

        Raises:
            registry-denied, registry-no-repository, registry-too-large, registry-rate-limit,
            registry-failed, registry-refused, registry-no-answer, registry-certificate, registry-plain.
        """
        from requests import RequestException

        for attempt in range(1 if once else TRIES):
            last = attempt == TRIES - 1
            try:
                reply = self._through(method, path, dict(headers or {}), body, stream=stream)
            except RequestException as problem:
                if once:
                    raise
                if last or not passes(problem):
                    raise self.unreachable(problem, what) from None
                sleep(min(2.0**attempt / 2, LONGEST_WAIT))
                continue
            if reply.status_code in expect or once:
                return reply
            wait = wait_before(reply, attempt)
            if last or reply.status_code not in PASSING or wait > LONGEST_WAIT:
                raise self.refused(reply, what)
            reply.close()
            sleep(wait)
        raise AssertionError

    def unreachable(self, problem: Exception, what: str) -> Exception:
        """The error for a request without an answer."""
        return failures.unreachable(problem, self._asking(what))

    def refused(self, reply: "Response", what: str) -> Exception:
        """The error for an answer that was not expected."""
        try:
            return failures.refused(reply, self._asking(what))
        finally:
            reply.close()

    def _asking(self, what: str) -> Asking:
        login = self._authority.known
        user = (login.user or "an identity token") if login else ""
        return Asking(self.reference.host, self.reference.repository, what, user)

    def _through(
        self, method: str, path: str, headers: dict[str, str], body: Body, *, stream: bool
    ) -> "Response":
        """One answer, after the registry's question who is asking, and after redirections."""
        url = path if "://" in path else f"{self._root()}/v2/{self.reference.repository}/{path}"
        reply = self._follow(method, url, headers, body, stream=stream)
        challenge = reply.headers.get("WWW-Authenticate", "")
        asked = reply.status_code in _DENIED and self._is_own(reply.url)  # others are not told who is asking
        if asked and self._authority.answer(challenge, self._scope):
            reply.close()
            reply = self._follow(method, url, headers, body, stream=stream)
        return reply

    def _follow(
        self, method: str, url: str, headers: dict[str, str], body: Body, *, stream: bool
    ) -> "Response":
        hops = 0
        while True:
            own = dict(headers)
            if self._is_own(url) and (header := self._authority.header(self._scope)):
                own["Authorization"] = header
            reply = self._send(method, url, own, body(), stream=stream)
            hops += 1
            if reply.status_code not in _REDIRECTS or "Location" not in reply.headers or hops == _HOPS:
                return reply
            url = self.address(reply)
            reply.close()

    def address(self, reply: "Response") -> str:
        """Where an answer points to.

        Raises:
            registry-refused: from https to plain http, where others could read along.
        """
        try:
            found = urljoin(reply.url, reply.headers.get("Location", ""))
            before, after = urlsplit(reply.url), urlsplit(found)
        except ValueError:
            raise self.refused(reply, "being led on to what is no address") from None
        if after.scheme != "https" and (before.scheme == "https" or after.scheme != "http"):
            raise self.refused(reply, f"being led on to `{after.scheme}://{after.hostname or ''}`")
        return found

    def _send(
        self, method: str, url: str, headers: dict[str, str], data: bytes | Iterable[bytes], *, stream: bool
    ) -> "Response":
        return self._session.request(
            method,
            url,
            headers=headers,
            data=data or None,
            stream=stream,
            timeout=(_CONNECT, _READ),
            allow_redirects=False,
        )

    def _is_own(self, url: str) -> bool:
        """Whether an address is the registry's own: nobody else is shown the login."""
        there, here = urlsplit(url), urlsplit(self._base)
        return (there.scheme, there.netloc) == (here.scheme, here.netloc)

    def _root(self) -> str:
        """Scheme and host. Plain http only where it is allowed, and a registry answers to it."""
        if not self._base:
            plain = self._plain_allowed and self._speaks_plain()
            self._base = f"{'http' if plain else 'https'}://{self.reference.address}"
        return self._base

    def _speaks_plain(self) -> bool:
        """Asked first where it is allowed: a server of plain http may wait for a greeting's end for ever."""
        from requests import RequestException

        try:
            reply = self._session.get(
                f"http://{self.reference.address}/v2/", timeout=(_CONNECT, _CONNECT), allow_redirects=False
            )
        except RequestException:
            return False
        reply.close()
        return reply.status_code in _REGISTRY

    def _fetch_token(self, request: TokenRequest) -> Any:
        what = "asking for a token"
        if urlsplit(request.url).scheme != "https" and not self._base.startswith("http:"):
            raise self.unreachable(ValueError(f"the token server's address is no https: {request.url}"), what)
        headers = {"Authorization": request.header} if request.header else {}
        place: dict[str, Any] = {"data" if request.method == "POST" else "params": request.words}
        from requests import RequestException

        try:
            reply = self._session.request(
                request.method,
                request.url,
                headers=headers,
                timeout=(_CONNECT, _CONNECT),
                allow_redirects=False,
                **place,
            )
        except RequestException as problem:
            raise self.unreachable(problem, what) from None
        if reply.status_code != 200:
            raise self.refused(reply, what)
        try:
            return reply.json()
        except ValueError:
            raise self.refused(reply, what) from None


def _nobody(request: "PreparedRequest") -> "PreparedRequest":
    """No login by itself: requests would take one from ~/.netrc, also for whoever a redirection names."""
    return request
