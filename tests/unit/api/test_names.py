"""The names of `import tailrace`: what it loads, what it lists, and the rooms that are called as functions."""

from __future__ import annotations

import pickle
import subprocess
import sys
from inspect import isclass, isfunction
from pathlib import Path

import pytest

import tailrace

HEAVY = ("numpy", "pandas", "pyarrow", "pydantic", "pyspark", "airflow", "deltalake", "yaml", "rich", "typer")


def modules_after(code: str) -> set[str]:
    """The modules that a new process has loaded after some code."""
    script = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.needs("process")
def test_the_import_loads_nothing_that_takes_long():
    loaded = modules_after("import tailrace; dir(tailrace)")
    assert not loaded & set(HEAVY)
    assert {name for name in loaded if name.startswith("tailrace")} == {
        "tailrace",
        "tailrace.ground",
        "tailrace.ground.version",
    }


@pytest.mark.needs("process")
def test_rooms_with_the_names_of_functions_are_called_as_these_and_no_name_loads_spark_or_airflow():
    """The rooms are imported first, as their modules are by each other."""
    loaded = modules_after(
        """
import tailrace.query.loading, tailrace.sql.translate, tailrace
for refused in (lambda: tailrace.query("aggregate"), lambda: tailrace.sql("SELECT", dict())):
    try:
        refused()
    except tailrace.Refused as error:
        assert error.problems[0].where.startswith(("query aggregate: ", "sql:1:")), error
    else:
        raise AssertionError("nothing was refused")
from tailrace import query
assert query is tailrace.query
assert tailrace.query.loading.load
for name in dir(tailrace): getattr(tailrace, name)"""
    )
    assert not loaded & {"pyspark", "airflow", "matplotlib", "polars"}


def test_the_public_names_are_listed_and_documented():
    assert {"load", "query", "sql", "Query", "Stream", "Run", "Answers", "Refused", "Failed", "testing"} <= set(
        dir(tailrace)
    )
    for name in dir(tailrace):
        value = getattr(tailrace, name)
        assert not isclass(value) or value.__doc__
        assert not isfunction(value) or value.__doc__
    assert (Path(tailrace.__file__).parent / "py.typed").exists()
    with pytest.raises(AttributeError, match="no attribute 'quary'"):
        _ = tailrace.quary  # type: ignore[attr-defined]


def test_the_package_and_its_rooms_are_pickled_by_their_names():
    assert pickle.loads(pickle.dumps(tailrace)) is tailrace
    assert pickle.loads(pickle.dumps(tailrace.query)) is tailrace.query
