"""Finds credentials by the names of files and by what they hold, and says where, never what.

Rows of the tables were written after the public formats of each issuer's tokens.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro.errors import ReproError
from repro.model.snapshot import Warned
from repro.redact import text as redacted
from repro.snapshot.names import listed, shown
from repro.snapshot.secretvalues import FEW, secret_settings

_SECRET_NAMES = re.compile(
    r"(?:^|/)(?:"
    r"\.env(?:\.[^/]*)?|[^/]+\.env|\.envrc\.local"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|[^/]+\.(?:ppk|p12|pfx|keystore|jks|kdbx)"
    r"|\.netrc|_netrc|\.pgpass|\.htpasswd|\.git-credentials|\.pypirc|\.my\.cnf"
    r"|\.aws/credentials|\.docker/config\.json|\.dockercfg|\.kube/config|kaggle\.json|credentials\.json"
    r"|client_secret[^/]*\.json|service[-_]account[^/]*\.json|application_default_credentials\.json"
    r"|\.azure/[^/]*|\.config/gcloud/.*|\.huggingface/token|\.boto|\.s3cfg|secrets?\.(?:ya?ml|toml|json|ini)"
    r"|\.streamlit/secrets\.toml|(?:[^/]*[._-])?cookies\.txt|\.vault[-_]pass[^/]*|\.ssh/(?!config$|known_hosts$|[^/]*\.pub$)[^/]+"
    r")$",
    re.IGNORECASE,
)
_HARMLESS_NAMES = re.compile(
    r"(?:^|/)(?:\.env[._-](?:example|sample|template|tmpl|dist|defaults?|schema)[^/]*|(?:example|sample|template)[^/]*\.env"
    r"|[^/]*\.(?:example|sample|template)\.[^/]*env)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Pattern:
    """What a credential looks like: one of `hints` is in every file that holds one."""

    kind: str
    hints: tuple[bytes, ...]
    regex: re.Pattern[bytes]


def _pattern(kind: str, hints: tuple[bytes, ...], regex: bytes) -> Pattern:
    return Pattern(kind, hints, re.compile(regex))


_PATTERNS = (
    _pattern(
        "private key",
        (b"PRIVATE KEY",),
        rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
        rb"(?:\\n|\s|\\)+(?:[A-Za-z-]+: [^\n]*\n)*\s*[A-Za-z0-9+/]{16,}",
    ),
    _pattern("Hugging Face token", (b"hf_",), rb"\bhf_[A-Za-z0-9]{30,}\b"),
    _pattern(
        "GitHub token",
        (b"gh", b"github_pat_"),
        rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})\b",
    ),
    _pattern("GitLab token", (b"glpat-",), rb"\bglpat-[A-Za-z0-9_-]{20,}"),
    _pattern("AWS key id", (b"AKIA", b"ASIA"), rb"\b(?:AKIA|ASIA)(?![A-Z0-9]{9}EXAMPLE)[A-Z0-9]{16}\b"),
    _pattern(
        "API key",
        (b"sk-",),
        rb"\bsk-(?:[A-Za-z0-9]{32,}|(?:proj|svcacct|admin|ant|or)-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,})",
    ),
    _pattern("PyPI token", (b"pypi-",), rb"\bpypi-AgEI[A-Za-z0-9_-]{30,}"),
    _pattern(
        "Weights & Biases key",
        (b"wandb",),
        rb"wandb\.login\([^)\n]*?key\s*=\s*\\?['\"][0-9a-f]{40}\b|api\.wandb\.ai\s+login\s+\S+\s+password\s+[0-9a-f]{40}\b",
    ),
    _pattern(
        "Kaggle key",
        (b"username",),
        rb"['\"]username['\"]\s*:\s*['\"][^'\"]+['\"]\s*,\s*['\"]key['\"]\s*:\s*['\"][0-9a-f]{32}['\"]",
    ),
    _pattern("Slack token", (b"xox",), rb"\bxox[abeoprs]-[0-9A-Za-z-]{20,}"),
    _pattern("Google API key", (b"AIza",), rb"\bAIza[0-9A-Za-z_-]{35}\b"),
    _pattern(
        "value of a secret variable",
        (b"KEY", b"TOKEN", b"PASSWORD", b"SECRET"),
        rb"\b(?:WANDB_API_KEY|HF_TOKEN|HUGGING_?FACE_(?:HUB_)?TOKEN|AWS_SECRET_ACCESS_KEY|OPENAI_API_KEY|COMET_API_KEY"
        rb"|NEPTUNE_API_TOKEN|ANTHROPIC_API_KEY|GITHUB_TOKEN|GH_TOKEN|KAGGLE_KEY|AZURE_STORAGE_KEY|DATABASE_PASSWORD"
        rb"|DB_PASSWORD)['\"]?\]?\s*[=:]\s*['\"]?(?=[A-Za-z+/_.-]*[0-9])[A-Za-z0-9+/_.-]{16,}(?![A-Za-z0-9+/_.(\[-])",
    ),
)
_LOGIN = re.compile(
    rb"[a-z][a-z0-9+.-]*://[^\s/:@'\"<>`]{1,200}:(?P<password>[^\s/@'\"<>`]{1,200})@[\w\[][\w.-]*",
    re.IGNORECASE,
)
_NO_PASSWORD = re.compile(rb"\$[{(]|\$[A-Z_]+$|[{}<>]|%[(s{]|\*+$|[xX]+$")
_SAMPLE_PASSWORD = re.compile(rb"(?:pass|password|passwd|pwd|secret|token|key)$", re.IGNORECASE)
_PROSE = (".md", ".rst", ".ipynb", ".html", ".tex", ".py")
_MOST_BYTES = 4 << 20
_EXPLAIN = "pass it by name when the container starts, e.g. repro run BUNDLE --env HF_TOKEN"


@dataclass(frozen=True)
class Hit:
    """A credential: its kind, and the place as `file` or `file:line`."""

    path: str
    line: int
    kind: str

    @property
    def where(self) -> str:
        """The place, fit for one line."""
        return f"{shown(self.path)}:{self.line}" if self.line else shown(self.path)


def is_secret_file(path: str) -> bool:
    """Whether a file's name says that it holds credentials."""
    return bool(_SECRET_NAMES.search(path)) and not _HARMLESS_NAMES.search(path)


def in_content(path: str, content: bytes) -> list[Hit]:
    """Credentials in a text file; binary files and what lies beyond 4 MiB are not searched."""
    if b"\0" in content[:8000]:
        return []
    content = content[:_MOST_BYTES]
    places = [
        (match.start(), row.kind)
        for row in _PATTERNS
        if any(h in content for h in row.hints)
        for match in row.regex.finditer(content)
        if len(set(match[0][-16:])) > FEW
    ]
    places += _logins(path, content)
    known = {content.count(b"\n", 0, start) for start, _ in places}
    places += [(s, k) for s, k in secret_settings(path, content) if content.count(b"\n", 0, s) not in known]
    lines = sorted({(content.count(b"\n", 0, start) + 1, kind) for start, kind in places})
    return [Hit(path, line, kind) for line, kind in lines]


def in_patch(name: str, patch: bytes) -> list[Hit]:
    """Credentials in a patch as `git diff` writes it, in lines that stay, come or go; each by its line there.

    What a line means depends on its file: `password: x` is one in settings, and none in a text for people.
    """
    hits = in_content(name, patch)
    lines = patch.split(b"\n")
    starts = [n for n, line in enumerate(lines) if line.startswith(b"diff --git ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        file = lines[start].rpartition(b" b/")[2].decode("utf-8", "replace").strip('"')
        body = b"\n".join(line[1:] if line[:1] in b"+- " else b"" for line in lines[start:end])
        hits += [Hit(name, start + hit.line, hit.kind) for hit in in_content(file, body)]
    return list({(hit.path, hit.line): hit for hit in hits}.values())


def _logins(path: str, content: bytes) -> list[tuple[int, str]]:
    if b"://" not in content or b"@" not in content:
        return []
    prose = path.lower().endswith(_PROSE)
    return [
        (match.start(), f"password in an address, {redacted(match[0].decode('utf-8', 'replace'))}")
        for match in _LOGIN.finditer(content)
        if not _NO_PASSWORD.match(match["password"])
        and not (prose and _SAMPLE_PASSWORD.match(match["password"]))
    ]


def search(contents: Mapping[str, bytes | Path]) -> list[Hit]:
    """Credentials in files that are to be packed, by name and by content."""
    hits = []
    for path, content in contents.items():
        if is_secret_file(path):
            hits.append(Hit(path, 0, "file for credentials"))
        elif isinstance(content, bytes):
            hits += in_content(path, content)
        else:
            with content.open("rb") as f:
                hits += in_content(path, f.read(_MOST_BYTES))
    return hits


def refuse(hits: Iterable[Hit]) -> None:
    """Return when there are no hits.

    Raises:
        snapshot-secret: with the places, and without the values.
    """
    found = [f"{hit.where}: {hit.kind}" for hit in hits]
    if found:
        raise ReproError(
            "snapshot-secret",
            f"{len(found)} credential{'s' if len(found) > 1 else ''} would be packed into the bundle",
            found=found[:20] + ([f"and {len(found) - 20} more"] if len(found) > 20 else []),
            needs="code without credentials",
            why="a bundle is made to be handed on, and layers of an image cannot be taken back",
            done="nothing was packed, and no value was printed",
            tries=[
                "git rm --cached FILE, add it to .gitignore, commit, and replace the credential",
                _EXPLAIN,
            ],
        )


def left_out(paths: Iterable[str]) -> list[Warned]:
    """What is said about files for credentials that git does not track."""
    paths = sorted(paths)
    if not paths:
        return []
    text = f"{', '.join(listed(paths))}: left out, since the name says that it holds credentials; {_EXPLAIN}"
    return [Warned(code="secret-left-out", where=shown(paths[0]), text=text)]


def in_config(config: Iterable[tuple[str, str]]) -> list[Warned]:
    """Warnings for credentials in git's own settings, masked; those settings are never packed."""
    found = []
    for key, value in config:
        is_login = key.endswith(("url", "insteadof")) and (
            in_content("config", value.encode(errors="replace"))
        )
        if is_login or key.endswith(".extraheader"):
            masked = redacted(value) if is_login else "****"
            if is_login and masked == value:
                masked = "****"
            text = f"git's setting {shown(key)} holds a credential ({shown(masked)}); it is not packed"
            found.append(Warned(code="secret-in-git-config", where=f".git/config {shown(key)}", text=text))
    return found
