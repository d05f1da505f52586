"""Who vouches for a bundle, and what is in it: signatures, provenance, bill of materials, research object."""

from repro.trust.crate import licence_of, write_crate
from repro.trust.debian import Installed, installed_in
from repro.trust.envelope import FILE as SIGNATURE
from repro.trust.keys import SHOWN, PublicKey, SigningKey, make_key, private_key, public_keys
from repro.trust.sbom import FILE as SBOM
from repro.trust.sbom import sbom
from repro.trust.signatures import Standing, admit, sign, standing
from repro.trust.statement import Content, statement

__all__ = [
    "SBOM",
    "SHOWN",
    "SIGNATURE",
    "Content",
    "Installed",
    "PublicKey",
    "SigningKey",
    "Standing",
    "admit",
    "installed_in",
    "licence_of",
    "make_key",
    "private_key",
    "public_keys",
    "sbom",
    "sign",
    "standing",
    "statement",
    "write_crate",
]
