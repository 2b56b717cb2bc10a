"""A connection to PostgreSQL that is missing or not fit is refused, and the refusal shows one that is fit."""

from __future__ import annotations

import re

import pytest

from tailrace.ground.errors import Refused
from tailrace.sources.lookup.postgres_server import PostgresServer

VARIABLE = "AIRFLOW_CONN_REPORTS"


@pytest.mark.parametrize("declared", [None, "postgres://db/reports", '{"conn_type": "postgres", "host": "db"}'])
def test_the_connection_that_a_refusal_shows_is_fit(monkeypatch, declared):
    monkeypatch.delenv(VARIABLE, raising=False)
    if declared is not None:
        monkeypatch.setenv(VARIABLE, declared)
    with pytest.raises(Refused) as refused:
        PostgresServer("reports").settings()
    shown = re.search(f"{VARIABLE} as '(.*)'", refused.value.problems[0].remedy)
    monkeypatch.setenv(VARIABLE, shown[1])
    assert PostgresServer("reports").settings()["dbname"] == "DATABASE"
