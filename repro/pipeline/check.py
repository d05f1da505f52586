"""Says whether a stack runs on cards: from words, a project, a bundle, an image or wheels."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from repro import paths
from repro.check.code.containers import judged, targets
from repro.check.examine import examine
from repro.check.known.archlist import arch_list
from repro.check.words.question import asked, stack_and_target
from repro.check.words.target import target_from_words
from repro.errors import ReproError
from repro.events import Sink, silent, step
from repro.model.binary import BinaryFacts
from repro.model.check import CheckReport, Question, Stack, Target, TargetReport
from repro.model.sizes import bytes_of
from repro.pipeline import stacks

if TYPE_CHECKING:
    from repro.bundle import Bundle
    from repro.engine.contract import ImageEngine
    from repro.model.project import Project

_SET = msgspec.structs.replace
# Worst first: what a report as a whole answers.
_EXITS = (("will-fail", 1), ("unknown", 6))
# Parts of a project's stack that have a value even where nothing says one, and the setting behind each.
_DEFAULTS = {"python": "dependencies.python", "precision": "protocol.precision"}


@dataclass(frozen=True)
class Wishes:
    """What a user may say about one check.

    Attributes:
        gpus, driver, driver_cuda: the targets; what is not said, a project says.
        memory_bytes: largest need; `reference`: torch to compare numerics with.
        said: the software in words; it goes before what is found.
    """

    gpus: tuple[str, ...] = ()
    driver: str = ""
    driver_cuda: str = ""
    memory_bytes: int | None = None
    reference: str = ""
    said: Question = field(default_factory=Question)

    @property
    def has_software(self) -> bool:
        """Whether the words describe something to judge by themselves, so that no project is meant."""
        said = self.said
        return bool(said.torch or said.extras or said.arch_list or said.cuda_error)

    def targets(self) -> list[Target]:
        """The cards that are meant, each once; without any, one target that names none."""
        gpus = self.gpus or ("",)
        meant = [target_from_words(gpu, "", self.driver, self.driver_cuda) for gpu in gpus]
        return list({target.gpu or target.asked: target for target in reversed(meant)}.values())[::-1]

    def or_else(self, gpus: Iterable[str], driver: str, memory: int | None = None) -> "Wishes":
        """The same, with another's cards, driver and need of memory where the user named none."""
        return replace(
            self,
            gpus=self.gpus or tuple(gpus),
            driver=self.driver or driver,
            memory_bytes=memory if self.memory_bytes is None else self.memory_bytes,
        )

    def over(self, stack: Stack) -> Stack:
        """The stack with everything that was said in words."""
        merged = stacks.overlaid(stack, self.said)
        return _SET(
            merged,
            memory_bytes=merged.memory_bytes if self.memory_bytes is None else self.memory_bytes,
            reference=self.reference or merged.reference,
        )


def judge(stack: Stack, targets: Iterable[Target]) -> CheckReport:
    """The verdict for each target, and the arch list that fits them all."""
    wanted = list(targets)
    reports = [_examined(stack, target) for target in wanted]
    capabilities = [target.capability for target in wanted if target.capability]
    return CheckReport(
        stack=_summary(stack), targets=reports, arch_list=arch_list(stack.torch, capabilities).value
    )


def _examined(stack: Stack, target: Target) -> TargetReport:
    """The verdict; without a card no container fits or fails, so none is counted."""
    report = examine(stack, target)
    return report if target.capability else _SET(report, files=[])


def _summary(stack: Stack) -> dict[str, Any]:
    torch = stack.torch
    code = [*(torch.sass or ()), *(torch.ptx or ())]
    version = torch.version + (f"+{torch.tag}" if torch.tag and torch.version else "")
    facts = {
        "origin": stack.origin,
        "torch": version,
        "cuda": torch.cuda,
        "python": stack.python,
        "basis": torch.basis,
        "kernels": f"{' '.join(code)}, from {torch.source or torch.basis}" if code else "",
        "precision": stack.precision,
        "files": [_holding(facts) for facts in stack.binaries if judged(facts)],
    }
    return {key: value for key, value in facts.items() if value}


def _holding(facts: BinaryFacts) -> dict[str, Any]:
    """What a file with GPU code holds, whatever the card."""
    containers = sum(group.count for group in judged(facts))
    return {"path": facts.path, "owner": facts.owner, "containers": containers, "holds": targets(facts)}


def exit_status(report: CheckReport) -> int:
    """1 when a target will fail, 6 when none does and one is unknown, else 0; without a card errors count."""
    verdicts = {_word(target) for target in report.targets}
    return next((status for verdict, status in _EXITS if verdict in verdicts), 0)


def _word(target: TargetReport) -> str:
    if target.gpu:
        return target.verdict
    return "will-fail" if any(f.severity == "error" for f in target.findings) else "runs"


def of_words(wishes: Wishes) -> CheckReport:
    """The answer for a stack that exists in words alone."""
    return judge(wishes.over(Stack(origin="words")), wishes.targets())


def of_questions(text: str, where: str) -> Iterator[CheckReport | ReproError]:
    """The answers to the questions of a file, at least one, each when it is asked for.

    A question that cannot be read, or names what is no driver, has its error for an answer; the others stand.
    """
    return map(_answered, asked(text, where))


def _answered(question: Question | ReproError) -> CheckReport | ReproError:
    if isinstance(question, ReproError):
        return question
    try:
        stack, target = stack_and_target(question)
        return judge(stack, [target])
    except ReproError as problem:
        return problem


def of_place(word: str, here: Path, wishes: Wishes, sink: Sink = silent) -> CheckReport:
    """The answer for a bundle or a project: a folder of either kind, or enough of a bundle's name."""
    from repro import bundle as bundles
    from repro import project as projects

    folder = Path(word or ".")
    if (folder / "bundle.json").is_file() or (word and not folder.is_dir()):
        return of_bundle(bundles.open_bundle(bundles.find_bundle(word, here)), wishes, sink)
    given: dict[str, object] = {"dependencies.python": wishes.said.python or None}
    try:
        project = projects.load(folder, given)
    except ReproError as problem:
        if problem.code != "config-no-command":
            raise
        project = projects.load(folder, {**given, "code.command": ["python"]})  # nothing is run here
    return of_project(project, wishes, sink)


def of_project(project: "Project", wishes: Wishes, sink: Sink = silent) -> CheckReport:
    """The answer for a project: its lock when there is one for these inputs, else what its files ask for."""
    from repro.pipeline.locked import project_stack

    own = project.settings.targets
    meant = wishes.or_else(own.gpus, own.driver, bytes_of(own.memory))
    report = judge(meant.over(project_stack(project, paths.cache(), sink)), meant.targets())
    if not wishes.gpus:
        report = _SET(report, targets=[_placed(t, f"{project.file}, targets.gpus") for t in report.targets])
    assumed = [key for key in _DEFAULTS if key in report.stack and _is_assumed(key, project, wishes)]
    return _SET(report, stack={**report.stack, "assumed": assumed}) if assumed else report


def _placed(target: TargetReport, where: str) -> TargetReport:
    """The same, with the place of a card that settings name and no table has."""
    found = [_SET(f, where=where) if f.rule == "card-unknown" else f for f in target.findings]
    return _SET(target, findings=found)


def _is_assumed(key: str, project: "Project", wishes: Wishes) -> bool:
    return not getattr(wishes.said, key) and project.origin(_DEFAULTS[key]) == "default"


def of_bundle(bundle: "Bundle", wishes: Wishes, sink: Sink = silent) -> CheckReport:
    """The answer for a bundle: its lock, its wheels, its code, the precision of its protocol."""
    from repro.pipeline.fit import recorded_targets
    from repro.pipeline.locked import bundle_stack

    meant = wishes.or_else(*recorded_targets(bundle.path))
    return judge(meant.over(bundle_stack(bundle, paths.cache(), sink)), meant.targets())


def of_image(tag: str, wishes: Wishes, sink: Sink = silent) -> CheckReport:
    """The answer for an image that the engine holds: all compiled files in it, whoever put them there.

    Raises:
        check-image-missing: this engine holds no such image.
    """
    from repro.engine.docker import DockerEngine

    engine = DockerEngine()
    held = engine.find(tag)
    if held is None:
        raise ReproError(
            "check-image-missing",
            f"this engine holds no image `{tag}`",
            done="nothing was pulled",
            tries=[f"docker pull {tag}", "repro show"],
        )
    return judge(wishes.over(image_stack(engine, held.id, tag, paths.cache(), sink)), wishes.targets())


def image_stack(engine: "ImageEngine", image: str, tag: str, cache: Path, sink: Sink) -> Stack:
    """What the file system of an image says: nothing of it is started, and it is read once, ever."""
    from repro.scan.package.cache import forgiving, image_for, keep_image
    from repro.scan.package.tar import scan_tar

    with step(sink, "read image") as shown:
        facts = image_for(image, cache)
        shown.cached = facts is not None
        if facts is None:
            with engine.export(image) as tar:
                facts = scan_tar(tar, sink, tag)
            with forgiving(tag, sink):
                keep_image(facts, image, cache)
        shown.detail = f"{sum(len(f.binaries) for f in facts.wheels)} compiled files"
    held = stacks.of_installed(facts)
    return _SET(held, detail=tag)


def of_wheels(files: list[Path], wishes: Wishes, sink: Sink = silent) -> CheckReport:
    """The answer for wheel files.

    Raises:
        wheel-unreadable: one of them is not there, or is no wheel.
    """
    from repro.pipeline.locked import held
    from repro.scan.package.wheel import scan_wheel

    with step(sink, "read wheels") as shown:
        facts = [scan_wheel(file, paths.cache(), sink) for file in files]
        shown.detail = stacks.counted(facts)
    stack = stacks.with_binaries(Stack(origin="wheel"), facts)
    return judge(wishes.over(held(stack, facts, paths.cache())), wishes.targets())
