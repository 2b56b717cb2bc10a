"""Imports go one way: core ← kinds ← spark ← orchestration ← demo, cli ← dags; core and kinds know no engine."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "include" / "tailrace"
DAGS, APPS = PACKAGE.parents[1] / "dags", PACKAGE.parents[1] / "spark_apps"
ENGINES = {"pyspark", "delta", "deltalake", "airflow", "py4j", "fastapi"}

# Each room, the rooms it may import, and the engines it may name. What is not listed may do nothing.
LEAVES = {"columns", "duration", "entry", "errors", "fields", "frames", "retries", "trial", "wire", "windows"}
CORE = LEAVES | {"disorder", "partition", "streams"}
KINDS = CORE | {"panes", "aggregate", "topk", "sections", "query", "kinds"}
QUERY = KINDS | {"declare", "stage", "task", "arrivals", "outputs"}
ALLOWED: dict[str, tuple[set[str], set[str]]] = {
    **{room: (LEAVES, set()) for room in LEAVES},
    "disorder": (LEAVES | {"disorder"}, set()),
    "partition": (LEAVES | {"partition"}, set()),
    "streams": (LEAVES | {"streams"}, set()),
    "panes": (CORE | {"panes"}, set()),
    "aggregate": (CORE | {"panes", "aggregate"}, set()),
    "topk": (CORE | {"panes", "topk"}, set()),
    "sections": (CORE, set()),
    "query": (CORE | {"panes", "aggregate", "sections"}, set()),
    "declare": (CORE | {"sections", "query"}, set()),
    "kinds": (KINDS, set()),
    **{room: (QUERY, set()) for room in ("stage", "task", "arrivals", "outputs")},
    "calibration": (KINDS | {"calibration"}, set()),
    "spark": (QUERY | {"calibration", "spark"}, {"pyspark", "deltalake"}),
    "schema": (CORE | {"query"}, set()),
    "orchestration": (QUERY | {"spark", "orchestration"}, {"airflow"}),
    "bench": (QUERY | {"calibration", "spark", "bench"}, {"pyspark", "deltalake"}),
    "show": (CORE, set()),
    "demo": (QUERY | {"spark", "orchestration", "show", "demo"}, set()),
    "cli_tools": (QUERY | {"schema", "bench", "show", "demo"}, set()),
    "cli_drivers": (QUERY | {"spark", "orchestration", "show"}, set()),
    "cli_calibrate": (QUERY | {"calibration", "spark", "show"}, set()),
    "cli": (QUERY | {"spark", "show", "cli_tools", "cli_drivers", "cli_calibrate"}, set()),
    "__main__": ({"cli"}, set()),
}


def imports(file: Path) -> set[str]:
    """Every module that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: relative imports hide the room"
            module = node.module or ""
            found |= {f"{module}.{alias.name}" for alias in node.names} if module == "tailrace" else {module}
    return found


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_go_one_way(file):
    room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    rooms, engines = ALLOWED[room]
    for name in imports(file):
        top, *rest = name.split(".")
        if top == "tailrace":
            assert rest[0] in rooms | {"__version__"}, f"{room} may not import {rest[0]}"
        assert top not in ENGINES - engines, f"{room} may not import {top}"


@pytest.mark.parametrize("file", [*DAGS.glob("*.py"), *APPS.glob("*.py")], ids=lambda file: file.name)
def test_dags_and_apps_only_name_what_the_package_has(file):
    assert {name.split(".")[0] for name in imports(file)} <= {"__future__", "sys", "tailrace"}
    assert len(file.read_text().splitlines()) <= 20


@pytest.mark.parametrize(
    "module",
    ["task", "stage", "declare", "spark.results", "spark.status", "spark.commits", "orchestration.launch"],
)
def test_no_engine_is_loaded_on_the_way(module):
    script = f"import tailrace.{module}, sys; print(sorted({{'pyspark', 'airflow'}} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_a_file_holds_one_idea():
    for file in PACKAGE.rglob("*.py"):
        assert len(file.read_text().splitlines()) <= 250, f"{file}: more than one idea?"
