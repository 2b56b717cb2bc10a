"""Fixtures of the orchestration tests: an Airflow home, a query, a warehouse, a driver host in memory."""

from __future__ import annotations

from kit.parts import airflow_home  # isort: skip  (before any module that imports airflow)

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.fakes.fake_host import FakeHost, declare
from tailrace.storage.layout import Layout

assert airflow_home.HOME


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            # One process imports Airflow, which takes long, and they wait for processes more than they compute.
            item.add_marker(pytest.mark.xdist_group("airflow"))
            if "called" in item.fixturenames:
                item.add_marker(pytest.mark.needs("process"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with the declared query `readings` and a warehouse; Airflow's settings point to it."""
    declare(tmp_path / "queries", "readings")
    (tmp_path / "warehouse").mkdir()
    monkeypatch.setenv("TAILRACE_QUERIES", str(tmp_path / "queries"))
    monkeypatch.setenv("TAILRACE_WAREHOUSE", str(tmp_path / "warehouse"))
    monkeypatch.setenv("TAILRACE_SPARK_APPS", str(Path(__file__).parents[2] / "spark_apps"))
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", '{"conn_type": "spark", "host": "local[*]"}')
    return tmp_path


@pytest.fixture
def layout(place: Path) -> Layout:
    return Layout.for_query(place / "warehouse", "readings")


@pytest.fixture
def host(place: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    from tailrace.drivers import driver_lifecycle
    from tailrace.orchestration import settings

    host = FakeHost()
    monkeypatch.setattr(driver_lifecycle, "POLL_S", 0.01)
    monkeypatch.setattr(settings, "driver_host", lambda: host)
    return host


# Stand-in for spark-submit: writes down its call, and behaves as the warehouse's file `told` says.
# What it accepts is in its note, as that file goes with the task.
STAND_IN = f"""#!{sys.executable}
import json, os, pathlib, signal, subprocess, sys
told = pathlib.Path(os.environ["TAILRACE_WAREHOUSE"], "told")
do = json.loads(told.read_text()) if told.exists() else {{}}
child = subprocess.Popen(["sleep", "600"], start_new_session=True) if do.get("stays") else None
note = told.with_name("called")
where = os.environ.get("SPARK_LOCAL_IP")
accepted = [pathlib.Path(path).read_text() for option, path in zip(sys.argv, sys.argv[1:]) if option == "--accept"]
reports = [pathlib.Path(path) for option, path in zip(sys.argv, sys.argv[1:]) if option == "--report"]
for report in reports if "report" in do else ():
    report.write_text(json.dumps(do["report"]))
words = [os.getpid(), child and child.pid, sys.argv[1:], where, *accepted]
note.with_suffix(".new").write_text(json.dumps(words))
note.with_suffix(".new").rename(note)
print(do.get("says", "its last words"), flush=True)
while child:
    signal.pause()  # a signal alone ends it: not its child's end, which may come first
sys.exit(do.get("code", 0))
"""


@pytest.fixture
def called(place, monkeypatch):
    """Reads the last call of spark-submit: its pid, its child's, its arguments, its SPARK_LOCAL_IP, what it accepts."""
    from tailrace.orchestration import settings

    program = place / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    environment = settings.spark_environment()
    path = f"{program.parent}:{os.environ['PATH']}"
    monkeypatch.setattr(settings, "spark_environment", lambda: environment | {"PATH": path})
    saved_environment = dict(os.environ)
    yield lambda: json.loads((place / "warehouse" / "called").read_text())
    os.environ.clear()
    os.environ.update(saved_environment)
