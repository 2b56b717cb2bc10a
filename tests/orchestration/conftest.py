"""Airflow's own home for these tests, a declared query, a warehouse, and a driver host in memory."""

from __future__ import annotations

import airflow_home  # isort: skip  (before whatever imports airflow)

from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_host import FakeHost, declare
from tailrace.spark.layout import Layout

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
