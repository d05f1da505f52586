"""The signing envelope DSSE 1.0 (secure-systems-lab/dsse, protocol.md, envelope.md)."""

import base64
import binascii
from collections.abc import Iterable

import msgspec

from repro.errors import ReproError
from repro.model import canonical
from repro.model.record import Open
from repro.trust.keys import PublicKey, SigningKey

FILE = "signature.json"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


class Signature(Open, kw_only=True):
    """One signer's: `keyid` is a hint that anybody may write, only `sig` proves something."""

    keyid: str = ""
    sig: str


class Envelope(Open, kw_only=True):
    """A payload in base64, and who signed it."""

    payloadType: str  # noqa: N815 - DSSE's name
    payload: str
    signatures: list[Signature]

    @property
    def content(self) -> bytes:
        """The payload itself; raises signature-unreadable."""
        return _decoded(self.payload)

    @property
    def message(self) -> bytes:
        """What is signed: the payload with its type and both lengths, so that neither can be moved."""
        kind, body = self.payloadType.encode(), self.content
        return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(body), body)

    def signed_by(self, keys: Iterable[PublicKey]) -> list[PublicKey]:
        """Those of `keys` whose signature is good, whatever the hints say."""
        signatures = [_decoded(signature.sig) for signature in self.signatures]
        message = self.message
        return [key for key in keys if any(key.accepts(sig, message) for sig in signatures)]


def read(data: bytes) -> Envelope:
    """The envelope in these bytes; raises signature-unreadable."""
    try:
        found = msgspec.json.decode(data, type=Envelope)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise unreadable(str(problem)) from None
    if found.payloadType != PAYLOAD_TYPE:
        raise unreadable(f"payload type {found.payloadType[:60]!r}")
    return found


def signed(payload: bytes, key: SigningKey, before: Envelope | None = None) -> Envelope:
    """The payload with this key's signature, after those of `before`; a key signs once."""
    text = base64.b64encode(payload).decode()
    envelope = Envelope(payloadType=PAYLOAD_TYPE, payload=text, signatures=[])
    own = Signature(keyid=key.id, sig=base64.b64encode(key.sign(envelope.message)).decode())
    others = [s for s in (before.signatures if before else []) if s != own]
    return msgspec.structs.replace(envelope, signatures=[*others, own])


def written(envelope: Envelope) -> bytes:
    """As it stands in `signature.json`."""
    return canonical.pretty(envelope)


def _decoded(text: str) -> bytes:
    try:  # both alphabets must be taken (envelope.md)
        return base64.b64decode(text.translate({ord("-"): "+", ord("_"): "/"}), validate=True)
    except (binascii.Error, ValueError):
        raise unreadable("text that is no base64") from None


def unreadable(found: str) -> ReproError:
    """The error for a signature that cannot be decoded."""
    return ReproError(
        "signature-unreadable",
        f"`{FILE}` cannot be read",
        found=found,
        needs="a DSSE envelope with an in-toto statement, as `repro sign` writes it",
        done="nothing was run",
        tries=["fetch the bundle again", "repro sign BUNDLE --key FILE"],
    )
