"""Logins as `docker login` left them: in its settings file, or in a helper program that it names."""

from dataclasses import dataclass, field

from repro import redact
from repro.errors import ReproError


@dataclass(frozen=True)
class Login:
    """Who is asking. `refresh` is an identity token in place of a password; neither is ever shown."""

    user: str
    password: str = field(default="", repr=False)
    refresh: str = field(default="", repr=False)


def login_for(host: str) -> Login | None:
    """The login that Docker's credential store has for a registry, or None.

    Raises:
        registry-credentials: the settings file or its helper program cannot be used.
    """
    from docker import auth
    from docker.errors import DockerException

    try:
        found = auth.load_config().resolve_authconfig(host)
    except (DockerException, OSError, ValueError, KeyError) as problem:
        raise ReproError(
            "registry-credentials",
            f"Docker's login for `{host}` cannot be read",
            found=redact.text(str(problem)) or type(problem).__name__,
            needs="a settings file of Docker that it can read itself, and the helper program that it names",
            done="nothing was sent",
            tries=[f"docker login {host}", "ls -l ~/.docker/config.json"],
        ) from None
    return _login(found) if found else None


def _login(found: dict[str, str | None]) -> Login | None:
    """The SDK spells the keys small for the settings file and large for a helper program."""
    words = {key.lower(): value or "" for key, value in found.items()}
    user, password = words.get("username", ""), words.get("password", "")
    refresh = words.get("identitytoken", "")
    return Login(user, password, refresh) if refresh or (user and password) else None
