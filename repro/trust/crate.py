"""A bundle with its runs as a research object: RO-Crate 1.1, profile Process Run Crate 0.5.

https://www.researchobject.org/ro-crate/specification/1.1, https://www.researchobject.org/workflow-run-crate.
One CreateAction a run; the code is its instrument, parameters and evaluation set are its objects.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from repro import tarread
from repro.errors import ReproError
from repro.model.run import RunFolder
from repro.trust.runs import Actions
from repro.trust.statement import Content

METADATA = "ro-crate-metadata.json"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_TERMS = "https://w3id.org/ro/terms/workflow-run/context"
# What belongs to one machine: the image's name there, who rented it under which order.
_STAYS = ("image.json", "host.json")
_DESCRIBED = {
    "bundle.json": "Manifest: what decides the result, and the digest of every file",
    "signature.json": "Signatures over the manifest, DSSE with an in-toto statement",
    "sbom.cdx.json": "Bill of materials, CycloneDX 1.6",
    "requirements.lock": "Locked Python packages with their hashes",
    "Dockerfile": "Builds the image of this bundle",
    "REPRODUCING.md": "How to run it again",
}


_FORMS = {
    ".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonl", ".lock": "text/plain",
    ".md": "text/markdown", ".patch": "text/x-diff", ".py": "text/x-python",
    ".tar": "application/x-tar", ".toml": "application/toml", ".txt": "text/plain", ".whl": "application/zip",
    ".yaml": "application/yaml", ".yml": "application/yaml",
}  # fmt: skip
_UNKNOWN_FORM = "application/octet-stream"
_LICENCE = re.compile(r"code/(?:LICEN[CS]E|COPYING)[^/]*", re.IGNORECASE)


def licence_of(content: Content) -> str:
    """Name of the file with the code's licence, at the top of the code; empty when it has none."""
    try:
        with (content.folder / "code.tar").open("rb") as source:
            names = [entry.member.name for entry in tarread.entries(source)]
    except tarread.RefusedError:
        return ""
    return next((name.partition("/")[2] for name in names if _LICENCE.fullmatch(name)), "")


def write_crate(content: Content, runs: Sequence[RunFolder], into: Path) -> None:
    """Copy a bundle with its runs into the empty folder `into`, and describe it there.

    Links stay links and are not described. `datePublished` is the time of the commit, so that the same bundle
    and runs give the same metadata.

    Raises:
        crate-library: the library that writes the metadata is not installed.
    """
    crate = _new(content)
    name = content.folder.name
    root = crate.root_dataset
    entities = {}
    for relative in _copied(content.folder, into / name):
        entities[relative] = _file(crate, content, f"{name}/{relative}", into)
    bundle = crate.add_dataset(dest_path=f"{name}/", properties=_bundle(content))
    bundle["hasPart"] = list(entities.values())
    actions = Actions(crate, content, entities)
    mentioned = [actions.add(run) for run in runs]
    if mentioned:
        root["mentions"] = mentioned
    root["mainEntity"] = bundle
    crate.metadata.write(into)


def _new(content: Content) -> Any:
    try:
        from rocrate.rocrate import ROCrate  # type: ignore[import-untyped]
    except ImportError as problem:
        raise ReproError(
            "crate-library",
            "a research object needs a library that is not installed here",
            found=str(problem),
            needs="rocrate, the extra `crate` of this tool",
            done="nothing was written",
            tries=["python -m pip install 'reprobundle[crate]'"],
        ) from problem
    crate = ROCrate(version="1.1")
    when = datetime.fromtimestamp(content.snapshot.commit_time, UTC)
    crate.name = f"{content.manifest.name} {content.manifest.id[:12]}"
    crate.description = (
        f"PyTorch project {content.manifest.name} at commit {content.snapshot.commit} with its locked "
        "packages, parameters and evaluation set, and the runs made of it"
    )
    crate.root_dataset["datePublished"] = when.isoformat()
    crate.root_dataset["license"] = crate.add_jsonld(_licence(content))
    crate.metadata.extra_contexts.append(_TERMS)
    crate.root_dataset["conformsTo"] = crate.add_jsonld(
        {"@id": _PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"}
    )
    return crate


def _licence(content: Content) -> dict[str, Any]:
    """The format wants one named; which it is, only the author can say."""
    file = licence_of(content)
    said = f"as `{file}` in code.tar says" if file else "the code has no licence file"
    return {"@id": "#licence", "@type": "CreativeWork", "name": file or "not stated", "description": said}


def _copied(source: Path, target: Path) -> Iterator[str]:
    """Copy what travels; the paths of its regular files, relative, sorted."""
    for path in sorted(source.rglob("*")):
        relative = path.relative_to(source)
        if path.name in _STAYS or any(part.startswith(".part-") for part in relative.parts):
            continue
        to = target / relative
        if path.is_symlink():
            to.parent.mkdir(parents=True, exist_ok=True)
            to.symlink_to(path.readlink())
        elif path.is_dir():
            to.mkdir(parents=True, exist_ok=True)
        elif path.is_file():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
            yield relative.as_posix()


def _file(crate: Any, content: Content, path: str, into: Path) -> Any:
    relative = path.partition("/")[2]
    listed = {entry.path: entry.sha256 for entry in content.manifest.files}
    properties: dict[str, Any] = {
        "contentSize": str((into / path).stat().st_size),
        "encodingFormat": _FORMS.get(Path(path).suffix, _UNKNOWN_FORM),
    }
    if relative in listed:
        properties["sha256"] = listed[relative]
    if relative in _DESCRIBED:
        properties["description"] = _DESCRIBED[relative]
    if relative == "code.tar":
        properties |= _code(content)
    return crate.add_file(dest_path=path, properties=properties)


def _code(content: Content) -> dict[str, Any]:
    return {
        "@type": ["File", "SoftwareSourceCode"],
        "name": content.manifest.name,
        "version": content.snapshot.commit,
        "programmingLanguage": f"Python {content.lock.python}",
    }


def _bundle(content: Content) -> dict[str, Any]:
    return {
        "name": f"bundle {content.manifest.name}",
        "identifier": content.manifest.id,
        "description": "As `repro build` made it; `repro verify` holds it against its manifest",
    }
