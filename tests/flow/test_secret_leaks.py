"""Ways of leaking a secret: each plants one, builds and runs for real, and looks for it in what comes out.

Secrets that surround a build must reach nothing. Secrets in what is packed must stop it, without being shown.
"""

import base64
import json
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import quote

import pytest
import zstandard

from .conftest import Said, commit, run_repro
from .planting import MARK, SETTINGS, TRAIN, Index, canary, login, plant_home, plant_project, variables

pytestmark = [pytest.mark.docker, pytest.mark.net]


@dataclass
class Planted:
    """A project in surroundings full of secrets, and all that a build and two runs of it left and said."""

    project: Path
    env: dict[str, str]
    said: dict[str, bytes] = field(default_factory=dict)
    indexes: dict[str, Index] = field(default_factory=dict)

    def repro(self, *words: str) -> Said:
        said = run_repro(self.project, *words, env=self.env)
        self.said[f"output of repro {words[0]} {len(self.said)}"] = f"{said.out}{said.err}".encode()
        return said


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Index]]:
    form = "{{(index .IPAM.Config 0).Gateway}}"
    argv = ["docker", "network", "inspect", "bridge", "--format", form]
    host = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    found = {
        way: Index(host, tmp_path_factory.mktemp(way), f"parrot_{way}", canary(f"Index{way}"))
        for way in ("env", "conf", "netrc")
    }
    yield found
    for index in found.values():
        index.close()


@pytest.fixture(scope="module")
def planted(indexes: dict[str, Index], base_image: str, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    top = tmp_path_factory.mktemp("leaks")
    home, project = top / "home", top / "project"
    plant_home(home, indexes["conf"].place)
    plant_project(project, top)
    env = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "DOCKER_CONFIG": str(home / ".docker"),
        "REPRO_CACHE": str(top / "cache"),
        "PIP_FIND_LINKS": "",
        "PIP_EXTRA_INDEX_URL": f"http://bot:{canary('Indexenv')}@{indexes['env'].place}/simple",
        "PIP_TRUSTED_HOST": indexes["env"].place.partition(":")[0],
        "PIP_RETRIES": "0",
        "HTTPS_PROXY": login("Proxy", "127.0.0.1:9"),
        "https_proxy": login("Proxy", "127.0.0.1:9"),
        "NO_PROXY": "*",
        "no_proxy": "*",
        **variables(),
    }
    made = Planted(project, env, indexes=indexes)
    host = f"http://{indexes['netrc'].place}/simple"
    built = made.repro("build", "--base", base_image, "--extra-index-url", host, "--verbose", "--json")
    assert built.status == 0, built.out + built.err
    bundle = Path(built.json["bundle"]["path"])
    given = ("--env", f"WANDB_API_KEY={canary('Runenv')}")
    for words in (("--label", "one", *given), ("--label", "two", "--engine", "inplace")):
        ran = made.repro("run", "--verbose", *words)
        assert ran.status == 0, ran.out + ran.err
    key, sent, crate = str(top / "key"), str(top / "sent.repro"), str(top / "crate")
    for words in (
        ("show", "--json"), ("show", "one"), ("verify",), ("compare", "one", "two"),
        ("sign", "--new-key", key), ("sign", "--key", key), ("export", "--with-runs", "-o", sent),
        ("export", "--format", "ro-crate", "-o", crate),
    ):  # fmt: skip
        said = made.repro(*words)
        assert said.status in (0, 6), said.out + said.err
    for words in (
        ("doctor", "--json"),
        ("doctor",),
        ("snapshot",),
        ("lock", "--verbose"),
        ("check",),
        ("ls",),
    ):
        made.repro(*words)
    _collect(made, bundle, top)
    return made


def _collect(made: Planted, bundle: Path, top: Path) -> None:
    """Everything that is left: the bundle with its runs, the cache, and the image with its history."""
    for folder in (bundle, top / "cache", top / "crate"):
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                made.said[str(path.relative_to(top))] = _content(path)
    with tarfile.open(top / "sent.repro") as sent:
        for member in sent:
            if member.isreg():
                made.said[f"exported {member.name}"] = _unpacked(sent.extractfile(member))
    tag = json.loads((bundle / "image.json").read_text())["tag"]
    saved = subprocess.run(["docker", "save", tag], capture_output=True, check=True)
    made.said["image, its layers and its configuration"] = saved.stdout
    for words in (["history", "--no-trunc", tag], ["image", "inspect", tag]):
        argv = ["docker", *words]
        made.said[" ".join(argv)] = subprocess.run(argv, capture_output=True, check=True).stdout


def _unpacked(source: IO[bytes] | None) -> bytes:
    assert source is not None
    data = source.read()
    if not data.startswith(zstandard.FRAME_HEADER):
        return data
    with zstandard.ZstdDecompressor().stream_reader(data) as whole:
        return whole.read()


def _content(path: Path) -> bytes:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return b"".join(archive.read(name) for name in archive.namelist())
    return path.read_bytes()


WAYS = [
    *(f"Variable{name}" for name in variables()),
    "Indexenv", "Indexconf", "Indexnetrc", "Proxy", "Enginesproxy", "Registry", "Gitstore", "Insteadof",
    "Pypirc", "Aws", "Hub", "Ssh", "History", "Stash", "Remote", "Submodule", "Submoduleremote", "Header",
    "Runenv", "LooseDotenv", "LooseIgnored", "LooseKey", "LooseNotebook", "LooseOutput", "LooseKaggle",
    "LooseWandb", "LooseNetrc",
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_around_the_build_reaches_nothing(way: str, planted: Planted) -> None:
    secret = canary(way)
    forms = {secret, quote(secret), base64.b64encode(f"bot:{secret}".encode()).decode()}
    found = [name for name, data in planted.said.items() if any(form.encode() in data for form in forms)]
    assert found == []


def test_the_secrets_were_really_there_and_used(planted: Planted) -> None:
    """Every index let the build in, the wheels are in the image, and nothing of ours is found anywhere."""
    assert all(index.let_in for index in planted.indexes.values())
    image = planted.said["image, its layers and its configuration"]
    [exported] = [data for name, data in planted.said.items() if name.endswith("image.tar.zst")]
    for way in planted.indexes:
        assert f"parrot_{way}-1.0.dist-info".encode() in image
        assert f"parrot_{way}-1.0.dist-info".encode() in exported
    around = "".join(p.read_text() for p in planted.project.parent.rglob("home/**/*") if p.is_file())
    around += "".join(planted.env.values())
    around += "".join(p.read_text() for p in planted.project.rglob("*.py") if p.is_file())
    assert len(set(re.findall(rf"{MARK}\w+", around))) > 10
    assert not [name for name, data in planted.said.items() if MARK.encode() in data]


Change = Callable[[Path, str], tuple[str, ...]]


def _tracked(name: str, text: str) -> Change:
    def change(project: Path, secret: str) -> tuple[str, ...]:
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("SECRET", secret))
        commit(project)
        return ("snapshot",)

    return change


def _patch(project: Path, secret: str) -> tuple[str, ...]:
    (project / "old.cfg").write_text(f"api_key = {secret}\n")
    commit(project)
    (project / "old.cfg").write_text("\n")
    return ("snapshot", "--allow-dirty")


def _link(project: Path, secret: str) -> tuple[str, ...]:
    (project.parent / "credentials").write_text(f"password = {secret}\n")
    (project / "settings").symlink_to(project.parent / "credentials")
    commit(project)
    return ("snapshot",)


def _override(project: Path, secret: str) -> tuple[str, ...]:
    (project / "params.json").write_text('{"lr": 0.5, "api_key": ""}\n')
    commit(project)
    return ("snapshot", "--set", f"api_key={secret}")


def _unknown_override(_project: Path, secret: str) -> tuple[str, ...]:
    return ("snapshot", "--set", f"api_key={secret}")


def _index(_project: Path, secret: str) -> tuple[str, ...]:
    return ("build", "--engine", "inplace", "--extra-index-url", f"http://bot:{secret}@127.0.0.1:9/simple")


def _base(_project: Path, secret: str) -> tuple[str, ...]:
    return ("build", "--base", f"bot:{secret}@registry.example.invalid/base:1")


PACKED: dict[str, Change] = {
    "notebook output": _tracked("a.ipynb", '{"outputs": [{"text": "api_key = \\"SECRET\\""}]}'),
    "env file": _tracked(".env", "A=SECRET\n"),
    "private key": _tracked("id_rsa", "SECRET"),
    "parameters": _tracked("params.json", '{"lr": 0.5, "api_key": "SECRET"}'),
    "evaluation set": _tracked("held/.netrc", "machine a login b password SECRET\n"),
    "requirements": _tracked(
        "requirements.in", "--extra-index-url https://bot:SECRET@index.example.invalid/simple\n"
    ),
    "settings": _tracked(
        "repro.toml",
        SETTINGS.replace(
            "[params]", 'extra_index_urls = ["https://bot:SECRET@index.example.invalid"]\n[params]'
        ),
    ),
    "submodule address": _tracked(
        ".gitmodules", '[submodule "x"]\npath = x\nurl = https://bot:SECRET@git.example.invalid/x.git\n'
    ),
    "code": _tracked("train.py", "wandb_api_key = 'SECRET'\n"),
    "patch": _patch,
    "link out of the project": _link,
    "parameter on the command line": _override,
    "unknown parameter on the command line": _unknown_override,
    "index that does not answer": _index,
    "base image with a login": _base,
}


@pytest.mark.parametrize("way", PACKED)
def test_a_secret_in_what_is_packed_stops_it_unseen(way: str, tmp_path: Path) -> None:
    project, cache = tmp_path / "project", tmp_path / "cache"
    (project / "held").mkdir(parents=True)
    (project / "held" / "a.csv").write_text("x,y\n1,2\n")
    (project / "requirements.in").write_text("")
    (project / "params.json").write_text('{"lr": 0.5}\n')
    (project / "train.py").write_text(TRAIN)
    (project / "repro.toml").write_text(SETTINGS)
    commit(project)
    secret = canary("Packed")
    words = PACKED[way](project, secret)
    for form in ((), ("--json",), ("--traceback",)):
        said = run_repro(project, *words, *form, env={"REPRO_CACHE": str(cache)})
        assert said.status in (2, 3), said.out + said.err
        assert secret not in said.out + said.err
    left = [p for folder in (cache, project / ".repro") for p in folder.rglob("*") if p.is_file()]
    assert [p for p in left if secret.encode() in p.read_bytes()] == []
    assert not list((project / ".repro").glob("*/bundle.json"))
