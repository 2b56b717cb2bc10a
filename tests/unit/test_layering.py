"""What import-linter (pyproject.toml) does not see: DAG files, lazy imports at run time, the size of files."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "include" / "tailrace"
DAGS, APPS = PACKAGE.parents[1] / "dags", PACKAGE.parents[1] / "spark_apps"


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


@pytest.mark.parametrize("file", [*DAGS.glob("*.py"), *APPS.glob("*.py")], ids=lambda file: file.name)
def test_dags_and_apps_only_name_what_the_package_has(file):
    assert {name.split(".")[0] for name in imports(file)} <= {"__future__", "sys", "tailrace"}
    assert len(file.read_text().splitlines()) <= 20


@pytest.mark.parametrize(
    "module",
    [
        "engine.task",
        "engine.stage",
        "query.loading",
        "storage.results",
        "storage.status",
        "storage.progress",
        "drivers.launch",
    ],
)
def test_no_engine_is_loaded_on_the_way(module):
    script = f"import tailrace.{module}, sys; print(sorted({{'pyspark', 'airflow'}} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_a_file_holds_one_idea():
    for file in PACKAGE.rglob("*.py"):
        assert len(file.read_text().splitlines()) <= 250, f"{file}: more than one idea?"
