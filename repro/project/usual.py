"""The usual layout of a PyTorch project, as tables: names are tried from top to bottom."""

COMMANDS = (
    "train.py",
    "main.py",
    "run.py",
    "run_train.py",
    "run_training.py",
    "training.py",
    "main_train.py",
    "train_model.py",
    "src/train.py",
    "src/main.py",
    "scripts/train.py",
    "tools/train.py",
    "train/train.py",
    "code/train.py",
)
# When none of them is there, a single file of this kind at the top is taken.
COMMAND_PATTERNS = ("*train*.py", "main_*.py", "run_*.py")

# Spellings without their dashes; `-` and `_` count as equal.
PARAMS_OPTIONS = (
    "params",
    "param-file",
    "params-file",
    "config",
    "config-file",
    "cfg",
    "conf",
    "hparams",
    "hparams-file",
)
OUT_OPTIONS = ("out", "out-dir", "outdir", "output-dir", "output-folder", "save-dir", "work-dir")
EVAL_OPTIONS = ("eval", "eval-path", "eval-dir", "eval-data", "eval-set", "eval-file")
RESUME_OPTIONS = ("resume", "resume-from", "resume-from-checkpoint")

PARAMS_STEMS = ("params", "parameters", "config", "hparams", "hyperparameters")
PARAMS_SUFFIXES = (".json", ".yaml", ".yml", ".toml")
PARAMS_MORE = (
    "config/params.yaml",
    "config/config.yaml",
    "configs/default.yaml",
    "configs/config.yaml",
    "conf/config.yaml",
)

REQUIREMENTS = (
    "requirements.in",
    "requirements.txt",
    "requirements/requirements.txt",
    "requirements/base.txt",
    "requirements/train.txt",
    "environment.yml",
    "environment.yaml",
    "conda.yml",
    "conda.yaml",
    "env.yml",
    "env.yaml",
    "Pipfile",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
)

EVAL_PATTERNS = (
    "eval",
    "eval.*",
    "evaluation",
    "eval_data",
    "eval_set",
    "data/eval",
    "data/eval*",
    "val",
    "data/val",
    "data/val.*",
    "test_data",
    "data/test",
    "data/test.*",
)
NOT_DATA = (".py", ".pyc", ".sh", ".md", ".rst", ".ipynb", ".yaml", ".yml", ".toml", ".cfg")

# Names of parameters, tried in order, at the top of the file and then in its tables.
PARAMETERS = {
    "protocol.seed": ("seed", "random_seed", "rng_seed", "manual_seed", "manualSeed", "global_seed"),
    "protocol.micro_batch": (
        "micro_batch",
        "micro_batch_size",
        "microbatch",
        "per_device_train_batch_size",
        "train_batch_size",
        "batch_size",
        "batch",
        "batchsize",
        "bs",
    ),
    "protocol.accumulation": (
        "accumulate",
        "accumulation",
        "accumulation_steps",
        "grad_accum",
        "grad_accum_steps",
        "grad_accumulation",
        "gradient_accumulation",
        "gradient_accumulation_steps",
        "accumulate_grad_batches",
        "accum_steps",
        "accum_iter",
    ),
}

DEFAULT_PYTHON = "3.11"
PYTHONS = ("3.11", "3.12", "3.10", "3.13", "3.9", "3.8", "3.7", "3.6")
