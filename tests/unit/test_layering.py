"""Layering rules beyond the contracts of import-linter (pyproject.toml): DAG files, imports at run time."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[2] / "include" / "tailrace"
DAGS, APPS = PACKAGE.parents[1] / "dags", PACKAGE.parents[1] / "spark_apps"


def imports(file: Path) -> set[str]:
    """Names of all modules that a file imports, also inside functions."""
    modules = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: relative imports hide the room"
            module = node.module or ""
            modules |= {f"{module}.{alias.name}" for alias in node.names} if module == "tailrace" else {module}
    return modules


@pytest.mark.parametrize("file", [*DAGS.glob("*.py"), *APPS.glob("*.py")], ids=lambda file: file.name)
def test_dags_and_apps_import_nothing_but_the_package(file):
    assert {name.split(".")[0] for name in imports(file)} <= {"__future__", "sys", "tailrace"}
    assert len(file.read_text().splitlines()) <= 20


@pytest.mark.needs("process")
@pytest.mark.parametrize(
    "module",
    [
        "engine.task",
        "engine.pipeline",
        "query.loading",
        "storage.results",
        "storage.status",
        "storage.progress",
        "drivers.launch",
    ],
)
def test_neither_spark_nor_airflow_is_imported(module):
    script = f"import tailrace.{module}, sys; print(sorted({{'pyspark', 'airflow'}} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
