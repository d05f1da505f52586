"""Surroundings full of secrets: what is planted where, and a package index that asks for a password."""

import base64
import io
import json
import shutil
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .conftest import commit, git

MARK = "kAnaRy"
TRAIN = """
import json, sys
import parrot_env, parrot_conf, parrot_netrc
out = sys.argv[sys.argv.index("--out") + 1]
json.dump({"score": 1.0}, open(out + "/metrics.json", "w"))
"""
SETTINGS = """
schema = 1
name = "leaks"
[code]
command = ["python", "train.py", "--params", "{params}", "--out", "{out}"]
[dependencies]
python = "3.11"
requirements = ["requirements.in"]
[params]
file = "params.json"
[eval]
path = "held"
"""


def canary(way: str) -> str:
    """A secret that looks like one: the same for the same way, found by its first letters."""
    return f"{MARK}{way}9Q7x5Z3w1"


def login(way: str, host: str) -> str:
    """An address with a password in it."""
    return f"https://bot:{canary(way)}@{host}"


class Index:
    """A package index that gives one wheel to whoever knows the password.

    It answers at the address that this machine has on the engine's bridge: containers ask it too. It knows
    the password of ~/.netrc besides, which pip sends for files that a page of links names.
    """

    def __init__(self, host: str, folder: Path, name: str, password: str) -> None:
        self.let_in = 0
        where = folder / "simple" / name.replace("_", "-")
        where.mkdir(parents=True)
        file = f"{name}-1.0-py3-none-any.whl"
        (where / file).write_bytes(_wheel(name))
        (where / "index.html").write_text(f'<!DOCTYPE html><a href="{file}">{file}</a>')
        shutil.copytree(where, folder / "links")
        own, netrc = (_basic(word) for word in (password, canary("Indexnetrc")))
        outer = self

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                given = self.headers.get("Authorization", "")
                if given in (own, netrc):
                    outer.let_in += given == own
                    super().do_GET()
                    return
                self.send_response(401)
                self.send_header("WWW-Authenticate", "Basic")
                self.send_header("Content-Length", "0")
                self.end_headers()

        self.http = ThreadingHTTPServer((host, 0), partial(Handler, directory=str(folder)))
        self.place = f"{host}:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


def _basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"bot:{password}".encode()).decode()


def _wheel(name: str) -> bytes:
    info = f"{name}-1.0.dist-info"
    members = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*members, f"{info}/RECORD"])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in members.items():
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), text)
    return data.getvalue()


def variables() -> dict[str, str]:
    """Secrets in the environment."""
    names = ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "GITHUB_TOKEN", "MY_OWN_SETTING")
    return {name: canary(f"Variable{name}") for name in names}


def plant_home(home: Path, place: str) -> None:
    """Secrets in the files of an account; `place` is where the index of its pip.conf answers."""
    auth = base64.b64encode(f"bot:{canary('Registry')}".encode()).decode()
    proxy = login("Enginesproxy", "127.0.0.1:9")
    docker = {
        "auths": {"registry.example.invalid": {"auth": auth}},
        "proxies": {"default": {"httpProxy": proxy, "httpsProxy": proxy}},
    }
    files = {
        ".netrc": f"machine {place.partition(':')[0]} login bot password {canary('Indexnetrc')}\n",
        ".git-credentials": login("Gitstore", "git.example.invalid") + "\n",
        ".gitconfig": f'[url "{login("Insteadof", "git.example.invalid/")}"]\n'
        "insteadOf = https://git.example.invalid/\n[credential]\nhelper = store\n",
        ".config/pip/pip.conf": f"[global]\nfind-links = http://bot:{canary('Indexconf')}@{place}/links/\n",
        ".docker/config.json": json.dumps(docker),
        ".pypirc": f"[pypi]\nusername = __token__\npassword = {canary('Pypirc')}\n",
        ".aws/credentials": f"[default]\naws_secret_access_key = {canary('Aws')}\n",
        ".cache/huggingface/token": canary("Hub"),
        ".ssh/id_ed25519": canary("Ssh"),
    }
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)


def plant_project(project: Path, top: Path) -> None:
    """A project with secrets around it: in git's settings and history, in files that git does not track."""
    library = top / "library"
    library.mkdir()
    (library / "lib.py").write_text("")
    commit(library)
    (project / "held").mkdir(parents=True)
    (project / "held" / "a.csv").write_text("x,y\n1,2\n")
    (project / "requirements.in").write_text("parrot-env\nparrot-conf\nparrot-netrc\n")
    (project / "params.json").write_text('{"lr": 0.5}\n')
    (project / "train.py").write_text(TRAIN)
    (project / "repro.toml").write_text(SETTINGS)
    (project / ".gitignore").write_text("*.local\nnotebooks/\n")
    (project / "gone.py").write_text(f"TOKEN = '{canary('History')}'\n")
    commit(project)
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", str(library), "lib")
    modules = (project / ".gitmodules").read_text()
    (project / ".gitmodules").write_text(modules.replace(str(library), "https://git.example.invalid/lib.git"))
    (project / "gone.py").unlink()
    commit(project)
    git(project, "remote", "add", "origin", login("Remote", "git.example.invalid/leaks.git"))
    git(project, "config", "submodule.lib.url", login("Submodule", "git.example.invalid/lib.git"))
    git(
        project / "lib",
        "remote",
        "set-url",
        "origin",
        login("Submoduleremote", "git.example.invalid/lib.git"),
    )
    git(project, "config", "http.extraheader", f"Authorization: Bearer {canary('Header')}")
    (project / "gone.py").write_text(f"TOKEN = '{canary('Stash')}'\n")
    git(project, "stash", "push", "--include-untracked", "--quiet")
    loose = {
        ".env": "Dotenv", "settings.local": "Ignored", "id_rsa": "Key", "notebooks/b.ipynb": "Output",
        ".ipynb_checkpoints/a.ipynb": "Notebook", "kaggle.json": "Kaggle", "wandb/settings": "Wandb",
        ".netrc": "Netrc",
    }  # fmt: skip
    for name, way in loose.items():
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"api_key = {canary(f'Loose{way}')}\n")
    (project / ".git" / "info" / "exclude").write_text("wandb/\n.ipynb_checkpoints/\n")
