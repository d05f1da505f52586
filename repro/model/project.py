"""What the user has and wants: the content of `repro.toml`, with the origin of every value."""

from typing import Any, Literal

from repro.model.record import Record

SCHEMA = 1

Precision = Literal["fp32", "tf32", "bf16", "fp16", "bf16-autocast", "fp16-autocast", "fp8", "fp64"]


class Code(Record, kw_only=True):
    """`command` is the training command, with the placeholders {params}, {out} and {eval}."""

    command: list[str] = []


class Dependencies(Record, kw_only=True):
    """What to lock, for which Python, on which base image.

    `index_url`, `extra_index_urls` and `find_links` add to what the input files and the
    user's pip configuration say; `constraints` are files in pip's constraints form.
    """

    python: str = ""
    requirements: list[str] = []
    constraints: list[str] = []
    index_url: str = ""
    extra_index_urls: list[str] = []
    find_links: list[str] = []
    base: str = ""
    system: list[str] = []


class Params(Record, kw_only=True):
    """`file` is JSON, YAML or TOML, relative to the project; empty when the project has none."""

    file: str = ""


class Eval(Record, kw_only=True):
    """The small evaluation set that travels with the bundle, and where results are read.

    `path` is a file or folder relative to the project. `metrics` and `rows` are files
    below {out}; `log` maps a metric's name to a regular expression whose first group, at
    its last match in the program's output, is the value.
    """

    path: str = ""
    max_mb: float = 100.0
    max_files: int = 10_000
    command: list[str] = []
    metrics: str = "metrics.json"
    rows: str = ""
    log: dict[str, str] = {}


class Checkpoint(Record, kw_only=True):
    """Where the program puts checkpoints, and the words that make it resume from one."""

    dir: str = "{out}"
    resume: list[str] = []


class Protocol(Record, kw_only=True):
    """What must stay equal when runs are compared. Text values may name a parameter.

    Attributes:
        metric, margin: the number that decides, and the smallest difference of it that matters.
        margins: the same for further metrics, by name.
        target: value of `metric` that a run has to reach while it trains.
    """

    precision: Precision = "fp32"
    seed: str | int | None = None
    micro_batch: str | int | None = None
    accumulation: str | int | None = None
    effective_batch: int | None = None
    deterministic: Literal["off", "warn", "strict"] = "off"
    metric: str = ""
    better: Literal["higher", "lower"] = "higher"
    margin: float | None = None
    margins: dict[str, float] = {}
    target: float | None = None


class Targets(Record, kw_only=True):
    """Cards and driver that the bundle is meant for; `memory` is the training's largest need, `40GiB`."""

    gpus: list[str] = []
    driver: str = ""
    memory: str = ""


class Settings(Record, kw_only=True):
    """The whole of `repro.toml`."""

    schema: int = SCHEMA
    name: str = ""
    code: Code = Code()
    dependencies: Dependencies = Dependencies()
    params: Params = Params()
    eval: Eval = Eval()
    checkpoint: Checkpoint = Checkpoint()
    protocol: Protocol = Protocol()
    targets: Targets = Targets()


class Project(Record, kw_only=True):
    """A project as found on disk.

    Attributes:
        root: absolute path of the project's folder.
        file: name of the settings file relative to `root`, empty when all is guessed.
        origins: for each dotted setting, `default`, `file`, `option` or `guessed from FILE`.
        notes: what the user should know about the guesses, one sentence each.
    """

    root: str
    file: str
    settings: Settings
    origins: dict[str, str]
    notes: list[str] = []

    def origin(self, key: str) -> str:
        """Where the value of a dotted setting comes from."""
        return self.origins.get(key, "default")


Value = Any
