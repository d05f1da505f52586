"""The bill of materials of a bundle that is being built."""

from repro import paths, trust
from repro.engine.contract import ImageEngine
from repro.events import Sink, silent
from repro.files import write_whole
from repro.trust import Content


def write_sbom(content: Content, engine: ImageEngine | None, sink: Sink = silent) -> None:
    """Write `sbom.cdx.json` into the bundle's folder; without an engine it lists the wheels alone."""
    base = content.manifest.base
    installed = trust.installed_in(base, engine, paths.cache(), sink) if engine else None
    write_whole(content.folder / trust.SBOM, trust.sbom(content, installed))
