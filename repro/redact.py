"""Take credentials out of text before it reaches a screen, a log or a bundle."""

import re

_URL_LOGIN = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/\s@'\"]+@", re.IGNORECASE)
# As in the name of an image; what follows the @ of NAME:TAG@sha256:... is no host.
_BARE_LOGIN = re.compile(
    r"(?<![\w./:@*-])[\w.+-]+:[^\s/@:'\"`]+@(?=[\w-]+[.:/\w-])(?!sha\d+:)", re.IGNORECASE
)
_KEY_WORDS = (
    r"(?:token(?!izer)|secret|passw(?:or)?d|passwd|api_?key|access_?key|auth(?:orization)?|credential)"
)
_ASSIGNED = re.compile(
    rf"(?P<name>\b[\w.-]*{_KEY_WORDS}[\w.-]*\s*[=:]\s*)(?P<value>[^\s'\",;&]+)", re.IGNORECASE
)
_SECRET_NAME = re.compile(_KEY_WORDS, re.IGNORECASE)
MASK = "****"


def logins(value: str) -> str:
    """Return `value` with logins in addresses masked, `USER:PASSWORD@HOST` without a scheme as well."""
    return _BARE_LOGIN.sub(f"{MASK}@", _URL_LOGIN.sub(rf"\g<scheme>{MASK}@", value))


def text(value: str) -> str:
    """Return `value` with logins in addresses and values of secret-looking assignments masked."""
    value = logins(value)
    return _ASSIGNED.sub(rf"\g<name>{MASK}", value)


def setting(name: str, value: str) -> str:
    """A variable's value, fit to be written down: masked where the name says so, without logins anyway."""
    return MASK if is_secret_name(name) else logins(value)


def has_login(url: str) -> bool:
    """Whether a URL carries a user name or password."""
    return bool(_URL_LOGIN.search(url)) and f"://{MASK}@" not in url


def is_secret_name(name: str) -> bool:
    """Whether an environment variable's name says that its value is a secret."""
    return bool(_SECRET_NAME.search(name))
