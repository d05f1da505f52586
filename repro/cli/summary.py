"""What `build` and `show` say of a bundle."""

import os
from pathlib import Path
from typing import Any

from repro.bundle import Bundle
from repro.console import size


def bundle_document(bundle: Bundle, held: int | None = None) -> dict[str, Any]:
    """The machine-readable keys of a bundle and its image.

    `held` says how many layers, from the lowest on, the engine held before; None where that is not known.
    """
    return {
        "bundle": {"id": bundle.manifest.id, "name": bundle.manifest.name, "path": str(bundle.path)},
        "image": _image(bundle, held),
        "snapshot": {
            "commit": bundle.snapshot.commit,
            "tree": bundle.snapshot.tree,
            "dirty": bundle.snapshot.patch is not None,
        },
        "lock": {
            "python": bundle.lock.python,
            "packages": len(bundle.lock.wheels),
            "sha256": bundle.lock.requirements_sha256,
        },
        "check": _check(bundle),
        "warnings": [{"code": w.code, "where": w.where, "text": w.text} for w in warnings(bundle)],
    }


def _image(bundle: Bundle, held: int | None) -> dict[str, Any] | None:
    record, content = bundle.image(), bundle.manifest.image
    if content is None:
        return None
    layers = [
        {
            "digest": layer.digest,
            "bytes": layer.bytes,
            "role": layer.role,
            "holds": layer.holds,
            "new": None if held is None else number >= held,
        }
        for number, layer in enumerate(content.layers)
    ]
    return {
        "tag": record.tag if record else None,
        "config_digest": content.config,
        "manifest_digest": content.manifest,
        "tree_digest": content.tree,
        "bytes": sum(layer.bytes for layer in content.layers),
        "layers": layers,
    }


def warnings(bundle: Bundle) -> list[Any]:
    """All that the stages warned of, in the order of the path."""
    return [
        *bundle.snapshot.warnings,
        *bundle.params.warnings,
        *bundle.evalset.warnings,
        *bundle.lock.warnings,
    ]


def bundle_text(bundle: Bundle, *, cached: bool = False) -> str:
    """A screenful: id, what is inside, sizes, what was warned of, the next command."""
    snapshot, lock, image = bundle.snapshot, bundle.lock, bundle.image()
    evals = bundle.evalset.files
    dirty = f" + changes {snapshot.patch.sha256[:12]}" if snapshot.patch else ""
    wheels = sum(w.bytes for w in lock.wheels)
    rows = [
        ("bundle", f"{bundle.title}{'  (was there already)' if cached else ''}"),
        ("where", _short(bundle.path)),
        ("code", f"commit {snapshot.commit[:12]}{dirty}, {snapshot.num_files} files"),
        ("params", f"{bundle.params.file or 'none'}  {bundle.manifest.identity.params[:12]}"),
        (
            "eval",
            f"{bundle.evalset.path or 'none'}, {len(evals)} files, {size(sum(f.bytes for f in evals))}",
        ),
        ("lock", f"Python {lock.python}, {len(lock.wheels)} packages, {size(wheels)}{_torch(bundle)}"),
        ("check", _fits(bundle)),
        ("image", f"{image.tag}, {size(image.bytes)}" if image else "none: runs in place"),
    ]
    lines = [f"{word:<8} {text}" for word, text in rows]
    lines += [f"{'warning':<8} {w.where}: {w.text}  [{w.code}]" for w in warnings(bundle)]
    return "\n".join(
        [*lines, "", f"next: repro run {_short(bundle.path)}{'' if image else ' --engine inplace'}"]
    )


def _check(bundle: Bundle) -> dict[str, Any] | None:
    found = bundle.findings()
    if found is None:
        return None
    return {
        "targets": [{"gpu": t.gpu, "verdict": t.verdict} for t in found.targets],
        "allowed": found.allowed,
        "arch_list": found.arch_list,
    }


def _fits(bundle: Bundle) -> str:
    """The verdict for each target, and whether a bad one was allowed."""
    found = bundle.findings()
    if found is None or not found.targets:
        return "no targets: say --gpu, or [targets] in repro.toml"
    said = ", ".join(f"{t.gpu} {t.verdict}" for t in found.targets)
    why = (
        "" if all(t.verdict == "runs" for t in found.targets) else f"; why: repro check {_short(bundle.path)}"
    )
    return f"{said}{'; built with --allow-incompatible' if found.allowed else ''}{why}"


def _torch(bundle: Bundle) -> str:
    version = bundle.lock.version_of("torch")
    return f", torch {version}" if version else ", no torch"


def _short(path: Path) -> str:
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)
