"""Who may, how the registry knows, over which wire; and that no login is ever shown or given to others."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from repro import paths
from repro.errors import ReproError
from repro.events import Meter, silent
from repro.registry import Connection, Downloads, parse
from repro.registry.challenge import read

from . import servers
from .conftest import MEGA, Heard, make_image, pusher
from .servers import PASSWORD, USER, Fault, Relay, Tokens, free_port, passwords
from .servers import registry as running

pytestmark = pytest.mark.registry
WRONG = "swordfish"


def log_in(folder: Path, host: str, user: str = USER, password: str = PASSWORD, **more: object) -> None:
    """Write Docker's settings file as `docker login` does."""
    folder.mkdir(parents=True, exist_ok=True)
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    (folder / "config.json").write_text(json.dumps({"auths": {host: {"auth": login, **more}}}))


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[servers.Registry]:
    """A registry that wants a name and a password."""
    with running(tmp_path / "closed", passwords(tmp_path / "closed")) as found:
        yield found


@pytest.fixture
def tokens(tmp_path: Path) -> Iterator[Tokens]:
    with servers.tokens(servers.certificate(tmp_path / "signer")) as found:
        yield found


@pytest.fixture
def guarded(tmp_path: Path, tokens: Tokens) -> Iterator[servers.Registry]:
    """A registry that sends its callers to the token server."""
    with running(tmp_path / "guarded", tokens.setting()) as found:
        yield found


def test_a_login_by_name_and_password(closed: servers.Registry, cache: Path, tmp_path: Path) -> None:
    log_in(tmp_path / "docker", closed.address)
    image = make_image(cache)
    assert pusher(closed.address, cache).image(image, "one").blobs == 3


def test_without_a_login_it_is_told_how(closed: servers.Registry, cache: Path) -> None:
    with pytest.raises(ReproError) as raised:
        pusher(closed.address, cache).image(make_image(cache), "one")
    assert raised.value.code == "registry-denied"
    assert "without a login" in raised.value.found[0]
    assert f"docker login {closed.address}" in raised.value.tries


def test_a_wrong_password_is_told_without_it(closed: servers.Registry, cache: Path, tmp_path: Path) -> None:
    log_in(tmp_path / "docker", closed.address, password=WRONG)
    heard = Heard()
    with pytest.raises(ReproError) as raised:
        pusher(closed.address, cache, sink=heard).image(make_image(cache), "one")
    assert raised.value.code == "registry-denied"
    assert f"the login of `{USER}`" in raised.value.found[0]
    assert WRONG not in f"{raised.value.document()} {heard} {closed.log}"


def helper(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program that keeps logins, as Docker's settings file may name one."""
    program = folder / "bin" / "docker-credential-mine"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    (folder / "docker").mkdir()
    (folder / "docker" / "config.json").write_text('{"credsStore": "mine"}')


def test_a_login_out_of_a_helper_program(
    closed: servers.Registry, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = json.dumps({"Username": USER, "Secret": PASSWORD})
    helper(tmp_path, monkeypatch, f"read host; test \"$host\" = {closed.address} && echo '{answer}'")
    assert pusher(closed.address, cache).image(make_image(cache), "one").blobs == 3


def test_a_helper_program_that_fails_is_named(
    closed: servers.Registry, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper(tmp_path, monkeypatch, "echo the store is locked; exit 1")
    with pytest.raises(ReproError) as raised:
        pusher(closed.address, cache).image(make_image(cache), "one")
    assert raised.value.code == "registry-credentials"
    assert "the store is locked" in raised.value.found[0]


def test_an_open_registry_is_shown_no_login(
    cache: Path, tmp_path: Path, registry: servers.Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is not even read: a helper program may ask the user for a password."""
    helper(tmp_path, monkeypatch, f"touch {tmp_path / 'was-asked'}")
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")
    pusher(registry.address, cache).image(make_image(cache), "one")
    assert not (tmp_path / "was-asked").exists()


def test_a_login_of_netrc_is_not_used(closed: servers.Registry, cache: Path, tmp_path: Path) -> None:
    """It is for package indexes; a registry's is where `docker login` puts it."""
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")
    with pytest.raises(ReproError, match="does not allow"):
        pusher(closed.address, cache).image(make_image(cache), "one")


def test_tokens_are_fetched_for_what_is_done(
    guarded: servers.Registry, tokens: Tokens, cache: Path, tmp_path: Path
) -> None:
    log_in(tmp_path / "docker", guarded.address)
    image = make_image(cache)
    assert pusher(guarded.address, cache).image(image, "one").blobs == 3
    assert {row["login"] for row in tokens.asked} == {f"{USER}:{PASSWORD}"}
    assert {row["service"] for row in tokens.asked} == {"registry"}
    assert [row["scope"] for row in tokens.asked] == ["repository:team/name:pull,push"]
    tokens.asked.clear()
    layer = image.layers[0]
    connection = Connection(parse(f"{guarded.address}/team/name"))
    Downloads(connection, tmp_path / "other", Meter(silent, "x", 0)).fetch(layer.digest, layer.bytes)
    assert [row["scope"] for row in tokens.asked] == ["repository:team/name:pull"]


def test_an_identity_token_is_exchanged(
    guarded: servers.Registry, tokens: Tokens, cache: Path, tmp_path: Path
) -> None:
    log_in(tmp_path / "docker", guarded.address, identitytoken=tokens.refresh)
    assert pusher(guarded.address, cache).image(make_image(cache), "one").blobs == 3
    assert {row["grant_type"] for row in tokens.asked} == {"refresh_token"}


def test_a_token_that_runs_out_is_fetched_anew(
    guarded: servers.Registry, tokens: Tokens, cache: Path, tmp_path: Path
) -> None:
    """The registry's leeway is a minute: no test waits for that, so the token is spoilt by hand."""
    log_in(tmp_path / "docker", guarded.address)
    one = pusher(guarded.address, cache)
    one.image(make_image(cache), "one")
    before = len(tokens.asked)
    header = one.connection._authority._headers
    assert len(header) == 1
    header[next(iter(header))] = "Bearer stale"
    one.image(make_image(cache, (2 * MEGA,)), "two")
    assert len(tokens.asked) == before + 1


def test_no_token_for_a_wrong_password(guarded: servers.Registry, cache: Path, tmp_path: Path) -> None:
    log_in(tmp_path / "docker", guarded.address, password=WRONG)
    with pytest.raises(ReproError) as raised:
        pusher(guarded.address, cache).image(make_image(cache), "one")
    assert raised.value.code == "registry-denied"
    assert "asking for a token" in raised.value.found[0]
    assert WRONG not in str(raised.value.document())


def test_nobody_else_is_shown_a_login(closed: servers.Registry, cache: Path, tmp_path: Path) -> None:
    """A registry that leads on to another host (storage, or an attacker's) sends no header along."""
    with servers.relay(closed.address) as front, servers.relay(closed.address) as other:
        log_in(tmp_path / "docker", front.address)
        image = make_image(cache)
        pusher(front.address, cache).image(image, "one")
        layer = image.layers[0]
        place = f"http://{other.address}/v2/team/name/blobs/{layer.digest}"
        front.faults = [Fault("GET", "blobs", after=1, times=99, status=307, headers={"Location": place})]
        connection = Connection(parse(f"{front.address}/team/name"))
        downloads = Downloads(connection, tmp_path / "other", Meter(silent, "x", 0))
        with pytest.raises(ReproError) as raised:
            downloads.fetch(layer.digest, layer.bytes)
        assert raised.value.code == "registry-denied"
        assert other.count("GET", "blobs") == 1
        assert "Authorization" not in other.headers[-1]
        assert "Authorization" in front.headers[-1]


def test_a_certificate_must_be_known(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = servers.certificate(tmp_path / "tls")
    with running(tmp_path / "sealed", tls=own) as sealed:
        for insecure in (False, True):
            with pytest.raises(ReproError) as raised:
                pusher(sealed.address, cache, insecure=insecure).image(make_image(cache), "one")
            assert raised.value.code == "registry-certificate"
            assert "export REQUESTS_CA_BUNDLE=" in raised.value.tries[0]
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(own.authority))
        assert pusher(sealed.address, cache).image(make_image(cache), "one").blobs == 3


def test_plain_http_stays_on_this_machine(
    registry: servers.Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`0.0.0.0` leads here too, and is not one of the names that are known to."""
    monkeypatch.setenv("NO_PROXY", "*")
    elsewhere = f"0.0.0.0:{registry.port}"
    with pytest.raises(ReproError) as raised:
        pusher(elsewhere, cache).image(make_image(cache), "one")
    assert raised.value.code == "registry-plain"
    assert "--insecure" in raised.value.tries[0]
    assert pusher(elsewhere, cache, insecure=True).image(make_image(cache), "one").blobs == 3


def test_https_is_not_left_for_plain_http() -> None:
    connection = Connection(parse("127.0.0.1:1/team/name"))
    reply = _Led("https://127.0.0.1:1/v2/", "http://127.0.0.1:1/elsewhere")
    with pytest.raises(ReproError) as raised:
        connection.address(reply)  # type: ignore[arg-type]
    assert raised.value.code == "registry-refused"
    with pytest.raises(ReproError) as raised:
        connection.address(_Led("https://127.0.0.1:1/v2/", "https://[::1/elsewhere"))  # type: ignore[arg-type]
    assert raised.value.code == "registry-refused"


class _Led:
    """An answer that leads on."""

    status_code = 307

    def __init__(self, url: str, place: str) -> None:
        self.url, self.headers = url, {"Location": place}

    def json(self) -> object:
        return None

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("host", "seen"),
    [
        ("127.0.0.1:9", "does not answer"),  # discard (RFC 863): nobody serves it
        ("registry.invalid", "is not known"),
    ],
)
def test_a_registry_that_is_not_there(
    host: str, seen: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with pytest.raises(ReproError) as raised:
        pusher(host, cache).image(make_image(cache), "one")
    assert raised.value.code == "registry-no-answer"
    assert seen in raised.value.message
    assert "object at 0x" not in str(raised.value.document())


def test_a_proxy_that_does_not_answer_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:swordfish@127.0.0.1:{free_port()}")
    with pytest.raises(ReproError) as raised:
        pusher("registry.example", cache).image(make_image(cache), "one")
    assert raised.value.code == "registry-no-answer"
    assert "proxy" in raised.value.message
    assert WRONG not in str(raised.value.document())


def test_something_that_is_no_registry(cache: Path, relay: Relay) -> None:
    relay.faults = [Fault("HEAD", "", times=99, status=405)]
    with pytest.raises(ReproError) as raised:
        pusher(relay.address, cache).image(make_image(cache), "one")
    assert raised.value.code == "registry-refused"
    assert "405" in raised.value.found[0]


@pytest.mark.parametrize(
    ("header", "kind", "fields"),
    [
        (
            'Bearer realm="https://a/t",service="r",scope="repository:x:pull,push"',
            "bearer",
            {"realm": "https://a/t", "service": "r", "scope": "repository:x:pull,push"},
        ),
        ("Basic realm=here", "basic", {"realm": "here"}),
        ("BASIC", "basic", {}),
        ("Negotiate abc", "", {}),
        ("", "", {}),
    ],
)
def test_challenges_are_read(header: str, kind: str, fields: dict[str, str]) -> None:
    found = read(header)
    assert (found.kind, dict(found.fields)) == (kind, fields)


def test_no_login_is_kept_anywhere(closed: servers.Registry, cache: Path, tmp_path: Path) -> None:
    log_in(tmp_path / "docker", closed.address)
    pusher(closed.address, cache).image(make_image(cache), "one")
    for folder in (cache, paths.cache()):
        for path in folder.rglob("*"):
            if path.is_file():
                assert PASSWORD.encode() not in path.read_bytes(), path
