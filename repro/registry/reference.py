"""What a user writes to name a place in a registry: `registry.example/team/name:tag`."""

import re
from dataclasses import dataclass

from repro.errors import ReproError

# Grammar of names: OCI distribution specification 1.1, "Pulling manifests".
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_WORDS = re.compile(
    r"(?P<host>[A-Za-z0-9.-]+(?::[0-9]{1,5})?|\[[0-9a-fA-F:]+\](?::[0-9]{1,5})?)"
    rf"/(?P<repository>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_HUB = "docker.io"
_HUB_HOST = "registry-1.docker.io"  # where Docker Hub's registry really answers
_LOCAL = ("localhost", "127.", "[::1]")


@dataclass(frozen=True)
class Reference:
    """A repository of a registry, and perhaps one thing in it by tag or digest."""

    host: str
    repository: str
    tag: str = ""
    digest: str = ""

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.place}{tag}{f'@{self.digest}' if self.digest else ''}"

    @property
    def place(self) -> str:
        """Registry and repository alone."""
        return f"{self.host}/{self.repository}"

    @property
    def address(self) -> str:
        """Host, and port where one is named, that answers for the registry."""
        return _HUB_HOST if self.host == _HUB else self.host

    @property
    def local(self) -> bool:
        """Whether the registry is on this machine, where plain http goes over no wire."""
        name = self.host.lower()
        return name.startswith(_LOCAL[1:]) or name.partition(":")[0] == _LOCAL[0]

    def tagged(self, tag: str) -> str:
        """The repository with another tag, as one writes it."""
        return f"{self.place}:{tag}"


def parse(word: str) -> Reference:
    """The reference that a word means.

    Raises:
        registry-reference: it is none, or names no registry; none is ever taken for granted.
    """
    found = _WORDS.fullmatch(word)
    host = found["host"] if found else ""
    if not found or not _is_host(host):
        raise ReproError(
            "registry-reference",
            f"`{word}` names no place in a registry",
            found=_wrong(word),
            needs="REGISTRY/REPOSITORY in small letters, such as `registry.example/team/name`",
            done="nothing was sent",
            tries=[f"name the registry too, as in `{_HUB}/{word}`"]
            if _is_path(word)
            else ["repro pull --help"],
        )
    repository = found["repository"]
    if host == _HUB and "/" not in repository:
        repository = f"library/{repository}"
    return Reference(host, repository, found["tag"] or "", found["digest"] or "")


def _is_host(text: str) -> bool:
    return "." in text or ":" in text or text == "localhost"


def _is_path(word: str) -> bool:
    return re.fullmatch(rf"{_PART}/{_PART}", word) is not None


def _wrong(word: str) -> str:
    if "://" in word:
        return "a web address; references have no scheme"
    if word != word.lower():
        return "capital letters"
    if _is_path(word) or "/" not in word:
        return "no registry before the repository"
    return "not of the form of a reference"
