"""Package URLs of what a bundle holds (https://github.com/package-url/purl-spec)."""

from urllib.parse import quote

from repro.model.lock import Wheel
from repro.trust.debian import Installed, Package


def wheel_purl(wheel: Wheel) -> str:
    """`pkg:pypi/torch@2.13.0%2Bcpu?file_name=...`."""
    name, version, file = (quote(text, safe="") for text in (wheel.name, wheel.version, wheel.file))
    return f"pkg:pypi/{name}@{version}?file_name={file}"


def debian_purl(package: Package, installed: Installed) -> str:
    """`pkg:deb/debian/libc6@2.36-9?arch=amd64&distro=bookworm`; what is not known is left out."""
    known = {"arch": package.architecture, "distro": installed.codename}
    qualifiers = "&".join(f"{key}={quote(value, safe='')}" for key, value in known.items() if value)
    release = f"@{quote(package.version, safe='')}" if package.version else ""
    system = quote(installed.system or "debian", safe="")
    return f"pkg:deb/{system}/{quote(package.name, safe='')}{release}{'?' if qualifiers else ''}{qualifiers}"
