"""What indexes and folders offer of a project: the simple API (PEP 503, PEP 691) and find-links."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import url2pathname

from repro import redact
from repro.errors import ReproError
from repro.lock.pipconf import local_folder
from repro.lock.requests import Source
from repro.lock.web import Missing, Page, Web, split_login

_FILE = re.compile(r"\.(whl|tar\.gz|zip|tgz|tar\.bz2)$")


@dataclass(frozen=True)
class Offer:
    """One file that a source offers. `url` keeps its source's login; `path`: a file of this machine."""

    file: str
    url: str
    source: Source
    sha256: str = ""
    requires_python: str = ""
    yanked: bool = False
    bytes: int = 0
    path: Path | None = None

    @property
    def origin(self) -> str:
        """The address for the lock: no login, no fragment; `local` for a file of this machine."""
        return "local" if self.path else redact.text(split_login(self.url.split("#")[0])[0])


class Shelf:
    """All sources in the order in which they count; each page is read once."""

    def __init__(self, sources: list[Source], web: Web) -> None:
        self.sources = sources
        self.problems: dict[str, ReproError] = {}
        self._web = web
        self._pages: dict[tuple[str, str], list[Offer]] = {}

    def offers(self, name: str, only: str = "") -> list[Offer]:
        """Files of a project (normalised name) from every source, or from the source of that name alone.

        A source that does not answer is kept in `problems`, and is an error only when it matters.
        """
        found: list[Offer] = []
        for source in self.sources:
            wanted = source.name == only if only else not source.explicit
            if wanted:
                found += self._from(source, name)
        return found

    def _from(self, source: Source, name: str) -> list[Offer]:
        key = (source.url, name)
        if key not in self._pages:
            try:
                self._pages[key] = [o for o in self._read(source, name) if project_of(o.file) == name]
            except ReproError as problem:
                self.problems.setdefault(source.url, problem)
                self._pages[key] = []
        return self._pages[key]

    def _read(self, source: Source, name: str) -> list[Offer]:
        flat = source.kind == "find-links"
        address = source.url if flat else f"{source.url.rstrip('/')}/{name}/"
        path = local_folder(address)
        if path is None:
            return self._remote(source, address)
        if flat and path.is_dir():
            return [_local(p, source) for p in sorted(path.iterdir()) if _FILE.search(p.name)]
        page = path / "index.html" if path.is_dir() else path
        if not page.is_file():
            return [_local(p, source) for p in sorted(path.iterdir())] if path.is_dir() else []
        base = page.resolve().as_uri()
        return list(_html(page.read_text("utf-8", "replace"), base, source))

    def _remote(self, source: Source, address: str) -> list[Offer]:
        try:
            page = self._web.page(address)
        except Missing:
            return []
        base = _with_login(page.url, source.url)
        try:
            if "json" in page.kind:
                return list(_json(json.loads(page.body), base, source))
            return list(_html(page.body.decode("utf-8", "replace"), base, source))
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise _no_index(page, problem) from None


def _no_index(page: Page, problem: Exception) -> ReproError:
    return ReproError(
        "lock-index-unreachable",
        f"the package index `{urlsplit(page.url).hostname}` does not answer as an index",
        found=[redact.text(split_login(page.url)[0]), f"{page.kind}: {type(problem).__name__}: {problem}"],
        needs="a page of the simple API (PEP 503 or PEP 691)",
        done="what was downloaded before is kept and used by the next try",
        tries=["check the address of the index: it often ends in /simple", "pip config list"],
    )


def _with_login(address: str, source: str) -> str:
    login = urlsplit(source).netloc.rpartition("@")[0]
    parts = urlsplit(address)
    same = parts.hostname == urlsplit(source).hostname
    return (
        parts._replace(netloc=f"{login}@{parts.netloc}").geturl()
        if login and same and "@" not in parts.netloc
        else address
    )


def _local(path: Path, source: Source) -> Offer:
    return Offer(
        path.name, path.as_uri() if path.is_absolute() else path.absolute().as_uri(), source, path=path
    )


def _json(page: dict[str, Any], base: str, source: Source) -> Iterator[Offer]:
    for row in page.get("files", []):
        yield _offer(
            urljoin(base, row["url"]),
            source,
            file=row["filename"],
            sha256=row.get("hashes", {}).get("sha256", ""),
            requires_python=row.get("requires-python") or "",
            yanked=bool(row.get("yanked")),
            size=row.get("size") or 0,
        )


def _html(page: str, base: str, source: Source) -> Iterator[Offer]:
    reader = _Links()
    reader.feed(page)
    for attributes in reader.found:
        url = urljoin(base, attributes.get("href") or "")
        bare, _, fragment = url.partition("#")
        file = unquote(urlsplit(bare).path.rsplit("/", 1)[-1])
        sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        python = attributes.get("data-requires-python") or ""
        if _FILE.search(file):
            yield _offer(
                url,
                source,
                file=file,
                sha256=sha256,
                requires_python=python,
                yanked="data-yanked" in attributes,
            )


def _offer(
    url: str, source: Source, *, file: str, sha256: str, requires_python: str, yanked: bool, size: int = 0
) -> Offer:
    parts = urlsplit(url)
    path = Path(url2pathname(parts.path)) if parts.scheme == "file" else None
    return Offer(file, url, source, sha256, requires_python, yanked, size, path)


class _Links(HTMLParser):
    """Collects the attributes of all links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep links, pass over the rest."""
        if tag == "a":
            self.found.append(dict(attrs))


def project_of(file: str) -> str:
    """Normalised project name in a file's name; empty when it is no package file."""
    return _parsed(file)[0]


def version_of(file: str) -> str:
    """Version in a file's name, in its normal form; empty when it is no package file."""
    return _parsed(file)[1]


@cache
def _parsed(file: str) -> tuple[str, str]:
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        parse_sdist_filename,
        parse_wheel_filename,
    )

    try:
        if file.endswith(".whl"):
            name, version = parse_wheel_filename(file)[:2]
        else:
            name, version = parse_sdist_filename(re.sub(r"\.(tgz|tar\.bz2)$", ".tar.gz", file))
    except (InvalidWheelFilename, InvalidSdistFilename):
        return "", ""
    return str(name), str(version)
