"""Finds settings that are named after a secret and have a literal value, in settings files and code."""

import re

# Samples repeat one letter (hf_xxxxxxxx); a token has many.
FEW = 4
# A setting named after a secret, with a literal value: quoted anywhere, bare in settings files alone.
_NAMED = (
    rb"(?P<name>passw(?:or)?d|passphrase|api_?key|(?:api|access|auth)_?token|(?:secret|access)_?key"
    rb"|client_?secret)"
)
_QUOTED_VALUE = re.compile(
    rb"(?i)" + _NAMED + rb"\\?['\"]?\s*[=:]\s*\\?(?P<quote>['\"])(?P<value>[^'\"\s\\]{8,200})\\?(?P=quote)"
)
_BARE_VALUE = re.compile(
    rb"(?im)^[\s-]*[\w.-]*?"
    + _NAMED
    + rb"['\"]?\s*[=:]\s*(?P<value>[^\s'\"#,;{}\[\]<>$(]{8,200})\s*(?:#.*)?$"
)
_SETTINGS = re.compile(r"(?:\.(?:ya?ml|ini|cfg|conf|toml|properties|sh)|(?:^|/)[^./]+)$", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    rb"(?i)^(?:your|my|the|change|example|test|dummy|default|sample|fake|placeholder|none|null|env|todo|insert|enter|put|replace"
    rb"|os\.|\.{0,2}/|~|\$|%|<|\{)|example|x{4}|\*{3}|\.(?:ya?ml|json|txt|key|pem|env|py)$"
)
_SHORTEST = {b"p": 8}


def secret_settings(path: str, content: bytes) -> list[tuple[int, str]]:
    """Literal values of settings with a telling name; texts for people, full of samples, are passed over."""
    if path.lower().endswith((".md", ".rst", ".html", ".tex")):
        return []
    found = list(_QUOTED_VALUE.finditer(content))
    if _SETTINGS.search(path):
        found += _BARE_VALUE.finditer(content)
    return [(m.start("name"), "value of a secret setting") for m in found if _is_secret_value(m)]


def _is_secret_value(match: re.Match[bytes]) -> bool:
    value = match["value"]
    shortest = _SHORTEST.get(match["name"][:1].lower(), 16)
    mixed = re.search(rb"[A-Za-z]", value) and re.search(rb"[0-9]", value)
    return bool(mixed and len(value) >= shortest and len(set(value)) > FEW and not _PLACEHOLDER.search(value))
