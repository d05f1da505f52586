"""What engines tell of themselves and of images, in this tool's records."""

from collections.abc import Mapping
from typing import Any

from repro.engine import gpus
from repro.engine.connect import Endpoint
from repro.engine.contract import ImageInfo


def name_and_tag(reference: str) -> tuple[str, str | None]:
    """The SDK wants name and tag apart; a digest counts as a tag. No tag means `latest`, not all of them."""
    if "@" in reference:
        name, _, digest = reference.partition("@")
        return name, digest
    name, colon, tag = reference.rpartition(":")
    return (name, tag) if colon and "/" not in tag else (reference, "latest")


def image_info(raw: Mapping[str, Any]) -> ImageInfo:
    """An image, as `inspect` tells it."""
    return ImageInfo(
        id=str(raw["Id"]),
        tags=tuple(raw.get("RepoTags") or ()),
        repo_digests=tuple(raw.get("RepoDigests") or ()),
        layers=tuple(raw.get("RootFS", {}).get("Layers") or ()),
        bytes=int(raw.get("Size", 0)),
        labels=dict(labels(raw.get("Config") or {})),
        config=dict(raw.get("Config") or {}),
        architecture=str(raw.get("Architecture", "")),
    )


def labels(config: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of a configuration."""
    return config.get("Labels") or {}


def is_podman(version: Mapping[str, Any]) -> bool:
    """Whether an engine is Podman, by the components that it names."""
    components = version.get("Components") or ()
    return any("podman" in str(part.get("Name", "")).lower() for part in components)


def is_rootless(facts: Mapping[str, Any]) -> bool:
    """Whether it runs without the right of root; Docker and Podman say so in different places."""
    options = facts.get("SecurityOptions") or ()
    return bool(facts.get("Rootless")) or any("name=rootless" in str(option) for option in options)


def architecture(machine: str) -> str:
    """OCI's name for what the kernel calls the machine."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def text_facts(facts: Mapping[str, Any], version: Mapping[str, Any], endpoint: Endpoint) -> dict[str, str]:
    """What of an engine goes into records, as text."""
    return {
        "origin": endpoint.origin,
        "api": str(version.get("ApiVersion", "")),
        "kernel": str(facts.get("KernelVersion", "")),
        "system": str(facts.get("OperatingSystem", "")),
        "cpus": str(facts.get("NCPU", "")),
        "memory_bytes": str(facts.get("MemTotal", "")),
        "runtimes": " ".join(sorted(facts.get("Runtimes") or ())),
        "cdi": "yes" if gpus.offers_cdi(dict(facts)) else "no",
    }
