"""What an image costs: first build, no-op, one-line edit, second project, transfer; beside other builders.

All of it in one run on one machine: read the ratios, not the seconds. Wheels lie on the disk before anything
is timed, for every builder. `docker build` gets the Dockerfile that `repro build` renders, BuildKit one by
hand that mounts the wheels instead of copying them.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
BASES = ("python:3.11-slim-bookworm", "repro-base:3.11")
EXAMPLES = ("digits-cnn", "addition-transformer")
IMPORT = "import time; a = time.perf_counter(); import torch; print(time.perf_counter() - a)"
BY_HAND = """FROM {base} AS env
USER 0:0
RUN python3 -m venv /opt/env
RUN --mount=type=bind,source=wheels,target=/in/wheels \
 --mount=type=bind,source=requirements.lock,target=/in/requirements.lock PYTHONHASHSEED=0 \
 /opt/env/bin/python -m pip --isolated install \
 --no-index --find-links /in/wheels --require-hashes --no-cache-dir -q -r /in/requirements.lock
FROM {base}
COPY --from=env /opt/env /opt/env
COPY eval/ /opt/repro/bundle/eval/
COPY repro_runtime/ /opt/repro/repro_runtime/
ADD code.tar /opt/repro/bundle/
ENV PATH=/opt/env/bin:$PATH
"""


@dataclass
class Row:
    """One builder: seconds by what was done, bytes sent by the same, image size, layers that an edit adds."""

    name: str
    seconds: dict[str, float] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)
    size: int = 0


def run(argv: list[str], cwd: Path, env: dict[str, str]) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(argv, cwd=cwd, env=os.environ | env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


@contextlib.contextmanager
def timed(row: Row, what: str) -> Iterator[None]:
    """Put wall seconds of the block into a row."""
    begin = time.perf_counter()
    yield
    row.seconds[what] = time.perf_counter() - begin
    print(f"  {row.name:<10} {what:<15} {row.seconds[what]:7.2f} s", file=sys.stderr)


def project(name: str, folder: Path, base: str) -> Path:
    """An example as a repository of its own; its comment makes it one that no cache knows."""
    target = folder / name
    shutil.copytree(HERE / "bundles" / name, target, ignore=shutil.ignore_patterns(".repro", "__pycache__"))
    settings = target / "repro.toml"
    text = settings.read_text()
    settings.write_text(text.replace("[dependencies]\n", f'[dependencies]\nbase = "{base}"\n'))
    edit(target)
    run(["git", "init", "-q", "."], target, {})
    commit(target)
    return target


def edit(folder: Path) -> None:
    """One line more in the program."""
    with (folder / "train.py").open("a") as f:
        f.write(f"# {time.time_ns()}\n")


def commit(folder: Path) -> None:
    """All of it."""
    run(["git", "add", "-A"], folder, {})
    run(["git", "-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-qm", "x"], folder, {})


class Bench:
    """The rounds, with one cache and one folder of projects that go in the end."""

    def __init__(self, room: Path, index: str) -> None:
        self.room = room
        self.cache = {"REPRO_CACHE": str(room / "cache")}
        if index:
            self.cache["PIP_EXTRA_INDEX_URL"] = index
        self.images: set[str] = set()
        # With a layer of its own, so that the engine holds nothing above it yet.
        self.base = f"bench-base:{time.time_ns()}"
        self.images.add(self.base)

    def lay_base(self) -> None:
        """The base image that all builders start from: the usual one, and one file that nothing else has."""
        given = next(name for name in BASES if held(name))
        text = f"FROM {given}\nRUN echo {self.base} > /etc/bench\n"
        argv = ["docker", "build", "-q", "-t", self.base, "-"]
        subprocess.run(argv, input=text, text=True, capture_output=True, check=True)

    def build(self, folder: Path) -> dict[str, object]:
        """`repro build --json`."""
        found = json.loads(self._repro(["build", "--json", "-q"], folder))
        self.images.add(found["image"]["tag"])
        return dict(found)

    def _repro(self, words: list[str], folder: Path) -> str:
        argv = [sys.executable, "-m", "repro", *words]
        done = subprocess.run(
            argv, cwd=folder, env=os.environ | self.cache, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"repro {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def ours(self) -> tuple[Row, Path, Path]:
        """This tool: the row, and the bundles before and after the edit."""
        row = Row("repro")
        first, second = (project(name, self.room, self.base) for name in EXAMPLES)
        for folder in (first, second):
            self._repro(["lock"], folder)  # wheels are fetched before anything is timed
        with timed(row, "first build"):
            made = self.build(first)
        row.size, bundle = image_size(made), Path(made["bundle"]["path"])
        note(row, "first build", made)
        with timed(row, "no-op"):
            note(row, "no-op", self.build(first))
        edit(first)
        commit(first)
        with timed(row, "one-line edit"):
            made = self.build(first)
        note(row, "one-line edit", made)
        with timed(row, "second project"):
            note(row, "second project", self.build(second))
        self.transfer(row, bundle, Path(made["bundle"]["path"]))
        return row, bundle, Path(made["bundle"]["path"])

    def transfer(self, row: Row, before: Path, after: Path) -> None:
        """The edited bundle as a file for someone who has the one before."""
        whole, thin = self.room / "whole.repro", self.room / "thin.repro"
        self._repro(["export", str(before), "-o", str(whole)], self.room)
        with timed(row, "thin transfer"):
            self._repro(["export", str(after), "-o", str(thin), "--thin", str(whole)], self.room)
        row.sent["thin transfer"] = thin.stat().st_size
        row.sent["whole"] = whole.stat().st_size
        for path in (whole, thin):
            path.unlink()

    def docker(self, name: str, client: str, buildkit: str, before: Path, after: Path) -> Row:
        """`docker build` of the same bundles, with nothing cached at first."""
        row = Row(name)
        env = {"DOCKER_BUILDKIT": buildkit, "BUILDKIT_PROGRESS": "plain"}
        tags = [f"bench-image-{name}:{n}" for n in (1, 2)]
        self.images |= set(tags)
        file = self.room / f"Dockerfile.{name}"
        base = re.search(r"^FROM (\S+)", (before / "Dockerfile").read_text(), re.MULTILINE)[1]  # type: ignore[index]
        given = [] if buildkit == "0" else ["-f", str(file)]
        file.write_text(BY_HAND.format(base=base))
        with timed(row, "first build"):
            said = run([client, "build", "--no-cache", *given, "-t", tags[0], "."], before, env)
        row.sent["first build"] = context(said)
        # What a rebuild finds must be cached first: `--no-cache` left that to chance.
        run([client, "build", *given, "-t", tags[0], "."], before, env)
        with timed(row, "no-op"):
            row.sent["no-op"] = context(run([client, "build", *given, "-t", tags[0], "."], before, env))
        with timed(row, "one-line edit"):
            row.sent["one-line edit"] = context(
                run([client, "build", *given, "-t", tags[1], "."], after, env)
            )
        layers = [inspect(tag)["RootFS"]["Layers"] for tag in tags]
        row.new["one-line edit"] = len(set(layers[1]) - set(layers[0]))
        row.size = int(inspect(tags[1])["Size"])
        with timed(row, "thin transfer"):
            row.sent["thin transfer"] = saved(tags[1])
        return row

    def imports(self, tag: str, runs: int) -> float:
        """Least seconds of `import torch` in an image."""
        argv = ["docker", "run", "--rm", "--entrypoint", "/opt/env/bin/python", tag, "-c", IMPORT]
        return min(float(run(argv, self.room, {}).split()[-1]) for _ in range(runs))

    def clean(self) -> None:
        """Images of the bench go; base images stay."""
        for tag in self.images:
            subprocess.run(["docker", "image", "rm", "-f", tag], capture_output=True, check=False)


def held(name: str) -> bool:
    """Whether the engine has that image."""
    argv = ["docker", "image", "inspect", name]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def note(row: Row, what: str, made: dict[str, object]) -> None:
    """New layers and their bytes, as `repro build --json` tells them."""
    new = [layer for layer in made["image"]["layers"] if layer["new"]]  # type: ignore[index]
    row.new[what], row.sent[what] = len(new), sum(layer["bytes"] for layer in new)


def image_size(made: dict[str, object]) -> int:
    """Bytes that the engine counts for the image."""
    return int(inspect(made["image"]["tag"])["Size"])  # type: ignore[index]


def inspect(tag: str) -> dict[str, object]:
    """What the engine says of an image."""
    return dict(json.loads(run(["docker", "image", "inspect", tag], HERE, {}))[0])


def context(said: str) -> int:
    """Bytes of build context that a builder says it was sent; of several lines the largest."""
    units = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
    found = re.findall(
        r"(?:transferring context: |build context to Docker daemon\s+)([\d.]+)\s?([kMG]?B)", said
    )
    return max((int(float(n) * units[u]) for n, u in found), default=0)


def saved(tag: str) -> int:
    """Bytes of `docker save`, which is how an image goes to another machine without a registry."""
    with subprocess.Popen(["docker", "save", tag], stdout=subprocess.PIPE) as process:
        total = 0
        while piece := process.stdout.read(1 << 20):  # type: ignore[union-attr]
            total += len(piece)
    return total


def buildkit_client() -> str:
    """A docker client that builds with BuildKit, or nothing."""
    for client in dict.fromkeys(filter(None, (shutil.which("docker"), "/usr/bin/docker"))):
        env = os.environ | {"DOCKER_BUILDKIT": "1"}
        done = subprocess.run(
            [client, "build", "-"],
            input="FROM scratch\nLABEL a=b\n",
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0 and "sha256" in done.stderr:
            return client
    return ""


def repo2docker(room: Path) -> str:
    """Why repo2docker has no row: it installs, but builds only on a base image of a registry."""
    home = room / "r2d"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [home / "bin/python", "-m", "pip", "install", "-q", "jupyter-repo2docker"]
    if subprocess.run(pip, capture_output=True, check=False).returncode:
        return "does not install here"
    words = [home / "bin/jupyter-repo2docker", "--no-run", "--user-id", "1000"]
    words += ["--user-name", "bench", str(HERE / "bundles" / EXAMPLES[0])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return "builds here: time it by hand, beside a base image that it has pulled"
    last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
    return f"installs, and does not build here: {' '.join(last)[:200]}"


def table(rows: list[Row]) -> list[str]:
    """Seconds and ratios to the classic builder, then bytes and layers."""
    classic = next((row for row in rows if row.name == "classic"), None)
    what = ["first build", "no-op", "one-line edit", "second project", "thin transfer"]
    lines = [f"{'seconds':<12}" + "".join(f"{w:>24}" for w in what)]
    for row in rows:
        cells = []
        for w in what:
            one = row.seconds.get(w)
            other = classic.seconds.get(w) if classic else None
            ratio = f" ({one / other:.2f}x)" if one is not None and other and row is not classic else ""
            cells.append("-" if one is None else f"{one:.2f}{ratio}")
        lines.append(f"{row.name:<12}" + "".join(f"{cell:>24}" for cell in cells))
    lines.append(f"{'bytes sent':<12}" + "".join(f"{w:>24}" for w in what))
    for row in rows:
        cells = [f"{row.sent[w]:,}" if w in row.sent else "-" for w in what]
        lines.append(f"{row.name:<12}" + "".join(f"{cell:>24}" for cell in cells))
    return [
        *lines,
        *(f"{row.name}: image {row.size:,} bytes; new layers {row.new or 'not counted'}" for row in rows),
    ]


def main() -> None:
    """Measure, print, clean up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--imports", type=int, default=5, help="times that torch is imported in each image")
    parser.add_argument("--no-repo2docker", action="store_true")
    asked = parser.parse_args()
    words = [sys.executable, "scripts/cpu_torch.py", "--index"]
    index = subprocess.run(words, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="bench-image-") as name:
        bench = Bench(Path(name), index)
        try:
            measure(bench, asked)
        finally:
            bench.clean()


def measure(bench: Bench, asked: argparse.Namespace) -> None:
    """All rows."""
    bench.lay_base()
    ours, before, after = bench.ours()
    rows = [ours, bench.docker("classic", "docker", "0", before, after)]
    client = buildkit_client()
    if client:
        rows.append(bench.docker("buildkit", client, "1", before, after))
    tag = json.loads((after / "image.json").read_text())["tag"]
    own, normal = (bench.imports(t, asked.imports) for t in (tag, f"bench-image-{rows[-1].name}:2"))
    print("\n".join(table(rows)))
    first = ours.seconds["first build"]
    print(f"second project / first build: {ours.seconds['second project'] / first:.3f}")
    print(f"import torch: {own:.2f} s in the image, {normal:.2f} s in {rows[-1].name}'s: {own / normal:.2f}x")
    print("" if client else "buildkit: no docker client here builds with it")
    if not asked.no_repo2docker:
        print(f"repo2docker: {repo2docker(bench.room)}")


if __name__ == "__main__":
    main()
