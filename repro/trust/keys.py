"""Ed25519 keys in PEM files, and the name by which a key is told from others."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from repro.errors import ReproError
from repro.files import read_regular, sha256_bytes, sync_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SHOWN = 16
_MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class SigningKey:
    """A private key; `id` is that of its public half."""

    id: str
    key: "Ed25519PrivateKey"

    def sign(self, message: bytes) -> bytes:
        """The signature, 64 bytes; the same for the same message (RFC 8032)."""
        return self.key.sign(message)


@dataclass(frozen=True)
class PublicKey:
    """A public key; `id` is the hex SHA-256 of its SubjectPublicKeyInfo in DER; `path` is where it lay."""

    id: str
    key: "Ed25519PublicKey"
    path: Path

    def accepts(self, signature: bytes, message: bytes) -> bool:
        """Whether the private half signed exactly this message."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def make_key(path: Path) -> tuple[Path, str]:
    """Write a new private key to `path` (mode 0600) and the public one beside it; its path, and the key's id.

    Raises:
        key-exists: one of the two files is there already; nothing is written over.
    """
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    public = key.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    beside = path.with_name(f"{path.name}.pub")
    taken = [p for p in (path, beside) if os.path.lexists(p)]
    if taken:
        raise _exists(taken[0])
    _write_new(path, private, 0o600)
    try:
        _write_new(beside, public, 0o644)
    except BaseException:
        path.unlink()  # a private key that nobody can check against is of no use
        raise
    sync_folder(path.absolute().parent)
    return beside, key_id(key.public_key())


def _write_new(path: Path, data: bytes, mode: int) -> None:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise _exists(path) from None
    with os.fdopen(fd, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(fd)


def _exists(path: Path) -> ReproError:
    return ReproError(
        "key-exists",
        f"`{path}` is there already",
        needs="a name that is free: a key that is lost signs nothing more",
        done="no key was made",
        tries=f"repro sign --new-key {path}-2",
    )


def private_key(path: Path) -> SigningKey:
    """The private key in a PEM file; raises key-unreadable."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(_content(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The library's own words may quote what it was given.
        raise _unreadable(path, "private", "PEM without a password, as --new-key writes it") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _unreadable(path, "private", "an Ed25519 key, not one of another kind")
    return SigningKey(key_id(key.public_key()), key)


def public_keys(paths: Iterable[Path]) -> list[PublicKey]:
    """The public keys in PEM files; raises key-unreadable."""
    return [_public_key(path) for path in paths]


def _public_key(path: Path) -> PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    data = _content(path)
    if b"PRIVATE KEY" in data:
        raise _unreadable(path, "public", f"the public half, `{path.name}.pub`: this is a private key")
    try:
        key = load_pem_public_key(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _unreadable(path, "public", "PEM, as `repro sign --new-key` writes it") from None
    if not isinstance(key, Ed25519PublicKey):
        raise _unreadable(path, "public", "an Ed25519 key, not one of another kind")
    return PublicKey(key_id(key), key, path)


def _content(path: Path) -> bytes:
    try:
        return read_regular(path)[:_MOST_BYTES]
    except OSError as problem:
        raise ReproError(
            "key-unreadable",
            f"the key `{path}` cannot be read",
            found=problem.strerror or "unreadable",
            done="nothing was done",
            tries=[f"ls -l {path}", "repro sign --new-key FILE"],
        ) from problem


def _unreadable(path: Path, kind: str, needs: str) -> ReproError:
    return ReproError(
        "key-unreadable",
        f"`{path}` holds no {kind} key that can be used",
        needs=needs,
        done="nothing was done",
        tries="repro sign --new-key FILE",
    )


def key_id(key: "Ed25519PublicKey") -> str:
    """Hex SHA-256 of the SubjectPublicKeyInfo in DER."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return sha256_bytes(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
