"""`repro snapshot`."""

import tempfile
from pathlib import Path

import click
import msgspec

from repro.cli import options
from repro.cli.answer import Answer


@click.command()
@options.project_folder
@options.allow_dirty
@options.include
@options.sets
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Keep the snapshot in this new folder.")
@options.answers
def command(
    folder: Path,
    allow_dirty: bool,
    include: tuple[str, ...],
    sets: tuple[str, ...],
    out: Path | None,
    answer: Answer,
) -> None:
    """Show exactly what would be packed: commit, files, params, eval set, and what is left out."""
    from repro import project as projects
    from repro import snapshot
    from repro.console import size

    project = projects.load(folder)
    with tempfile.TemporaryDirectory() as scratch:
        into = out or Path(scratch)
        into.mkdir(parents=True, exist_ok=True)
        code = snapshot.take_code(
            project, into, allow_dirty=allow_dirty, include=include, sink=answer.console.sink
        )
        params = snapshot.take_params(project, into, sets)
        evalset = snapshot.take_eval(project, into)
        packed = (into / "code.tar").stat().st_size
    warned = [*code.warnings, *params.warnings, *evalset.warnings]
    lines = [
        f"commit   {code.commit}  branch: {code.branch or 'none (detached)'}",
        f"tree     {code.tree}" + (f"  subfolder {code.subfolder}" if code.subfolder else ""),
        f"code     {code.num_files} files, {size(packed)}",
        f"params   {len(params.values)} from {params.file}" if params.file else "params   none",
        f"eval     {len(evalset.files)} files, {size(sum(f.bytes for f in evalset.files))}"
        if evalset.path
        else "eval     none",
        *[f"{w.code:<8} {w.where}: {w.text}" for w in warned],
    ]
    document = {
        name: msgspec.to_builtins(part)
        for name, part in (("snapshot", code), ("params", params), ("eval", evalset))
    }
    answer.give("snapshot", document, "\n".join(lines))
