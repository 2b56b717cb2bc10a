"""Gives Airflow a temporary home before any test of the DAG files imports it."""

from __future__ import annotations

from kit.parts import airflow_home  # isort: skip  (before any module that imports airflow)

from pathlib import Path

import pytest

assert airflow_home.HOME


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("airflow"))  # with tests/orchestration, which imports Airflow too
