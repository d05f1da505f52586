"""A real registry (Debian's docker-registry) on loopback, a server of tokens, a relay that makes faults."""

import base64
import contextlib
import datetime
import http.client
import http.server
import ipaddress
import json
import re
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import NameOID

USER, PASSWORD = "walter", "open-sesame"
# bcrypt of PASSWORD, as `htpasswd -B` writes it
_HTPASSWD = f"{USER}:$2y$05$abcdefghijklmnopqrstuutXu9KzOt.1yBoZUeFWoT/914/JfszCO\n"
_SECONDS = 30


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass
class Registry:
    """One running registry; `address` is host and port."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def uploads(self) -> list[Path]:
        """Folders of uploads that were begun and not ended."""
        return list(self.folder.glob("store/**/_uploads/*"))


@contextmanager
def registry(
    folder: Path, auth: dict[str, Any] | None = None, tls: "Certificate | None" = None
) -> Iterator[Registry]:
    port = free_port()
    http_part: dict[str, Any] = {"addr": f"127.0.0.1:{port}", "secret": "of-this-test"}
    if tls:
        http_part["tls"] = {"certificate": str(tls.chain), "key": str(tls.key)}
    config = {
        "version": 0.1,
        "log": {"level": "info"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "store")}, "delete": {"enabled": True}},
        "http": http_part,
    }
    if auth:
        config["auth"] = auth
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))  # JSON is YAML
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["docker-registry", "serve", str(folder / "config.json")], stdout=log, stderr=log
        )
    try:
        _wait(port, process)
        yield Registry(folder, port, process)
    finally:
        process.terminate()
        process.wait(timeout=_SECONDS)


def _wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError("docker-registry did not start")


def passwords(folder: Path) -> dict[str, Any]:
    """The registry's setting for a login by name and password."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "htpasswd").write_text(_HTPASSWD)
    return {"htpasswd": {"realm": "here", "path": str(folder / "htpasswd")}}


@dataclass(frozen=True)
class Certificate:
    """Files of a certificate for 127.0.0.1, its key, and the authority that signed it."""

    chain: Path
    key: Path
    authority: Path
    signer: ec.EllipticCurvePrivateKey


def certificate(folder: Path) -> Certificate:
    folder.mkdir(parents=True, exist_ok=True)
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = _certificate("authority", root_key, "authority", root_key)
    own = _certificate("registry", key, "authority", root_key)
    pem = serialization.Encoding.PEM
    (folder / "ca.crt").write_bytes(root.public_bytes(pem))
    (folder / "own.crt").write_bytes(own.public_bytes(pem))
    (folder / "own.key").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return Certificate(folder / "own.crt", folder / "own.key", folder / "ca.crt", key)


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: str, signer: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    def called(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    builder = (
        x509.CertificateBuilder()
        .subject_name(called(name))
        .issuer_name(called(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(ca=name == issuer, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
    )
    return builder.sign(signer, hashes.SHA256())


@dataclass
class Tokens:
    """Gives tokens to USER with PASSWORD, or for the refresh token, and notes what was asked."""

    address: str
    signer: Certificate
    refresh: str = "an-identity-token"
    seconds: int = 300
    asked: list[dict[str, str]] = field(default_factory=list)

    def setting(self) -> dict[str, Any]:
        """The registry's setting that sends clients here."""
        return {
            "token": {
                "realm": f"{self.address}/token",
                "service": "registry",
                "issuer": "tokens",
                "rootcertbundle": str(self.signer.authority),
            }
        }

    def answer(self, words: dict[str, str], login: str) -> str | None:
        self.asked.append({**words, "login": login})
        known = words.get("refresh_token") == self.refresh or login == f"{USER}:{PASSWORD}"
        return self._token(words.get("scope", "")) if known else None

    def _token(self, scope: str) -> str:
        now = int(time.time())
        kind, name, actions = scope.split(":")
        der = x509.load_pem_x509_certificate(self.signer.chain.read_bytes()).public_bytes(
            serialization.Encoding.DER
        )
        head = {"typ": "JWT", "alg": "ES256", "x5c": [base64.b64encode(der).decode()]}
        claims = {
            "iss": "tokens", "sub": USER, "aud": "registry", "jti": secrets.token_hex(8),
            "iat": now, "nbf": now - 5, "exp": now + self.seconds,
            "access": [{"type": kind, "name": name, "actions": actions.split(",")}],
        }  # fmt: skip
        text = ".".join(_base64(json.dumps(part).encode()) for part in (head, claims))
        r, s = decode_dss_signature(self.signer.signer.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{_base64(r.to_bytes(32) + s.to_bytes(32))}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def tokens(signer: Certificate) -> Iterator[Tokens]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer({k: v[0] for k, v in parse_qs(body).items()})

        def _answer(self, words: dict[str, str]) -> None:
            kind, _, value = self.headers.get("Authorization", "").partition(" ")
            login = base64.b64decode(value).decode() if kind == "Basic" else ""
            token = made.answer(words, login)
            data = json.dumps({"token": token} if token else {"details": "no"}).encode()
            self.send_response(200 if token else 401)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_words: object) -> None:
            pass

    with _serving(Handler) as address:
        made = Tokens(f"http://{address}", signer)
        yield made


@dataclass
class Fault:
    """Trouble with the next `times` requests of a kind.

    `status` answers in the registry's place; `sent` passes on so many bytes of the request's body and cuts;
    `given` passes on so many bytes of the answer and cuts; `alter` changes the last byte of the answer;
    with none of them the connection is cut at once. `range` says which pieces are meant.
    """

    method: str
    path: str
    times: int = 1
    after: int = 0
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    sent: int | None = None
    given: int | None = None
    alter: bool = False
    range: str = ""


@dataclass
class Relay:
    """Stands before a registry; `seen` lists method, path and range of every request, `headers` all else."""

    address: str
    faults: list[Fault] = field(default_factory=list)
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def count(self, method: str, path: str = "") -> int:
        return sum(m == method and bool(re.search(path, p)) for m, p, _range in self.seen)

    def due(self, method: str, path: str, place: str) -> Fault | None:
        for fault in self.faults:
            meant = fault.method == method and re.search(fault.path, path)
            if meant and re.search(fault.range, place):
                fault.after -= 1
                if fault.after < 0 and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None


@contextmanager
def relay(backend: str) -> Iterator[Relay]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            self.close_connection = True
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            place = self.headers.get("Content-Range") or self.headers.get("Range") or ""
            made.seen.append((self.command, self.path, place))
            made.headers.append(dict(self.headers))
            fault = made.due(self.command, self.path, place)
            if fault and fault.status:
                return self._give(fault.status, {**fault.headers, "Content-Length": "0"}, b"")
            if fault and fault.sent is not None:
                return _cut(backend, self.command, self.path, dict(self.headers), body[: fault.sent])
            if fault and fault.given is None and not fault.alter:
                return None
            status, headers, data = _ask(backend, self.command, self.path, dict(self.headers), body)
            if fault and fault.alter and data:
                data = data[:-1] + bytes([data[-1] ^ 1])
            return self._give(
                status, headers, data if not fault or fault.given is None else data[: fault.given]
            )

        do_GET = do_HEAD = do_POST = do_PATCH = do_PUT = _pass  # noqa: N815

        def _give(self, status: int, headers: dict[str, str], data: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in ("connection", "transfer-encoding"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_words: object) -> None:
            pass

    with _serving(Handler) as address:
        made = Relay(address)
        yield made


def _ask(
    backend: str, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(backend, timeout=_SECONDS)
    try:
        connection.request(method, path, body=body or None, headers=headers)
        reply = connection.getresponse()
        data = reply.read()
        found = dict(reply.getheaders())
        if method != "HEAD":
            found["Content-Length"] = str(len(data))
        return reply.status, found, data
    finally:
        connection.close()


def _cut(backend: str, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
    """Send the head of a request and the first bytes of its body, and go away."""
    host, _, port = backend.partition(":")
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        time.sleep(0.2)  # what lies unread when a connection is reset is lost


@contextmanager
def _serving(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
