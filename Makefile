# Two commands do all the set-up on a fresh Debian or Ubuntu machine: `make demo` and `make test`.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(BIN)/repro: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

$(VENV)/torch: $(BIN)/repro
	$(BIN)/python scripts/cpu_torch.py --install
	$(BIN)/python -m pip install --quiet --group frameworks
	@touch $@

dev: $(BIN)/repro ## create the virtual environment

engine: ## install and start a container engine, when root and none answers
	@sh scripts/engine.sh

demo: $(BIN)/repro ## the whole path on both examples, from nothing to a verdict
	@sh scripts/engine.sh || true
	@sh scripts/demo.sh

test: $(VENV)/torch ## lint, types, and all tests with a real engine
	@sh scripts/engine.sh
	@sh scripts/peers.sh
	$(MAKE) lint type
	REPRO_REQUIRE=$${REPRO_REQUIRE:-docker,torch,frameworks,registry,ssh} $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=15

unit: $(VENV)/torch ## tests that need no engine
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not docker"

lint: $(BIN)/repro ## style, import directions, the runtime's oldest Python
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/vermin --quiet --no-tips --violations --target=3.6- repro/runtime

type: $(BIN)/repro ## mypy, strict
	$(BIN)/mypy

fmt: $(BIN)/repro ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

dist: $(BIN)/repro ## build the wheel and the source archive
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

golden: $(BIN)/repro ## record the golden traces of the examples anew
	@sh scripts/golden.sh

bench-scan: $(BIN)/repro ## scan five real wheels (1.9 GB, kept), check the counts, time it
	$(BIN)/python scripts/bench_scan.py $(BENCH)

bench-record: $(VENV)/torch ## what recording costs a training step, beside the bare loop and beside TensorBoard
	$(BIN)/python -m pip install --quiet tensorboard
	$(BIN)/python scripts/bench_record.py $(BENCH)

bench-compare: $(BIN)/repro ## compare two traces of a million steps, timed with and without pyarrow
	$(BIN)/python scripts/bench_compare.py

bench-envelope: $(VENV)/torch ## changes of known nature against the noise envelope: rounding inside, the rest outside
	$(BIN)/python scripts/bench_envelope.py

bench-image: $(BIN)/repro ## builds, edits and transfers of images, beside docker build, BuildKit and repo2docker
	@sh scripts/engine.sh
	$(BIN)/python scripts/bench_image.py $(BENCH)

identical: $(BIN)/repro ## 20 rebuilds from empty caches under other folders, umasks, locales, zones, Pythons: one image
	@sh scripts/engine.sh
	$(BIN)/python scripts/identical.py $(BENCH)

two-machines: $(BIN)/repro ## one bundle on x86-64 and, emulated, on aarch64 (as root; unpacks 3 GB)
	@sh scripts/two_machines.sh

clean: ## remove what these targets made, but no image and no bundle
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache

.PHONY: help dev engine demo test unit lint type fmt dist golden bench-scan bench-record bench-compare bench-envelope bench-image identical two-machines clean
