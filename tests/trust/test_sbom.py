"""The bill of materials: valid, the same each time, with wheels, Debian packages and parts of CUDA."""

import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from repro import trust
from repro.bundle import Bundle
from repro.engine.docker import DockerEngine
from repro.model.bundle import Base
from repro.pipeline.signed import content_of
from repro.trust.debian import Installed, Package, read_root

Lay = Callable[..., Bundle]
STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Source: glibc (2.36-9)
Version: 2.36-9+deb12u9
Description: GNU C Library
 Package: not one of its own

Package: gone
Status: deinstall ok config-files
Version: 1.0
Architecture: all

Package: broken
Status: install ok half-installed
Version: 1.0

Package: adduser
Status: install ok installed
Architecture: all
Version: 1:3.134
"""


def _root(**files: str) -> io.BytesIO:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    data.seek(0)
    return data


def _installed() -> Installed:
    release = 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n# a comment\n'
    return read_root(_root(**{"usr__lib__os-release": release, "var__lib__dpkg__status": STATUS}))


def _document(bundle: Bundle, installed: Installed | None) -> Any:
    return json.loads(trust.sbom(content_of(bundle), installed))


def test_dpkg_says_what_is_installed() -> None:
    found = _installed()
    assert (found.system, found.release, found.codename) == ("debian", "12", "bookworm")
    assert found.packages == [
        Package(name="adduser", version="1:3.134", architecture="all", source="adduser"),
        Package(name="libc6", version="2.36-9+deb12u9", architecture="amd64", source="glibc"),
    ]


def test_images_made_without_dpkg_have_a_file_a_package() -> None:
    one = "Package: base-files\nVersion: 12.4\nArchitecture: amd64\n"
    found = read_root(
        _root(**{"./var__lib__dpkg__status.d__base": one, "./var__lib__dpkg__status.d__base.md5sums": "x"})
    )
    assert [p.name for p in found.packages or []] == ["base-files"]


def test_an_image_without_any_record_is_unknown_and_not_empty(lay: Lay) -> None:
    found = read_root(_root(etc__motd="hello"))
    assert found.packages is None
    base = next(c for c in _document(lay(), found)["components"] if c["bom-ref"] == "base")
    assert {"name": "dev.reprobundle:packages", "value": "unknown"} in base["properties"]


def test_the_document_is_valid_and_the_same_each_time(lay: Lay) -> None:
    bundle = lay()
    made = trust.sbom(content_of(bundle), _installed())
    assert made == trust.sbom(content_of(bundle), _installed())
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(made.decode()) is None
    document = json.loads(made)
    assert document["specVersion"] == "1.6"
    assert "serialNumber" not in document
    assert "timestamp" not in document["metadata"]
    assert str(bundle.path) not in made.decode()
    assert "pass@" not in made.decode()


def test_wheels_have_hashes_and_names_that_others_understand(lay: Lay) -> None:
    bundle = lay()
    parts = {c["name"]: c for c in _document(bundle, None)["components"]}
    assert set(parts) == {"torch", "nvidia-cublas-cu12"}
    torch, wheel = parts["torch"], bundle.lock.wheels[0]
    assert torch["hashes"] == [{"alg": "SHA-256", "content": wheel.sha256}]
    purl = PackageURL.from_string(torch["purl"])
    assert (purl.type, purl.name, purl.version) == ("pypi", "torch", "1.13.1+cu117")
    assert purl.qualifiers == {"file_name": wheel.file}
    assert torch["externalReferences"][0]["url"].startswith("https://****@index.example.invalid/")


def test_parts_of_cuda_are_listed_wherever_they_lie(lay: Lay) -> None:
    parts = {c["name"]: c for c in _document(lay(), None)["components"]}
    assert parts["nvidia-cublas-cu12"]["supplier"]["name"] == "NVIDIA Corporation"
    inside = {(c["name"], c.get("version")) for c in parts["torch"]["components"]}
    assert inside == {("CUDA Toolkit", "11.7"), ("cudart", "11.0"), ("cudnn_cnn_infer", "8")}
    assert all(c["supplier"]["name"] == "NVIDIA Corporation" for c in parts["torch"]["components"])


def test_packages_that_the_image_adds_have_no_version_yet(lay: Lay) -> None:
    packages = [*(_installed().packages or [])]
    packages.append(Package(name="ffmpeg", version="5.1", architecture="amd64", source="ffmpeg"))
    found = Installed(system="debian", codename="bookworm", packages=packages)
    purls = {
        c["purl"] for c in _document(lay(), found)["components"] if c.get("purl", "").startswith("pkg:deb")
    }
    assert "pkg:deb/debian/libgomp1?distro=bookworm" in purls
    assert "pkg:deb/debian/ffmpeg@5.1?arch=amd64&distro=bookworm" in purls
    assert "pkg:deb/debian/adduser@1:3.134?arch=all&distro=bookworm" in purls
    assert len(purls) == 4


@pytest.mark.docker
def test_a_real_base_says_what_dpkg_says_inside_and_is_read_once(base_image: str, tmp_path: Path) -> None:
    engine = DockerEngine()
    held = engine.find(base_image)
    assert held is not None
    base = Base(asked=base_image, used=base_image, id=held.id, layers=list(held.layers))
    heard: list[object] = []
    found = trust.installed_in(base, engine, tmp_path, heard.append)
    told = len(heard)
    assert trust.installed_in(base, engine, tmp_path, heard.append) == found
    assert len(heard) == told > 0
    engine.client.close()
    form = "${Package} ${Version} ${Architecture}\\n"
    argv = [
        "docker",
        "run",
        "--rm",
        "--network",
        "none",
        "--entrypoint",
        "dpkg-query",
        base_image,
        "-W",
        "-f",
        form,
    ]
    inside = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [f"{p.name} {p.version} {p.architecture}" for p in found.packages or []] == sorted(inside)
