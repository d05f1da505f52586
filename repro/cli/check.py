"""`repro check`."""

import re
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repro.cli import options
from repro.cli.answer import Answer
from repro.errors import EXIT_USAGE, ReproError

if TYPE_CHECKING:
    from repro.model.check import CheckReport, Package, Question
    from repro.report.findings import Depth

_WORST_LAST = (0, 6, 1, EXIT_USAGE)
# NAME, a version or a range, and how it was built after a colon: `flash-attn==2.5.8: compiled, nvcc 11.8`.
_WITH = re.compile(
    r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:==)?\s*([<>=!~]?=?\s*[^:]*?)\s*(?::\s*(.*))?", re.DOTALL
)


@click.command()
@click.argument("what", default="", metavar="[BUNDLE|PROJECT]")
@click.option("--gpu", "gpus", multiple=True, metavar="CARD", help="Judge for this card; may be given often.")
@click.option("--driver", default="", metavar="VERSION", help="Driver of the target, e.g. 535.104.05.")
@click.option("--driver-cuda", default="", metavar="X.Y", help="CUDA version that nvidia-smi prints there.")
@click.option(
    "--torch", default="", metavar="VERSION", help="Version, with a tag where it has one: 1.7.1+cu110."
)
@click.option(
    "--index", default="", metavar="NAME", help="Where torch comes from: default, pytorch-cu118 ..."
)
@options.python
@click.option("--arch-list", default="", metavar="WORDS", help="What torch.cuda.get_arch_list() printed.")
@click.option(
    "--with",
    "extras",
    multiple=True,
    metavar="NAME[==VERSION][: HOW]",
    help="Another package that matters, and how it was built.",
)
@click.option("--precision", default="", metavar="WORD", help="What the training asks for: bf16, fp8 ...")
@click.option("--memory", default="", metavar="SIZE", help="Largest need of the training, e.g. 40GiB.")
@click.option("--platform", default="", metavar="WORDS", help="System and machine: linux x86_64.")
@click.option("--glibc", default="", metavar="X.Y", help="glibc of the place where it runs.")
@click.option("--cuda-error", default=0, metavar="N", help="What cuInit answered on the machine, e.g. 802.")
@click.option("--reference", default="", metavar="VERSION", help="Name numerics changes since this torch.")
@click.option("--image", default="", metavar="TAG", help="Read the compiled files of an image.")
@click.option(
    "--wheel",
    "wheels",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the compiled files of a wheel; may be given often.",
)
@click.option("--question", default="", metavar="FILE|-", help="A question as JSON, or one a line.")
@options.answers
def command(
    what: str, image: str, wheels: tuple[Path, ...], question: str, answer: Answer, **words: Any
) -> int:
    """Say whether a locked stack runs on a GPU, without having one.

    Looks at a bundle, a project, an image, wheels, or, with --torch and the like, at nothing but words.

    \b
      repro check --gpu a100-80gb --gpu h100             the project in this folder
      repro check --torch 1.12.1 --gpu a100              no project at all
      repro check --torch 2.3.0+cu121 --gpu l40s --driver 535.104.05 --with "flash-attn==2.5.8: wheel"
      repro check --image my/image:tag --gpu a6000       what is really in an image
      repro check --wheel ext.whl --torch 2.1.0 --gpu h200

    --verbose tells each finding in full, --quiet leaves notes out.
    Exit: 1 when it will fail on a target, 6 when it fails on none and is unknown on one, else 0.
    """  # noqa: D301 - a real backspace: it keeps the lines that follow as they are
    from repro.pipeline import check

    if question:
        return _questions(question, answer)
    if not all(gpu.strip() for gpu in words["gpus"]):
        raise click.UsageError("--gpu names no card; `repro gpus` lists them")
    said = _question(words)
    wishes = check.Wishes(
        gpus=words["gpus"],
        driver=words["driver"],
        driver_cuda=words["driver_cuda"],
        memory_bytes=_bytes(words["memory"]),
        reference=words["reference"],
        said=said,
    )
    report = _looked_at(what, image, wheels, wishes, answer)
    return _give(report, answer)


def _looked_at(what: str, image: str, wheels: tuple[Path, ...], wishes: Any, answer: Answer) -> "CheckReport":
    """The one thing that was named; two are a usage error."""
    from repro.pipeline import check

    if sum(map(bool, (what, image, wheels))) > 1:
        raise click.UsageError("name one thing: a bundle or project, or --image, or --wheel")
    sink = answer.console.sink
    if image:
        return check.of_image(image, wishes, sink)
    if folder := next((wheel for wheel in wheels if wheel.is_dir()), None):
        raise click.UsageError(f"--wheel takes wheel files; `{folder}` is a folder: repro check {folder}")
    if wheels:
        return check.of_wheels(list(wheels), wishes, sink)
    if not what and wishes.has_software:
        return check.of_words(wishes)
    return check.of_place(what, Path.cwd(), wishes, sink)


def _give(report: "CheckReport", answer: Answer) -> int:
    from repro.pipeline.check import exit_status
    from repro.report.check import check_document, check_text

    document = check_document(report)
    depth: Depth = "all" if answer.verbose else "less" if answer.quiet else "usual"
    answer.give(
        "check",
        {key: value for key, value in document.items() if key not in ("schema", "command")},
        lambda: check_text(report, width=answer.width, colour=answer.colour, depth=depth).rstrip(),
    )
    return exit_status(report)


def _questions(source: str, answer: Answer) -> int:
    """Answers to the questions of a file: one as any other answer, several as JSON lines."""
    import msgspec

    from repro.pipeline import check
    from repro.report.check import check_document

    text = sys.stdin.read().removeprefix("\ufeff") if source == "-" else _read(source)
    reports = check.of_questions(text, "standard input" if source == "-" else source)
    first, second = next(reports), next(reports, None)
    if second is None:
        if isinstance(first, ReproError):
            raise first
        return _give(first, answer)
    statuses = {0}
    for report in chain((first, second), reports):
        if isinstance(report, ReproError):
            document, status = {"schema": 1, "command": "check", "error": report.document()}, EXIT_USAGE
        else:
            document, status = check_document(report), check.exit_status(report)
        print(msgspec.json.encode(document).decode(), flush=True)
        statuses.add(status)
    return max(statuses, key=_WORST_LAST.index)


def _read(source: str) -> str:
    try:
        return Path(source).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise click.UsageError(f"--question {source}: {problem}") from problem


def _question(words: dict[str, Any]) -> "Question":
    """The options about the software as a question; what was not said has the question's own default."""
    from repro.check import plain_index
    from repro.model.check import Question

    torch = words["torch"].strip()
    if torch and not re.match(r"v?\d|(?:py)?torch\b", torch):
        raise click.UsageError(f"--torch takes a version such as 1.12.1 or 1.7.1+cu110, not `{torch}`")
    system, _, machine = words["platform"].replace("/", " ").replace("-", " ").strip().partition(" ")
    torch = f"torch=={torch}" if re.match(r"v?\d", torch) else torch
    given = {
        "torch": torch,
        "index": words["index"] or (plain_index(torch) if torch else ""),
        "python": words["python"],
        "system": system.lower(),
        "machine": machine.strip(),
        "glibc": words["glibc"],
        "extras": [_extra(text) for text in words["extras"]],
        "precision": words["precision"],
        "arch_list": words["arch_list"].replace(",", " ").split(),
        "cuda_error": words["cuda_error"],
    }
    return Question(**{key: value for key, value in given.items() if value})


def _extra(text: str) -> "Package":
    from repro.model.check import Package

    found = _WITH.fullmatch(text)
    if found is None:
        raise click.UsageError(f"--with takes NAME, NAME==VERSION or NAME==VERSION: HOW, not `{text}`")
    name, version, how = (part or "" for part in found.groups())
    return Package(name=name, version=version, how=how)


def _bytes(text: str) -> int | None:
    from repro.model.sizes import bytes_of

    size = bytes_of(text) if text else None
    if text and size is None:
        raise click.UsageError(f"--memory takes a size such as 40GiB or 24GB, not `{text}`")
    return size
