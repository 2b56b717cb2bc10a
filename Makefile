# What there is to do here: make help
.DEFAULT_GOAL := help
.PHONY: help setup parts demo test test-all test-fast touched timed clusters mutations fuzz chaos outages steady screenshots console-load docs lint tree format bench audit wheel clean

PYTHON ?= python3
BIN := .venv/bin
# How many processes run tests.
PROCESSES ?= $(shell getconf _NPROCESSORS_ONLN)
# With it, every process would compile all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

help: ## Say what there is
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## Bring what is missing: the locked environment in .venv, and Java
	@PYTHON=$(PYTHON) sh tools/setup.sh

parts: setup ## Bring what tests need beside Python, before the first of them: Chromium, PostgreSQL, an object store, the jars of Kafka and YARN
	@PYTHONPATH=include:tests:tools $(BIN)/python tools/fetch_parts.py

demo: setup ## Start Airflow, stream flights, correct them, check every answer; BOUNDED=1 ends then, GAME2=1, TOPK=1, EMD=1, SPATIAL=1 and KAFKA=1 add streams; CLUSTER=1 runs on a Spark cluster; START_S=900: so long may Airflow take to start
	@$(BIN)/python tools/dev.py demo $(if $(BOUNDED),--bounded) $(if $(GAME2),--game2) $(if $(TOPK),--topk) $(if $(EMD),--emd) $(if $(SPATIAL),--spatial) $(if $(KAFKA),--kafka) $(if $(CLUSTER),--cluster) $(if $(START_S),--start-s $(START_S))

PYTEST = $(BIN)/python -m pytest -n $(PROCESSES) --dist loadgroup --no-loadscope-reorder

test: setup lint ## The gate, some ten minutes: lint, types, and each test that needs Python alone, with a tenth of the drawn examples; one of each kind on Spark, the DAG files and the command line
	$(PYTEST) --gate

test-all: setup lint parts ## Every test, with all drawn examples and the real parts, for two hours, and a table of its units; ONLY=kafka,tests/dags: parts, units or directories; AGAIN=1: what is not green yet on this tree; SEED=7 draws other examples, PROCESSES=3 run at once, DURATIONS=1 writes tests/durations.json
	@PYTHONPATH=include:tests:tools $(BIN)/python tools/suite.py --processes $(PROCESSES) $(if $(ONLY),--only $(ONLY)) $(if $(AGAIN),--again) $(if $(SEED),--seed $(SEED)) $(if $(DURATIONS),--durations)

test-fast: setup ## The quick unit tests, in a minute or two
	$(BIN)/python -m pytest -n 2 -m "not needs and not slow" tests/unit

touched: setup ## The tests that what has changed since SINCE=commit can turn red, and why; by default since the branch has left main; LIST=1 runs none
	@PYTHONPATH=include:tests:tools $(BIN)/python -m touched --processes $(PROCESSES) $(if $(SINCE),--since $(SINCE)) $(if $(LIST),--list)

timed: setup ## The tests that promise something within a time, for a quiet machine: a driver is back, an alert comes, late tuples are corrected; what took longer is red
	TAILRACE_TIMED=1 $(BIN)/python -m pytest --figures tests/e2e

clusters: setup ## What starts clusters of several servers, for minutes: Spark's own master and workers, the services of docker-compose.yaml as processes, a YARN
	$(BIN)/python -m pytest tests/spark/test_cluster.py tests/e2e/test_compose.py tests/yarn

mutations: setup ## Take each guard out of a copy of the tree, see a quick test go red without it, and count what the gate holds; WORDS="lease note" in their files, texts or tests, PROCESSES=2 at once; AFTER=log: go on after the run that printed it
	@PYTHONPATH=include:tests:tools $(BIN)/python tools/mutations.py --processes $(PROCESSES) $(if $(AFTER),--after $(AFTER)) $(WORDS)

fuzz: setup ## Draw queries, expressions and records by SEED=1 and those after it for SECONDS=600, and hold each answer to DuckDB and plain oracles; PATHS=tests/…: other properties
	@PYTHONPATH=include:tests:tools $(BIN)/python tools/fuzz.py --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1) --processes $(PROCESSES) $(PATHS)

chaos: setup ## Random kills of a live stream for SECONDS=150, by SEED=1, of KIND=aggregate (topk, emd_join, spatial_join); then an oracle counts what is lost, doubled or wrong
	@PYTHONPATH=include:tests:tools $(BIN)/python tools/chaos --seconds $(or $(SECONDS),150) --seed $(or $(SEED),1) --kind $(or $(KIND),aggregate)

outages: setup ## PARTS=postgres,kafka,… of the platform are away for SECONDS=120 each, HOW=stop,kill, beside a live stream of SEED=1; then an oracle counts what is lost, doubled or wrong; PLACES=postgres,kafka,current: the places of a stream's answers instead, which readers poll all the time, with BETWEEN=kill,rebuild,restore besides
	@PYTHONPATH=include:tests:tools $(BIN)/python tools/chaos/$(if $(PLACES),place_outages.py --places $(PLACES) $(if $(BETWEEN),--between $(BETWEEN)),outages.py $(if $(PARTS),--parts $(PARTS))) --seconds $(or $(SECONDS),120) $(if $(HOW),--how $(HOW)) --seed $(or $(SEED),1)

steady: setup ## A live stream for SECONDS=3600 at RATE=1000 rows a second, of KIND=aggregate; how memory, state and lag grow; how soon answers come; BURST=10, HOT=0.9 and BATCH_ROWS=2000 load it unevenly; EVERY=0.1 s comes a file; ENGINE=local; PLOT=file.png draws them
	@PYTHONPATH=include:tests:tools $(BIN)/python tools/chaos/steady.py --seconds $(or $(SECONDS),3600) --rate $(or $(RATE),1000) --kind $(or $(KIND),aggregate) $(if $(BURST),--burst $(BURST)) $(if $(HOT),--hot $(HOT)) $(if $(BATCH_ROWS),--batch-rows $(BATCH_ROWS)) $(if $(EVERY),--every $(EVERY)) $(if $(ENGINE),--engine $(ENGINE)) $(if $(PLOT),--plot $(PLOT))

screenshots: setup ## Draw every page of the console, light and dark, laptop and phone, into OUTPUT=build/screenshots; ONLY=streams: those with this in their name
	@PYTHONPATH=include:tests:tools $(BIN)/python tools/screenshots.py --output $(or $(OUTPUT),build/screenshots) $(if $(ONLY),--only $(ONLY))

console-load: setup ## Measure the console over 200 queries of 30 days, one with 10 M answers: pages, panels, memory, each beside its limit
	@PYTHONPATH=include:tests:tools $(BIN)/python tools/console_load.py

docs: setup ## Build the documentation with warnings as errors, and serve it on this machine at PORT=8000 until Ctrl-C; BUILD=1 only builds it
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file tools/docs_site/mkdocs.yml
	@echo "the documentation stands in build/site; begin with build/site/index.html"
	@$(if $(BUILD),:,echo "http://127.0.0.1:$(or $(PORT),8000)/ until Ctrl-C"; exec $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site $(or $(PORT),8000))

lint: setup ## Ruff, the import contracts and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=tools $(BIN)/lint-imports
	$(BIN)/mypy --num-workers $(PROCESSES)

tree: setup ## Say what is to mend in the form of the tree: lengths, guards, records, language, tables of pages; MEND=1 writes what follows from code
	@PYTHONPATH=include:tests:tools $(BIN)/python -m tree $(if $(MEND),--mend)

format: setup ## Put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## Measure `aggregate` and `topk` beside Spark's own windows, and the speed of `emd_join` and `spatial_join`
	$(BIN)/python tools/dev.py bench aggregate
	$(BIN)/python tools/dev.py bench topk --rows 8000000
	$(BIN)/python tools/dev.py bench emd
	$(BIN)/python tools/dev.py bench spatial

audit: setup ## Ask PyPI's advisories about every package of the lock; needs the network, and ends with 1 if one is known
	@sh tools/audit.sh

wheel: setup ## Build the wheel into build/wheel, check it, install it alone, and run an example there; needs the network
	@sh tools/wheel.sh

clean: ## Remove what was made here: environment, caches, builds; tables in warehouse/ stay
	rm -rf .venv .hypothesis .pytest_cache .mypy_cache .ruff_cache build include/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
