"""The bill of materials, CycloneDX 1.6 JSON: wheels, Debian packages of the base, parts of CUDA.

It has no serial number and no time, so that the same bundle gives the same bytes.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from repro import redact
from repro.model import canonical
from repro.model.lock import Wheel
from repro.trust import cuda
from repro.trust.debian import Installed, Package
from repro.trust.purl import debian_purl, wheel_purl
from repro.trust.statement import Content

if TYPE_CHECKING:
    from cyclonedx.model import Property
    from cyclonedx.model.component import Component

FILE = "sbom.cdx.json"
_PREFIX = "dev.reprobundle"
_UNKNOWN = "unknown"


def sbom(content: Content, installed: Installed | None) -> bytes:
    """The document of a bundle; `installed` is None where it has no base image."""
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot6

    root = Component(
        type=ComponentType.APPLICATION,
        name=content.manifest.name,
        version=content.manifest.id[:12],
        bom_ref="bundle",
        properties=_properties(
            {
                "id": content.manifest.id,
                "commit": content.snapshot.commit,
                "tree": content.snapshot.tree,
                "python": content.lock.python,
                "platform": content.lock.platform,
                "libc": content.lock.libc,
            }
        ),
    )
    bom = Bom(metadata=BomMetaData(component=root))
    bom.serial_number = bom.metadata.timestamp = None  # type: ignore[assignment]
    wheels = list(_wheels(content))
    base = list(_base(content, installed))
    debian = list(_debian(content, installed))
    bom.components.update([*wheels, *base, *debian])
    bom.register_dependency(root, [*wheels, *base])
    for owner in base:
        bom.register_dependency(owner, debian)
    text = JsonV1Dot6(bom).output_as_string()
    return canonical.pretty(msgspec.json.decode(text))


def _properties(values: dict[str, str]) -> "list[Property]":
    from cyclonedx.model import Property

    return [Property(name=f"{_PREFIX}:{key}", value=value) for key, value in values.items() if value]


def _wheels(content: Content) -> "Iterator[Component]":
    installer = [content.lock.installer] if content.lock.installer else []
    for wheel in [*content.lock.wheels, *installer]:
        own = cuda.is_own(wheel.name)
        parts = [] if own else cuda.parts_in(content.folder / "wheels" / wheel.file)
        yield _library(
            wheel.name,
            wheel.version,
            wheel_purl(wheel),
            hashes=_hashes(wheel.sha256),
            external_references=_origin(wheel),
            supplier=_nvidia() if own else None,
            components=[_part(wheel, part) for part in parts],
        )


def _part(wheel: Wheel, part: cuda.Part) -> "Component":
    from cyclonedx.model.component import Component, ComponentType

    return Component(
        type=ComponentType.LIBRARY,
        name=part.name,
        version=part.version or None,
        bom_ref=f"{wheel_purl(wheel)}#{part.path}",
        supplier=_nvidia(),
        properties=_properties({"path": part.path}),
    )


def _nvidia() -> Any:
    from cyclonedx.model.contact import OrganizationalEntity

    return OrganizationalEntity(name=cuda.SUPPLIER)


def _hashes(sha256: str) -> Any:
    from cyclonedx.model import HashAlgorithm, HashType

    return [HashType(alg=HashAlgorithm.SHA_256, content=sha256)]


def _origin(wheel: Wheel) -> Any:
    from cyclonedx.model import ExternalReference, ExternalReferenceType, XsUri

    if not wheel.portable or "://" not in wheel.origin:
        return []
    return [ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(redact.text(wheel.origin)))]


def _library(name: str, version: str, purl: str, **more: Any) -> "Component":
    from cyclonedx.model.component import Component, ComponentType
    from packageurl import PackageURL

    return Component(
        type=ComponentType.LIBRARY,
        name=name,
        version=version or None,
        purl=PackageURL.from_string(purl),
        bom_ref=purl,
        **more,
    )


def _base(content: Content, installed: Installed | None) -> "Iterator[Component]":
    from cyclonedx.model.component import Component, ComponentType

    if installed is None:
        return
    base = content.manifest.base
    known = _UNKNOWN if installed.packages is None else "of its own record"
    yield Component(
        type=ComponentType.CONTAINER,
        name=base.used,
        version=base.repo_digest.partition("@")[2] or None,  # its id differs between kinds of engines
        bom_ref="base",
        properties=_properties(
            {
                "system": " ".join(filter(None, (installed.system, installed.release))),
                "packages": known,
                **{f"layer-{number}": digest for number, digest in enumerate(base.layers)},
            }
        ),
    )


def _debian(content: Content, installed: Installed | None) -> "Iterator[Component]":
    """What the base has, and what the image gets besides: only the name of that is known before its build."""
    if installed is None:
        return
    held = {package.name for package in installed.packages or []}
    added = [
        Package(name=name, version="", architecture="", source=name)
        for name in content.lock.system
        if name not in held
    ]
    for package in [*(installed.packages or []), *added]:
        purl = debian_purl(package, installed)
        yield _library(
            package.name, package.version, purl, properties=_properties({"source-package": package.source})
        )
