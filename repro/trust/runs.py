"""Runs as actions of a research object: what went in, what came out, when, and in which image."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from repro.model import number
from repro.model.run import RunFolder
from repro.trust.statement import Content

_DONE, _FAILED, _ACTIVE = (
    f"http://schema.org/{word}ActionStatus" for word in ("Completed", "Failed", "Active")
)
_STATES = {
    "ok": _DONE,
    "limited": _DONE,
    "failed": _FAILED,
    "stopped": _FAILED,
    "refused": _FAILED,
    "running": _ACTIVE,
}
_INPUTS = ("params.json", "eval.json", "requirements.lock", "protocol.json")
_IMAGE_KIND = "https://w3id.org/ro/terms/workflow-run#DockerImage"


class Actions:
    """Adds runs to a crate. `entities` are its files by their path in the bundle."""

    def __init__(self, crate: Any, content: Content, entities: Mapping[str, Any]) -> None:
        self._crate = crate
        self._content = content
        self._entities = entities
        self._image = self._add_image()

    def add(self, run: RunFolder) -> Any:
        """The CreateAction of a run that lies in the bundle."""
        attempt = Path(run.folder).relative_to(self._content.folder).as_posix()
        name = Path(run.path).name
        properties: dict[str, Any] = {"name": name, "description": " ".join(run.attempt.command)}
        properties |= {key: _time(text) for key, text in _times(run) if text}
        if run.attempt.status in _STATES:
            properties["actionStatus"] = _STATES[run.attempt.status]
        if run.attempt.reason:
            properties["error"] = run.attempt.reason
        action = self._crate.add_action(
            self._entities["code.tar"],
            identifier=f"#run-{name}",
            object=list(self._inputs(attempt)),
            result=[*self._outputs(attempt), *self._metrics(run, name)],
            properties=properties,
        )
        if self._image is not None:
            action["containerImage"] = self._image
        return action

    def _inputs(self, attempt: str) -> Iterator[Any]:
        for path, entity in self._entities.items():
            if path in _INPUTS or path.startswith(("eval/", "params/")) or path == f"{attempt}/params.json":
                yield entity

    def _outputs(self, attempt: str) -> Iterator[Any]:
        for path, entity in self._entities.items():
            if path.startswith(f"{attempt}/") and path != f"{attempt}/params.json":
                yield entity

    def _metrics(self, run: RunFolder, name: str) -> Iterator[Any]:
        for metric, text in sorted((run.metrics.values if run.metrics else {}).items()):
            yield self._crate.add_jsonld(
                {
                    "@id": f"#metric-{name}-{metric}",
                    "@type": "PropertyValue",
                    "name": metric,
                    "value": repr(number.from_text(text)),  # JSON has no NaN and no infinity
                }
            )

    def _add_image(self) -> Any:
        image = self._content.manifest.image
        if image is None:
            return None
        return self._crate.add_jsonld(
            {
                "@id": "#image",
                "@type": "ContainerImage",
                "additionalType": {"@id": _IMAGE_KIND},
                "name": f"repro/{self._content.manifest.name}",
                "tag": self._content.manifest.id[:12],
                "sha256": image.manifest.partition(":")[2],
            }
        )


def _times(run: RunFolder) -> tuple[tuple[str, str], ...]:
    return ("startTime", run.attempt.started), ("endTime", run.attempt.ended)


def _time(text: str) -> str:
    return datetime.fromtimestamp(number.from_text(text), UTC).isoformat(timespec="milliseconds")
