"""Signatures: what is signed, who else can check it, and that nothing altered passes."""

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from repro import trust
from repro.bundle import Bundle
from repro.errors import ReproError
from repro.files import sha256_file
from repro.model import canonical
from repro.pipeline import signed

Lay = Callable[..., Bundle]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    trust.make_key(tmp_path / "key")
    return tmp_path / "key"


def _pub(key: Path) -> Path:
    return key.with_name(f"{key.name}.pub")


def _statement(bundle: Bundle) -> Any:
    envelope = json.loads((bundle.path / "signature.json").read_text())
    return json.loads(base64.b64decode(envelope["payload"]))


def test_the_statement_names_manifest_image_and_all_that_went_in(lay: Lay, key: Path) -> None:
    bundle = lay()
    signed.sign(bundle, key)
    said = _statement(bundle)
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == "https://slsa.dev/provenance/v1"
    assert {s["name"]: s["digest"]["sha256"] for s in said["subject"]} == {
        "bundle.json": sha256_file(bundle.path / "bundle.json"),
        "image configuration": "4" * 64,
        "image manifest": "5" * 64,
    }
    parts = {d["name"]: d for d in said["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert parts["code"]["digest"] == {"gitCommit": "a" * 40, "gitTree": "b" * 40}
    assert parts["python:3.10"]["digest"] == {"sha256": "1" * 64}
    assert parts["eval/eval/a.csv"]["digest"]["sha256"] == bundle.evalset.files[0].sha256
    assert {w.file for w in bundle.lock.wheels} < set(parts)
    assert parts["dirty.patch"]["digest"] == {"sha256": "e" * 64}
    text = json.dumps(said)
    assert "secret-word" not in text
    assert ":pass@" not in text
    assert str(bundle.path) not in text


def test_the_same_bundle_gives_the_same_signature(lay: Lay, key: Path) -> None:
    bundle = lay()
    path = signed.sign(bundle, key).path
    first = path.read_bytes()
    signed.sign(bundle, key)  # a key signs once
    assert path.read_bytes() == first
    path.unlink()
    signed.sign(bundle, key)
    assert path.read_bytes() == first
    assert canonical.is_pretty(first)


def test_another_program_can_check_it(lay: Lay, key: Path, tmp_path: Path) -> None:
    bundle = lay()
    path = signed.sign(bundle, key).path
    envelope = Envelope.from_dict(json.loads(path.read_text()))
    [public] = trust.public_keys([_pub(key)])
    theirs = SSlibKey.from_crypto(public.key, public.id)
    assert envelope.verify([theirs], threshold=1)
    [good] = envelope.signatures.values()
    assert good.keyid == public.id


def test_how_bundles_stand(lay: Lay, key: Path, tmp_path: Path) -> None:
    bundle = lay()
    assert signed.standing(bundle.path).word == "not signed"
    with pytest.raises(ReproError) as caught:
        signed.standing(bundle.path, [_pub(key)])
    assert caught.value.code == "signature-missing"
    made = signed.sign(bundle, key)
    short = made.key[:16]
    assert signed.standing(bundle.path).word == f"signed by {short}, not checked"
    assert signed.standing(bundle.path, [_pub(key)]).word == f"signed by {short}"
    trust.make_key(tmp_path / "other")
    with pytest.raises(ReproError) as caught:
        signed.standing(bundle.path, [tmp_path / "other.pub"])
    assert caught.value.code == "signature-untrusted"
    assert short in str(caught.value.found)
    assert signed.standing(bundle.path, [tmp_path / "other.pub", _pub(key)]).checked == (made.key,)


def test_several_may_sign(lay: Lay, key: Path, tmp_path: Path) -> None:
    bundle = lay()
    trust.make_key(tmp_path / "other")
    one, two = signed.sign(bundle, key).key, signed.sign(bundle, tmp_path / "other").key
    assert signed.standing(bundle.path, [_pub(key), tmp_path / "other.pub"]).checked == (one, two)
    assert signed.standing(bundle.path, [tmp_path / "other.pub"]).checked == (two,)


def test_a_signature_of_another_bundle_does_not_count(lay: Lay, key: Path) -> None:
    bundle, other = lay("one"), lay("two", lr=0.25)
    made = signed.sign(bundle, key).path.read_bytes()
    (other.path / "signature.json").write_bytes(made)
    for keys in ([], [_pub(key)]):
        with pytest.raises(ReproError) as caught:
            signed.standing(other.path, keys)
        assert caught.value.code == "signature-altered"
    with pytest.raises(ReproError, match="not the one that was signed"):
        signed.sign(other, key)
    assert (other.path / "signature.json").read_bytes() == made


def test_another_image_in_the_manifest_does_not_count(lay: Lay, key: Path) -> None:
    bundle = lay()
    signed.sign(bundle, key)
    manifest = bundle.path / "bundle.json"
    manifest.write_text(manifest.read_text().replace("5" * 64, "7" * 64))
    with pytest.raises(ReproError) as caught:
        signed.standing(bundle.path, [_pub(key)])
    assert any(
        line == "image manifest: sha256 " + "7" * 64 + ", signed was sha256 " + "5" * 64
        for line in caught.value.found
    )


def test_a_damaged_bundle_is_not_signed(lay: Lay, key: Path) -> None:
    bundle = lay()
    (bundle.path / "code.tar").write_bytes(b"other code")
    with pytest.raises(ReproError) as caught:
        signed.sign(bundle, key)
    assert caught.value.code == "bundle-damaged"
    assert not (bundle.path / "signature.json").exists()


def test_a_bundle_without_an_image_can_be_signed(lay: Lay, key: Path) -> None:
    bundle = lay(image=False)
    signed.sign(bundle, key)
    assert [s["name"] for s in _statement(bundle)["subject"]] == ["bundle.json"]
    assert signed.standing(bundle.path, [_pub(key)]).checked


def test_no_altered_signature_or_manifest_passes(lay: Lay, key: Path) -> None:
    bundle = lay()
    signature = signed.sign(bundle, key).path.read_bytes()
    manifest = (bundle.path / "bundle.json").read_bytes()
    dice = random.Random(5)  # noqa: S311 - no secret
    refused = 0
    for number in range(600):
        data = signature if number % 2 else manifest
        altered = _altered(data, dice)
        pair = (manifest, altered) if number % 2 else (altered, signature)
        found = _code(lambda pair=pair: signed.judged("one", *pair, [_pub(key)]))
        assert found in ("", "signature-unreadable", "signature-altered", "signature-untrusted")
        refused += bool(found)
        if not found:  # only what is not signed may differ: the hint, and the spelling of the JSON around it
            assert number % 2
            assert _payload(altered) == _payload(signature)
    assert refused > 400


def _code(question: Callable[[], object]) -> str:
    try:
        question()
    except ReproError as problem:
        return problem.code
    return ""


def _altered(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data))
    ways = (
        data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :],
        data[:at],
        data[:at] + data[at + 1 :],
        data[:at] + bytes([dice.randrange(256)]) + data[at:],
    )
    return dice.choice([way for way in ways if way != data])


def _payload(data: bytes) -> bytes:
    return base64.b64decode(json.loads(data)["payload"].translate({45: "+", 95: "/"}))


def test_a_hint_from_outside_is_shown_harmlessly(lay: Lay, key: Path) -> None:
    bundle = lay()
    path = signed.sign(bundle, key).path
    document = json.loads(path.read_text())
    document["signatures"][0]["keyid"] = "\x1b[31mroot\n"
    path.write_text(json.dumps(document))
    assert signed.standing(bundle.path).word == "signed by ??31mroot?, not checked"


@pytest.mark.parametrize(
    "document",
    [
        b"", b"[]", b"{}", b'{"payloadType":"text/plain","payload":"","signatures":[]}',
        b'{"payloadType":"application/vnd.in-toto+json","payload":"%%","signatures":[]}',
        b'{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[]}',
        b"[" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_signature_is_said(lay: Lay, document: bytes) -> None:
    bundle = lay()
    (bundle.path / "signature.json").write_bytes(document)
    with pytest.raises(ReproError) as caught:
        signed.standing(bundle.path)
    assert caught.value.code == "signature-unreadable"


def test_an_envelope_that_nobody_signed_is_not_signed_by_a_key(lay: Lay, key: Path) -> None:
    bundle = lay()
    path = signed.sign(bundle, key).path
    document = json.loads(path.read_text())
    document["signatures"] = []
    path.write_text(json.dumps(document))
    with pytest.raises(ReproError) as caught:
        signed.standing(bundle.path, [_pub(key)])
    assert caught.value.code == "signature-untrusted"


def test_a_signed_bundle_that_is_written_anew_is_told(lay: Lay, key: Path) -> None:
    bundle = lay()
    heard: list[Any] = []
    signed.warn_of_renewal(bundle.path, heard.append)
    signed.sign(bundle, key)
    signed.warn_of_renewal(bundle.path, heard.append)
    assert heard == []
    manifest = bundle.path / "bundle.json"
    manifest.write_text(manifest.read_text().replace("5" * 64, "7" * 64))
    signed.warn_of_renewal(bundle.path, heard.append)
    [note] = heard
    assert "was signed, and its manifest is another now: rm " in note.text
