"""Key files: made once, readable by their owner alone, refused with words when they are something else."""

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from repro import trust
from repro.errors import ReproError


def test_a_new_key_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public, key_id = trust.make_key(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert public == tmp_path / "key.pub"
    assert b"PRIVATE" not in public.read_bytes()
    assert trust.private_key(tmp_path / "key").id == key_id
    assert [key.id for key in trust.public_keys([public])] == [key_id]
    assert len(key_id) == 64


@pytest.mark.parametrize("name", ["key", "key.pub"])
def test_nothing_is_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(ReproError) as caught:
        trust.make_key(tmp_path / "key")
    assert caught.value.code == "key-exists"
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(name, "mine")]


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReproError, match="is there already"):
        trust.make_key(tmp_path / "key")
    assert not (tmp_path / "elsewhere").exists()


def _private(key: ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey, password: bytes = b"") -> bytes:
    lock = forms.BestAvailableEncryption(password) if password else forms.NoEncryption()
    return key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, lock)


def _public(key: ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)


def test_other_files_are_refused_without_showing_them(tmp_path: Path) -> None:
    own, other = ed25519.Ed25519PrivateKey.generate(), rsa.generate_private_key(65537, 2048)
    cases = {
        "locked": (trust.private_key, _private(own, b"swordfish"), "without a password"),
        "rsa": (trust.private_key, _private(other), "Ed25519"),
        "cut": (trust.private_key, _private(own)[:60], "PEM"),
        "public": (trust.private_key, _public(own), "PEM"),
        "private": (lambda path: trust.public_keys([path]), _private(own), "private.pub"),
        "rsa.pub": (lambda path: trust.public_keys([path]), _public(other), "Ed25519"),
        "words": (lambda path: trust.public_keys([path]), b"hunter2", "PEM"),
        "nothing": (lambda path: trust.public_keys([path]), b"", "PEM"),
    }
    for name, (read, data, needed) in cases.items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(ReproError) as caught:
            read(path)
        said = str(caught.value.document())
        assert caught.value.code == "key-unreadable", name
        assert needed in said
        assert not any(line and line.decode() in said for line in data.splitlines()), name


def test_a_key_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none", tmp_path, tmp_path / "pipe"):
        with pytest.raises(ReproError) as caught:
            trust.public_keys([path])
        assert caught.value.code == "key-unreadable"
