# Every developer command. `make help` prints them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
SERVE_STAMP := $(VENV)/.serves
SOURCES := client/python/threadkeep server/threadkeep_server
PYTEST := $(BIN)/python -m pytest
# Test processes. Tests wait more than they compute, so there are more of them than cores.
WORKERS ?= 6
PARALLEL := $(PYTEST) --numprocesses $(WORKERS) --no-loadscope-reorder
ARGS ?=
THREADKEEP_LONG ?=
export UV_PYTHON_DOWNLOADS := never
# The tests start hundreds of Python processes; without cached bytecode each compiles what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Print this help
	@if [ -t 1 ]; then on='\033[36m' off='\033[0m'; else on= off=; fi; \
	awk -F ':.*## ' -v on="$$on" -v off="$$off" '/^[a-z-]+:.*## / {printf "  %s%-18s%s %s\n", on, $$1, off, $$2}' \
	  $(MAKEFILE_LIST)

# --- set-up -----------------------------------------------------------------------------------------------------------
.PHONY: setup
setup: $(STAMP) ## Make .venv with all that developing needs, from requirements.lock

# $(call environment,lock file): a virtual environment with at least the locked packages, and this project.
define environment
	@test -x $(BIN)/python || $(or $(PYTHON),python3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "==> downloading $$(grep -c '^[a-z]' $(1)) packages into $(VENV); only the first run does"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@
endef

$(STAMP): requirements.lock pyproject.toml
	$(call environment,requirements.lock)

$(SERVE_STAMP): requirements-serve.lock pyproject.toml
	$(call environment,requirements-serve.lock)

.PHONY: lock
lock: setup ## Write both lock files from pyproject.toml; installed versions stay
	$(BIN)/python tools/lock.py

# --- running ----------------------------------------------------------------------------------------------------------
# Where `make setup` was run, its packages serve; else the server's alone are installed, a third of them.
.PHONY: serve
serve: $(or $(wildcard $(STAMP)),$(SERVE_STAMP)) ## Run the server on SQLite in ./data (ARGS="--help" for its flags)
	@$(BIN)/threadkeep serve $(ARGS)

.PHONY: example
example: setup ## Run the example: two compactors that share the sessions of a server
	$(BIN)/python examples/compactor/run.py

.PHONY: example-fleet
example-fleet: setup ## Run the example: agents of four frameworks, in Python and TypeScript, take turns in one session
	$(BIN)/python -m tests.integrations.environments adk openai_agents langgraph
	$(BIN)/python -c "from tests.integrations import typescript; typescript.build()"
	$(BIN)/python -m examples.fleet.run

.PHONY: example-fleet-all
example-fleet-all: setup ## Run the example: an agent in each language takes turns in one session; the server is killed twice
	$(BIN)/python -c "from tests.integrations.fleet import build; build()"
	$(BIN)/python -m examples.fleet.run all

# --- the web console ----------------------------------------------------------------------------------------------------
.PHONY: console
console: setup ## Build the web console into the server's package; the build is committed
	$(BIN)/python -c "from tests.sdk import console; console.build()"

.PHONY: console-dev
console-dev: setup ## Serve the console's sources, with changes as they are saved, for the server on 127.0.0.1:7480
	$(BIN)/python -c "from tests.sdk import console; console.install()"
	npm --prefix client/console run dev

.PHONY: pictures-console
pictures-console: setup ## Write pictures of the web console's pages into docs/images/console
	$(BIN)/python -m tests.console_bench.pictures $(ARGS)

# --- checking ---------------------------------------------------------------------------------------------------------
.PHONY: check
check: lint ## What to run while working: lint, unit tests, the store on the reference and SQLite
	$(PARALLEL) tests/unit tests/store -m "not postgres" $(ARGS)

.PHONY: test
test: setup postgres cluster-programs ## Run the tests of every part on SQLite and PostgreSQL (WORKERS=6 processes)
	$(PARALLEL) --durations=30 -m "not linters" $(ARGS)
	@$(BIN)/python -m tests.conformance.matrix --counts

.PHONY: test-long
test-long: setup postgres cluster-programs ## Run every test in its long form: 50 kills, every language on PostgreSQL, 1,000 examples
	THREADKEEP_LONG=1 $(PARALLEL) --durations=30 $(ARGS)
	@$(BIN)/python -m tests.conformance.matrix
	$(if $(ARGS),,@THREADKEEP_LONG=1 $(MAKE) --no-print-directory check-gen test-envoy)

.PHONY: test-envoy
test-envoy: setup postgres ## Run the tests through the SDK, HTTP and the command line with every server behind Envoy
	THREADKEEP_TEST_FRONTEND=envoy $(PARALLEL) tests/api $(ARGS)

.PHONY: postgres
postgres: ## Install PostgreSQL if there is none and we may (the tests start it themselves)
	bash tests/support/install_postgres.sh

.PHONY: cluster-programs
cluster-programs: ## Install Patroni, etcd, HAProxy and PgBouncer if they are missing and we may (the tests start them)
	bash tests/support/install_cluster.sh

.PHONY: test-unit
test-unit: setup ## Run the pure tests: domain, conversion, configuration
	$(PARALLEL) tests/unit $(ARGS)

.PHONY: test-store
test-store: setup postgres ## Run the store suite on memory, SQLite and PostgreSQL
	$(PARALLEL) tests/store $(ARGS)

.PHONY: test-api
test-api: setup ## Run the tests through the SDK, HTTP and the command line
	$(PARALLEL) tests/api $(ARGS)

.PHONY: test-chat
test-chat: setup postgres ## Run the tests of the agent kit: both forms, whole and streamed, on both engines
	$(PARALLEL) tests/chat $(ARGS)

.PHONY: test-feed
test-feed: setup postgres ## Run the tests of subscriptions against real servers (THREADKEEP_SEED=7)
	$(PARALLEL) tests/feed $(ARGS)

.PHONY: test-migration
test-migration: setup postgres ## Run the schema migration tests
	$(PARALLEL) tests/migration $(ARGS)

.PHONY: test-operations
test-operations: setup postgres ## Run the tests of what operators do: backups, restores, upgrades, and the commands of their pages
	$(PARALLEL) tests/operations $(ARGS)

.PHONY: test-faults
test-faults: setup postgres ## Run the fault tests: kill -9, full disk, lost database (THREADKEEP_KILLS=50)
	$(PARALLEL) tests/faults $(ARGS)

.PHONY: test-availability
test-availability: setup postgres cluster-programs ## Run the fail-overs of a PostgreSQL cluster (THREADKEEP_FAILOVERS=20)
	$(PARALLEL) tests/availability $(ARGS)

.PHONY: test-deploy
test-deploy: setup ## Run the tests of deploy/: the image, the chart, the unit (the long form builds the image)
	$(PARALLEL) tests/deploy $(ARGS)

.PHONY: test-scenarios
test-scenarios: setup postgres ## Run the long stories: a session of a million tokens under a policy
	$(PARALLEL) tests/scenarios $(ARGS)

.PHONY: test-sdk
test-sdk: setup ## Test the clients: their own tests, packages, quickstarts, a page in a browser
	$(PARALLEL) tests/sdk $(ARGS)

.PHONY: test-console
test-console: setup ## Test the web console in Chromium (its long form: also on PostgreSQL, and in Firefox)
	$(PARALLEL) tests/console $(ARGS)

.PHONY: lint-clients
lint-clients: setup ## Run the linters and type checks of the clients, and build the documentation of those of Java and Rust
	$(PYTEST) tests/sdk tests/integrations -m linters $(ARGS)

.PHONY: test-conformance
test-conformance: setup postgres ## Run the conformance cases in every language on both engines; ends with how many passed
	status=0; THREADKEEP_LONG=1 $(PARALLEL) tests/conformance $(ARGS) || status=$$?; $(BIN)/python -m tests.conformance.matrix; exit $$status

.PHONY: test-integrations
test-integrations: setup postgres ## Test the adapters of frameworks, each with the oldest and newest versions (ARGS="-k adk")
	$(PARALLEL) tests/integrations tests/unit/integrations $(ARGS)

.PHONY: test-docs
test-docs: setup ## Run the code blocks of the README and the guides, and check links and paths of all documents
	$(PARALLEL) tests/docs $(ARGS)

.PHONY: docs
docs: setup ## Build the documentation site into build/site; warnings fail
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: lint
lint: setup check-gen check-sync docs ## Check style, types, layering, protos, drift, sizes, words and documents
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(SOURCES) tools tests examples
	$(BIN)/lint-imports
	cd proto && ../$(BIN)/buf lint
	cd proto && ../$(BIN)/buf format --diff --exit-code
	cd proto && ../$(BIN)/buf breaking --against released.binpb
	$(BIN)/python tools/size_report.py
	$(BIN)/python tools/words.py

.PHONY: format
format: setup ## Format Python and protos
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	cd proto && ../$(BIN)/buf format --write

# --- generated code ---------------------------------------------------------------------------------------------------
include $(dir $(firstword $(MAKEFILE_LIST)))tools/gen/generate.mk

.PHONY: release-image
release-image: setup ## Record the protos as released: what `buf breaking` compares with
	cd proto && ../$(BIN)/buf build -o released.binpb

# The tag of a release, such as v0.2.0: every manifest must name its version. Without one they must name the same.
TAG ?=
# Where `make release-files` writes: an empty folder, or a new one.
DIST ?= dist
.PHONY: release-files
release-files: setup ## Write every file of a release with checksums into DIST=dist, and its notes next to it
	$(BIN)/python tools/release.py versions $(TAG)
	$(BIN)/python tools/release.py build "$(DIST)"
	$(BIN)/python tools/release.py verify "$(DIST)"
	$(BIN)/python tools/release.py notes > "$(DIST)/../notes.md"

.PHONY: release-check
release-check: setup ## Build every file of a release and install each from its file: wheel, npm, crate, jar, Go module, image, chart
	$(BIN)/python tools/release.py versions $(TAG)
	THREADKEEP_LONG=1 $(PARALLEL) tests/deploy tests/sdk -m "not linters" -k "deploy or readme or installed or prints_what or packed or crate" $(ARGS)

.PHONY: sync-client
sync-client: setup ## Generate the synchronous client from the asynchronous one
	$(BIN)/python tools/async_to_sync.py

.PHONY: check-sync
check-sync: setup ## Fail if the synchronous client differs from what would be generated
	$(BIN)/python tools/async_to_sync.py --check

# --- measuring --------------------------------------------------------------------------------------------------------
.PHONY: bench
bench: setup ## Measure against raw baselines of the same run; writes bench.json
	$(BIN)/python -m tests.bench $(ARGS)

.PHONY: soak
soak: setup postgres ## Two hours of low load on both engines: memory, descriptors and latencies must stay (ARGS="--hours 8")
	$(BIN)/python -m tests.sizing soak --folder build/soak $(ARGS)

.PHONY: bench-peers
bench-peers: setup ## Measure next to other session stores, each in its own environment
	$(BIN)/python -m tests.bench.peers $(ARGS)

# The files that `make bench-compare` compares.
A ?=
B ?=
.PHONY: bench-compare
bench-compare: setup ## Compare two runs of `make bench` (A=old.json B=new.json; ARGS="--threshold 5")
	@test -n "$(A)" -a -n "$(B)" || { echo "usage: make bench-compare A=old.json B=new.json" >&2; exit 2; }
	@$(BIN)/python -m tests.bench.compare "$(A)" "$(B)" $(ARGS)

.PHONY: bench-charts
bench-charts: setup ## Keep bench.json and bench-peers.json in docs/benchmarks and draw their charts
	@$(BIN)/python -m tests.bench.charts $(ARGS)

.PHONY: bench-recall
bench-recall: setup ## Measure how much of the evidence searches find (ARGS="PATH --modes ranked,hybrid")
	$(BIN)/python -m tests.recall_bench $(ARGS)

.PHONY: bench-console
bench-console: setup ## Measure how the web console opens its pages, and opens and scrolls 200,000 events (ARGS="--data FOLDER")
	@$(BIN)/python -m tests.console_bench $(ARGS)

.PHONY: clean
clean: ## Remove environments, caches and build output (never ./data)
	rm -rf $(VENV) $(GEN) .venv-gen .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .bench-envs build dist client/typescript/{node_modules,dist,build} client/{java,rust}/target bench.json bench-peers.json
