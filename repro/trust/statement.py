"""What is signed: an in-toto Statement v1 with SLSA provenance v1, made from the bundle's own files alone.

https://github.com/in-toto/attestation/tree/main/spec/v1, https://slsa.dev/spec/v1.0/provenance. It has no
clock and no name of a machine: the same bundle gives the same bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from repro import redact
from repro.files import sha256_bytes
from repro.model import canonical
from repro.model.bundle import Base, Manifest
from repro.model.image import ImageContent
from repro.model.lock import Lock, Wheel
from repro.model.record import Open
from repro.model.snapshot import EvalSet, ParamSet, Snapshot
from repro.trust.envelope import unreadable
from repro.trust.purl import wheel_purl

STATEMENT = "https://in-toto.io/Statement/v1"
PROVENANCE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "https://reprobundle.dev/build/v1"
MANIFEST = "bundle.json"


@dataclass(frozen=True)
class Content:
    """The parts of a bundle that metadata is made of; `folder` is where its files lie."""

    folder: Path
    manifest: Manifest
    snapshot: Snapshot
    lock: Lock
    params: ParamSet
    evalset: EvalSet


class Subject(Open, kw_only=True):
    """Something the statement is about, by digest: {"sha256": hex}."""

    name: str
    digest: dict[str, str]


class _Statement(Open, kw_only=True):
    type_: str = msgspec.field(name="_type")
    subject: list[Subject]


class _Imaged(Open, kw_only=True):
    image: ImageContent | None = None


def subjects(manifest: bytes) -> list[Subject]:
    """The manifest itself, and the image that it names, where it names one; raises signature-unreadable."""
    try:
        image = msgspec.json.decode(manifest, type=_Imaged).image
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise unreadable(f"{MANIFEST}: {problem}") from None
    found = [Subject(name=MANIFEST, digest={"sha256": sha256_bytes(manifest)})]
    if image:
        found += [
            Subject(name="image configuration", digest=_digest(image.config)),
            Subject(name="image manifest", digest=_digest(image.manifest)),
        ]
    return found


def subjects_of(statement: bytes) -> list[Subject]:
    """What a statement says that it is about; raises signature-unreadable."""
    try:
        found = msgspec.json.decode(statement, type=_Statement)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise unreadable(str(problem)) from None
    if found.type_ != STATEMENT:
        raise unreadable(f"statement of type {found.type_[:60]!r}")
    return found.subject


def statement(content: Content, manifest: bytes) -> bytes:
    """The statement about a bundle, canonical JSON; `manifest` is the bytes of its `bundle.json`."""
    predicate = {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {
                "name": content.manifest.name,
                "params": content.params.file,
                "overrides": content.params.overrides,
            },
            "internalParameters": {
                "bundle": content.manifest.id,
                "identity": content.manifest.identity,
                "python": content.lock.python,
                "platform": content.lock.platform,
                "base": content.manifest.base.used,
            },
            "resolvedDependencies": list(_dependencies(content)),
        },
        "runDetails": {
            "builder": {"id": BUILD_TYPE, "version": {"repro": content.manifest.tool.rpartition(" ")[2]}}
        },
    }
    return canonical.encode(
        {
            "_type": STATEMENT,
            "subject": subjects(manifest),
            "predicateType": PROVENANCE,
            "predicate": predicate,
        }
    )


def _dependencies(content: Content) -> Iterator[dict[str, Any]]:
    snapshot = content.snapshot
    yield {"name": "code", "digest": {"gitCommit": snapshot.commit, "gitTree": snapshot.tree}}
    if snapshot.patch:
        yield {"name": "dirty.patch", "digest": {"sha256": snapshot.patch.sha256}}
    for module in snapshot.submodules:
        digest = {"gitCommit": module.commit}
        yield {"name": module.path, "uri": f"git+{redact.text(module.url)}", "digest": digest}
    yield from _base(content.manifest.base)
    installer = [content.lock.installer] if content.lock.installer else []
    yield from (_wheel(wheel) for wheel in [*content.lock.wheels, *installer])
    for file in content.evalset.files:
        yield {"name": f"eval/{file.path}", "digest": {"sha256": file.sha256}}


def _base(base: Base) -> Iterator[dict[str, Any]]:
    """An image; a bundle that was made in place has none."""
    if base.id.startswith("sha256:"):
        entry: dict[str, Any] = {"name": base.used, "digest": _digest(base.id)}
        if base.layers:
            entry["annotations"] = {"layers": base.layers}
        if base.repo_digest:
            entry["uri"] = f"docker://{base.repo_digest}"
        yield entry


def _wheel(wheel: Wheel) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": wheel.file,
        "uri": wheel_purl(wheel),
        "digest": {"sha256": wheel.sha256},
    }
    if wheel.portable and "://" in wheel.origin:
        entry["downloadLocation"] = redact.text(wheel.origin)
    return entry


def _digest(text: str) -> dict[str, str]:
    kind, _, value = text.partition(":")
    return {kind: value}
