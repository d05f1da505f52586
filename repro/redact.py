"""Take credentials out of text before it reaches a screen, a log or a bundle."""

import re

_URL_LOGIN = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/\s@'\"]+@", re.IGNORECASE)
_KEY_WORDS = r"(?:token|secret|passw(?:or)?d|passwd|api_?key|access_?key|auth(?:orization)?|credential)"
_ASSIGNED = re.compile(
    rf"(?P<name>\b[\w.-]*{_KEY_WORDS}[\w.-]*\s*[=:]\s*)(?P<value>[^\s'\",;&]+)", re.IGNORECASE
)
_SECRET_NAME = re.compile(_KEY_WORDS, re.IGNORECASE)
MASK = "****"


def text(value: str) -> str:
    """Return `value` with logins in URLs and values of secret-looking assignments masked."""
    value = _URL_LOGIN.sub(rf"\g<scheme>{MASK}@", value)
    return _ASSIGNED.sub(rf"\g<name>{MASK}", value)


def has_login(url: str) -> bool:
    """Whether a URL carries a user name or password."""
    return bool(_URL_LOGIN.search(url)) and f"://{MASK}@" not in url


def is_secret_name(name: str) -> bool:
    """Whether an environment variable's name says that its value is a secret."""
    return bool(_SECRET_NAME.search(name))
