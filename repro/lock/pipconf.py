"""The user's pip configuration, as pip merges it: files of the system and the account, PIP_* variables.

Source: pip documentation, "Configuration". Values may hold logins; they stay in memory and
in files that only the caller can read, for the time of one job.
"""

import configparser
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from repro import redact
from repro.files import sha256_file
from repro.model.canonical import digest

# Settings that change where files come from. Others (target, user ...) are about other installs.
KEYS = (
    "index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "cert", "client-cert", "proxy",
    "timeout", "default-timeout", "retries", "pre", "prefer-binary", "only-binary", "no-binary", "constraint",
)  # fmt: skip
_PASSED_ON = tuple(k for k in KEYS if k not in ("constraint", "cert"))
_PROXY = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
_BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")


@dataclass(frozen=True)
class PipConfig:
    """Merged settings by key (`index-url`), and variables of the environment that reach the network."""

    values: Mapping[str, str]
    env: Mapping[str, str]

    def many(self, key: str) -> list[str]:
        """A setting that is a list, split at white space."""
        return self.values.get(key, "").split()

    @property
    def no_index(self) -> bool:
        """Whether indexes are switched off."""
        return self.values.get("no-index", "").lower() in ("1", "true", "yes", "on")

    @property
    def bundle(self) -> str:
        """Path of the CA bundle, or empty for the system's own.

        One that pip's own setting names counts even when it is not there: pip refuses to go on then.
        """
        if named := self.values.get("cert", ""):
            return named
        return next((path for name in _BUNDLES if Path(path := self.env.get(name, "")).is_file()), "")

    @property
    def proxy(self) -> str:
        """The proxy that pip is told to use, or empty."""
        return self.values.get("proxy", "")

    def digest(self) -> str:
        """Digest of all that decides which files are offered; no logins, constraint files by content."""
        files = [sha256_file(Path(p)) for p in self.many("constraint") if Path(p).is_file()]
        shown = {
            key: redact.text(value)
            for key, value in sorted(self.values.items())
            if key not in ("timeout", "default-timeout", "retries")
        }
        return digest({"values": shown, "constraints": files})

    def written(self) -> str:
        """A pip.conf for a job: constraints are given otherwise, the CA bundle is the one in force."""
        lines = [
            f"{key} = {' '.join(value.split())}" for key, value in self.values.items() if key in _PASSED_ON
        ]
        lines += [f"cert = {self.bundle}"] if self.bundle else []
        return "\n".join(["[global]", *lines, ""])

    def paths(self) -> list[Path]:
        """Files of this machine that the settings name."""
        named = [self.bundle, self.values.get("client-cert", "")]
        return [Path(p) for p in dict.fromkeys(named) if p and Path(p).is_file()]


def read_pip_config(environ: Mapping[str, str] | None = None) -> PipConfig:
    """Merge what pip would merge for `pip install` run by this user."""
    env = os.environ if environ is None else environ
    merged: dict[str, dict[str, str]] = {"global": {}, "install": {}}
    for path in _files(env):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        for section in merged:
            if parser.has_section(section):
                merged[section] |= {k.replace("_", "-").lower(): v for k, v in parser.items(section)}
    variables = {
        name[4:].lower().replace("_", "-"): value
        for name, value in env.items()
        if name.startswith("PIP_") and value and name != "PIP_CONFIG_FILE"
    }
    values = merged["global"] | merged["install"] | variables
    network = {n: v for n, v in env.items() if n.lower() in _PROXY or n in _BUNDLES}
    return PipConfig({k: values[k] for k in KEYS if k in values}, network)


def _files(env: Mapping[str, str]) -> list[Path]:
    chosen = env.get("PIP_CONFIG_FILE", "")
    if chosen == os.devnull:
        return []
    home = Path(env.get("HOME", "~")).expanduser()
    config = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    system = [Path(d) / "pip/pip.conf" for d in (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")]
    account = [] if chosen else [home / ".pip/pip.conf", config / "pip/pip.conf"]
    files = [*system, Path("/etc/pip.conf"), *account, Path(sys.prefix) / "pip.conf"]
    return [*files, Path(chosen)] if chosen else files


def default_index() -> str:
    """The index that pip asks when none is configured, as pip knows it."""
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url)


def local_folder(url: str) -> Path | None:
    """The folder or file of this machine behind a file address or a plain path, else None."""
    if "://" not in url:
        return Path(url)
    return Path(unquote(urlsplit(url).path)) if url.lower().startswith("file:") else None
