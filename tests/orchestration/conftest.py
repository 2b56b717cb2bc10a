"""Airflow's own home for these tests, a declared query, a warehouse, and a driver host in memory."""

from __future__ import annotations

import airflow_home  # isort: skip  (before whatever imports airflow)

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_host import FakeHost, declare
from tailrace.storage.layout import Layout

assert airflow_home.HOME


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with the declared query `readings`, where Airflow's settings point to."""
    declare(tmp_path / "queries", "readings")
    (tmp_path / "warehouse").mkdir()
    monkeypatch.setenv("TAILRACE_QUERIES", str(tmp_path / "queries"))
    monkeypatch.setenv("TAILRACE_WAREHOUSE", str(tmp_path / "warehouse"))
    monkeypatch.setenv("TAILRACE_SPARK_APPS", str(Path(__file__).parents[2] / "spark_apps"))
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", '{"conn_type": "spark", "host": "local[*]"}')
    return tmp_path


@pytest.fixture
def layout(place: Path) -> Layout:
    return Layout.of(place / "warehouse", "readings")


@pytest.fixture
def host(place: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    from tailrace.orchestration import drivers, settings

    host = FakeHost()
    monkeypatch.setattr(drivers, "_LOOK_S", 0.01)
    monkeypatch.setattr(settings, "driver_host", lambda: host)
    return host


# In the place of spark-submit: notes how it was called, and does as the warehouse says.
STAND_IN = f"""#!{sys.executable}
import json, os, pathlib, subprocess, sys, time
told = pathlib.Path(os.environ["TAILRACE_WAREHOUSE"], "told")
do = json.loads(told.read_text()) if told.exists() else {{}}
child = subprocess.Popen(["sleep", "600"], start_new_session=True) if do.get("stays") else None
note = told.with_name("called")
where = os.environ.get("SPARK_LOCAL_IP")
note.with_suffix(".new").write_text(json.dumps([os.getpid(), child and child.pid, sys.argv[1:], where]))
note.with_suffix(".new").rename(note)
print("its last words", flush=True)
if child:
    child.wait()
sys.exit(do.get("code", 0))
"""


@pytest.fixture
def called(place, monkeypatch):
    """How spark-submit was called: its pid, its child's, its words, the address that it is to keep to."""
    from tailrace.orchestration import settings

    program = place / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    surroundings = settings.spark_environment()
    path = f"{program.parent}:{os.environ['PATH']}"
    monkeypatch.setattr(settings, "spark_environment", lambda: surroundings | {"PATH": path})
    before = dict(os.environ)
    yield lambda: json.loads((place / "warehouse" / "called").read_text())
    os.environ.clear()
    os.environ.update(before)
