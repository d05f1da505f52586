"""When an evaluation set is no evaluation set: missing, empty, too large, pointers, links that lead away."""

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from repro.errors import ReproError
from repro.model.project import Project
from repro.model.snapshot import Warned
from repro.snapshot import lfs, links, secrets
from repro.snapshot.names import listed, shown, size, under
from repro.snapshot.repository import open_repository

# Files that are empty by their nature and say something by being there.
_MARKERS = ("__init__.py", ".gitkeep", ".keep", "_SUCCESS", ".nomedia", "py.typed", ".gitignore")
_NOTHING = "nothing was packed"


def check_there(project: Project, root: Path, path: str) -> None:
    """Raise eval-missing when nothing lies at the path."""
    if (root / path).exists() or (root / path).is_symlink():
        return
    tries = ['eval.path = "..."      (in repro.toml)']
    if (root / f"{path}.dvc").exists():
        tries.insert(0, f"dvc pull {path}.dvc")
    raise ReproError(
        "eval-missing",
        f"the evaluation set `{shown(path)}` is not there",
        found=f"no file or folder `{root / path}`",
        needs=f"`eval.path`, a file or folder of the project ({project.origin('eval.path')})",
        done=_NOTHING,
        tries=tries,
    )


def check_counts(project: Project, path: str, num_files: int, most_counted: int) -> None:
    """Raise eval-empty for no file, eval-too-many-files for more than the settings allow."""
    most = project.settings.eval.max_files
    if num_files == 0:
        raise empty(path, [f"{shown(path)} has no file"])
    if num_files > most:
        some = "more than " if num_files >= most_counted else ""
        raise ReproError(
            "eval-too-many-files",
            f"{some}{num_files} files in the evaluation set `{shown(path)}`, the limit is {most}",
            found=f"{some}{num_files} files",
            needs=f"at most {most} files (`eval.max_files`, {project.origin('eval.max_files')})",
            done=_NOTHING,
            tries=[
                f"pack them as one archive that the program reads: tar -cf {shown(path)}.tar {shown(path)}",
                f"eval.max_files = {num_files}      (in repro.toml, if they are all meant to travel)",
            ],
        )


def check_size(project: Project, path: str, num_bytes: int, largest: Sequence[tuple[int, str]]) -> None:
    """Raise eval-too-large for more bytes than the settings allow."""
    most = project.settings.eval.max_mb
    if num_bytes > most * 1e6:
        big = [f"{shown(name)} {size(n)} ({n / num_bytes:.0%})" for n, name in sorted(largest, reverse=True)]
        raise ReproError(
            "eval-too-large",
            f"the evaluation set `{shown(path)}` holds {num_bytes / 1e6:.1f} MB, the limit is {most:g} MB",
            found=big,
            needs=f"at most {most:g} MB (`eval.max_mb`, {project.origin('eval.max_mb')})",
            done=_NOTHING,
            tries=[
                "point `eval.path` at a smaller part of it",
                f"eval.max_mb = {num_bytes // 1_000_000 + 1}      (in repro.toml, if all is meant to travel)",
            ],
        )


def check_names(paths: Iterable[str]) -> None:
    """Raise eval-name for names that are not UTF-8, which the list of files cannot hold."""
    wrong = [p for p in paths if not p.isprintable() and any("\udc80" <= c <= "\udcff" for c in p)]
    if wrong:
        raise ReproError(
            "eval-name",
            "the evaluation set holds files whose names are not UTF-8",
            found=listed(wrong),
            needs="names in UTF-8",
            done=_NOTHING,
            tries="convmv -f latin1 -t utf8 --notest -r FOLDER      (renames them)",
        )


def check_special(paths: Sequence[str]) -> None:
    """Raise eval-special-file for pipes, sockets and devices."""
    if paths:
        raise ReproError(
            "eval-special-file",
            "the evaluation set holds something that is no file",
            found=listed(paths),
            needs="files, folders and links",
            done=_NOTHING,
            tries=f"ls -l {shown(paths[0])}",
        )


def check_links(root: Path, path: str, found: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Links inside the set with their targets, and links to other files of the repository, to be copied.

    Raises:
        eval-link: a link leaves the repository, leads to a folder outside the set, or points nowhere.
    """
    if not found:
        return {}, []
    top = open_repository(root).top.resolve()
    base = root.relative_to(top).as_posix()
    inside, copied, wrong = {}, [], []
    for name, text in found.items():
        end = links.target(posixpath.normpath(posixpath.join(base, name)), text)
        own = "" if end is None else posixpath.relpath(end, base)
        real = _resolved(root / name)
        if real is None:
            wrong.append(f"{shown(name)} -> {shown(text)} goes in a circle")
        elif "annex/objects/" in text and not (root / name).exists():
            wrong.append(f"{shown(name)} is a git-annex file that was not fetched")
        elif end is None or not real.is_relative_to(top):
            wrong.append(f"{shown(name)} -> {shown(text)} points outside the repository")
        elif not (root / name).exists():
            wrong.append(f"{shown(name)} -> {shown(text)} points nowhere")
        elif under(own, path) and own != name:
            inside[name] = own
        elif (root / name).is_file():
            copied.append(name)
        else:
            wrong.append(f"{shown(name)} -> {shown(text)} is a folder outside the evaluation set")
    if wrong:
        raise _wrong_links(wrong)
    return inside, copied


def _way_out(found: str) -> str:
    if "git-annex" in found:
        return f"git annex get {found.split(' is a git-annex')[0]}"
    if "is a folder" in found:
        return "replace the link by a copy of the folder: cp -RL LINK COPY && rm LINK && mv COPY LINK"
    return 'replace each link by a copy of the file: cp --remove-destination "$(readlink -f LINK)" LINK'


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (RuntimeError, OSError):  # a circle, as Python before 3.13 and later say it
        return None


def _wrong_links(found: list[str]) -> ReproError:
    return ReproError(
        "eval-link",
        f"{len(found)} link{'s' if len(found) > 1 else ''} of the evaluation set cannot travel",
        found=found[:20] + ([f"and {len(found) - 20} more"] if len(found) > 20 else []),
        needs="files, or links to files inside the set",
        why="foreign files are never packed unasked, and a broken link would be an empty example",
        done=_NOTHING,
        tries=_way_out(found[0]),
    )


def check_secrets(paths: Iterable[str]) -> None:
    """Raise snapshot-secret when a name says that a file holds credentials."""
    secrets.refuse(secrets.Hit(p, 0, "file for credentials") for p in paths if secrets.is_secret_file(p))


def check_content(root: Path, path: str, files: Sequence[tuple[str, int]]) -> list[Warned]:
    """Warnings for single empty files.

    Raises:
        eval-lfs-pointer: a file stands for another that was not fetched.
        eval-empty: all files, or all of one kind, hold nothing.
    """
    pointers = {
        p: found for p, n in files if n <= lfs.LARGEST and (found := lfs.pointer((root / p).read_bytes()))
    }
    if pointers:
        raise _pointers(pointers)
    bare = [p for p, n in files if n == 0 and not p.endswith(_MARKERS)]
    full = {posixpath.splitext(p)[1] for p, n in files if n}
    hopeless = [p for p in bare if posixpath.splitext(p)[1] not in full]
    if hopeless or not full:
        raise empty(path, [f"{p} has 0 bytes" for p in listed(hopeless)] or [f"{shown(path)} has no content"])
    if not bare:
        return []
    text = f"{len(bare)} files of the evaluation set have 0 bytes: {', '.join(listed(bare, 5))}"
    return [Warned(code="eval-empty-files", where=shown(bare[0]), text=text)]


def unreadable(problem: PermissionError) -> ReproError:
    """The error for a file or folder of the set that this user may not read."""
    name = shown(str(problem.filename))
    return ReproError(
        "eval-unreadable",
        "a file of the evaluation set may not be read",
        found=name,
        needs="files that you may read",
        done=_NOTHING,
        tries=f"chmod -R u+rX {name}",
    )


def _pointers(found: Mapping[str, lfs.Pointer]) -> ReproError:
    paths = list(found)
    return ReproError(
        "eval-lfs-pointer",
        f"{found[paths[0]].text(paths[0])}; it is no data",
        found=[pointer.text(p) for p, pointer in list(found.items())[:20]],
        needs="the real files",
        done=_NOTHING,
        tries=found[paths[0]].command(paths[0]),
    )


def empty(path: str, found: list[str]) -> ReproError:
    """The error for a set over which nothing could be evaluated."""
    return ReproError(
        "eval-empty",
        f"the evaluation set `{shown(path)}` is empty: {', '.join(found[:3])}",
        found=found,
        needs="at least one example",
        why="an evaluation over nothing would pass",
        done=_NOTHING,
        tries=['eval.path = "..."      (in repro.toml, the data that results are measured on)'],
    )
