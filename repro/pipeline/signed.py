"""Bundles and their signatures: made, checked before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro import trust
from repro.bundle import Bundle, verify
from repro.errors import ReproError
from repro.events import Note, Sink, silent
from repro.files import read_regular, write_whole
from repro.pipeline.ready import damaged
from repro.trust import Content, Standing


@dataclass(frozen=True)
class Signed:
    """A signature that was made: the key's id, and where it lies."""

    key: str
    path: Path


def content_of(bundle: Bundle) -> Content:
    """The parts of a bundle that metadata is made of."""
    return Content(
        folder=bundle.path,
        manifest=bundle.manifest,
        snapshot=bundle.snapshot,
        lock=bundle.lock,
        params=bundle.params,
        evalset=bundle.evalset,
    )


def sign(bundle: Bundle, key: Path, sink: Sink = silent) -> Signed:
    """Add a signature to the bundle's `signature.json`.

    Raises:
        key-unreadable: the file holds no private key. bundle-damaged: a file is not as it was packed.
        signature-altered: what others signed is not what the bundle is now.
    """
    own = trust.private_key(key)
    damage = verify(bundle, sink)
    if damage:
        raise damaged(bundle, damage)
    path = bundle.path / trust.SIGNATURE
    before = _content(path) if path.exists() else None
    made = trust.sign(content_of(bundle), _content(bundle.path / "bundle.json"), before, own)
    write_whole(path, made)
    return Signed(own.id, path)


def standing(bundle: Path, keys: Sequence[Path] = ()) -> Standing:
    """How the bundle in that folder stands to its signatures, and to the public keys in those files.

    Raises:
        key-unreadable, signature-unreadable, signature-altered.
        signature-missing, signature-untrusted: keys were given, and none of them signed it.
    """
    path = bundle / trust.SIGNATURE
    signature = _content(path) if path.exists() else None
    return judged(bundle.name, _content(bundle / "bundle.json"), signature, keys)


def judged(name: str, manifest: bytes, signature: bytes | None, keys: Sequence[Path] = ()) -> Standing:
    """As `standing`, of a bundle that is no folder yet: bytes of its `bundle.json` and `signature.json`."""
    trusted = trust.public_keys(keys)
    found = trust.standing(manifest, signature, trusted)
    trust.admit(name, found, trusted)
    return found


def admit(bundle: Path, keys: Sequence[Path], sink: Sink) -> Standing:
    """As `standing`, and say what was found."""
    found = standing(bundle, keys)
    tell(bundle.name, found, sink)
    return found


def warn_of_renewal(bundle: Path, sink: Sink) -> None:
    """Say when a signed bundle was written anew, so that its signature holds no more."""
    path = bundle / trust.SIGNATURE
    if path.exists() and trust.standing(_content(bundle / "bundle.json"), _content(path)).altered:
        again = f"rm {path}, then repro sign {bundle} --key FILE"
        sink(Note("warning", f"bundle `{bundle.name}` was signed, and its manifest is another now: {again}"))


def tell(name: str, found: Standing, sink: Sink) -> None:
    """Say how a bundle stands that may be used."""
    remedy = "; --key FILE.pub checks it" if found.claimed and not found.checked else ""
    sink(Note("note", f"bundle `{name}` is {found.word}{remedy}"))


def _content(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as problem:
        raise ReproError(
            "bundle-unreadable",
            f"`{path.name}` of bundle `{path.parent.name}` cannot be read",
            found=str(problem),
            done="nothing was run",
            tries=[f"repro verify {path.parent}", "repro build"],
        ) from problem
