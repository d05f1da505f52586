"""How a bundle stands to its signatures: unsigned, signed by somebody, by a trusted key, altered since."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from repro.errors import ReproError
from repro.trust import envelope
from repro.trust.envelope import FILE
from repro.trust.keys import SHOWN, PublicKey, SigningKey
from repro.trust.statement import Content, Subject, statement, subjects, subjects_of


@dataclass(frozen=True)
class Standing:
    """What the signatures of a bundle say.

    Attributes:
        claimed: ids of the keys that are said to have signed it, 16 hex digits each; anybody may write them.
        checked: ids of the trusted keys whose signature is good, in full.
        altered: what the bundle is now and is not in what was signed, one line a thing.
    """

    claimed: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """`not signed`, `signed by ID` when that was proved, or `signed by ID, not checked`."""
        if not self.claimed:
            return "not signed"
        names = [key[:SHOWN] for key in self.checked or self.claimed]
        return f"signed by {', '.join(names)}{'' if self.checked else ', not checked'}"


def standing(manifest: bytes, signature: bytes | None, trusted: Sequence[PublicKey] = ()) -> Standing:
    """How a bundle stands: bytes of its `bundle.json`, and of its `signature.json` where it has one.

    A signature is over the manifest, and the manifest names every other file: those are checked by `verify`.

    Raises:
        signature-unreadable: it cannot be decoded.
    """
    if signature is None:
        return Standing()
    found = envelope.read(signature)
    return Standing(
        claimed=tuple(_shown(s.keyid) for s in found.signatures) or ("nobody",),
        checked=tuple(key.id for key in found.signed_by(trusted)),
        altered=tuple(_differences(subjects_of(found.content), subjects(manifest))),
    )


def _shown(keyid: str) -> str:
    return _plain(keyid)[:SHOWN] or "unknown"


def _plain(text: str) -> str:
    """Text of a stranger's, fit for a terminal."""
    return re.sub(r"[^0-9A-Za-z:_-]", "?", text[:64])


def _differences(said: list[Subject], now: list[Subject]) -> list[str]:
    signed = {subject.name: subject.digest for subject in said}
    return [
        f"{subject.name}: {_told(subject.digest)}, signed was {_told(signed.get(subject.name, {}))}"
        for subject in now
        if signed.get(subject.name) != subject.digest
    ]


def _told(digest: dict[str, str]) -> str:
    return " ".join(_plain(text) for pair in digest.items() for text in pair) or "nothing"


def admit(name: str, found: Standing, trusted: Sequence[PublicKey]) -> None:
    """Return when the bundle may be used: not altered, and signed by a trusted key where any is given.

    Raises:
        signature-altered: the bundle is not the one that was signed.
        signature-missing: it is not signed, although keys were given.
        signature-untrusted: none of the keys that were given signed it.
    """
    if found.altered:
        raise _altered(name, found)
    if not trusted or found.checked:
        return
    ids = [f"{key.id[:SHOWN]} ({key.path.name})" for key in trusted]
    if not found.claimed:
        raise ReproError(
            "signature-missing",
            f"bundle `{name}` is not signed",
            found=f"no {FILE}",
            needs=[f"a signature by {key}" for key in ids],
            done="nothing was run",
            tries=[
                "ask whoever made it to run: repro sign BUNDLE --key FILE",
                "go on without: leave out --key and REPRO_KEYS",
            ],
        )
    raise ReproError(
        "signature-untrusted",
        f"bundle `{name}` is not signed by a key that you trust",
        found=f"signatures that name {', '.join(found.claimed)}, none of them good for the keys given",
        needs=[f"a signature by {key}" for key in ids],
        done="nothing was run",
        tries=["repro verify BUNDLE --key OTHER.pub", "fetch the bundle again"],
    )


def _altered(name: str, found: Standing) -> ReproError:
    return ReproError(
        "signature-altered",
        f"bundle `{name}` is not the one that was signed",
        found=list(found.altered),
        why="a signature holds for one manifest and the image that it names; a build for other cards "
        "writes the manifest anew",
        done="nothing was run",
        tries=[
            "fetch the bundle again",
            f"if it is yours: rm {FILE} in it, then repro sign BUNDLE --key FILE",
        ],
    )


def sign(content: Content, manifest: bytes, before: bytes | None, key: SigningKey) -> bytes:
    """The bundle's `signature.json` with one more signature; `before` is the one it has.

    Raises:
        signature-altered: what is signed already is not what the bundle is now.
    """
    if before is None:
        return envelope.written(envelope.signed(statement(content, manifest), key))
    admit(content.folder.name, standing(manifest, before), ())
    others = envelope.read(before)
    return envelope.written(envelope.signed(others.content, key, others))
