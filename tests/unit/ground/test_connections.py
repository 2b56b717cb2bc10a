"""Connections are read from the environment, and their secrets are shown nowhere."""

from __future__ import annotations

import json

import pytest

from tailrace.ground.connections import connection_variables, read_connection
from tailrace.ground.errors import Refused

SECRET = "hunter2"


@pytest.mark.parametrize("as_text", [True, False])
def test_a_connection_has_login_password_and_extra_as_texts(monkeypatch, as_text):
    extra = {"region": "r", "allow_http": True}
    declared = {"login": "me", "password": SECRET, "extra": json.dumps(extra) if as_text else extra}
    monkeypatch.setenv("AIRFLOW_CONN_MAIN", json.dumps(declared))
    connection = read_connection("main", "{}")
    assert (connection.login, connection.password) == ("me", SECRET)
    assert connection.extra == {"region": "r", "allow_http": "true"}
    assert SECRET not in repr(connection)


@pytest.mark.parametrize("text", [None, f"aws://me:{SECRET}@", f'"{SECRET}"', json.dumps({"extra": f"x{SECRET}"})])
def test_what_is_no_connection_is_refused_without_its_secret(monkeypatch, text):
    monkeypatch.delenv("AIRFLOW_CONN_MAIN", raising=False)
    if text is not None:
        monkeypatch.setenv("AIRFLOW_CONN_MAIN", text)
    with pytest.raises(Refused, match="AIRFLOW_CONN_MAIN") as refused:
        read_connection("main", "{}")
    assert SECRET not in str(refused.value)


def test_the_variables_of_connections_are_those_that_are_there(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_MAIN", "{}")
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", "{}")
    monkeypatch.delenv("AIRFLOW_CONN_GONE", raising=False)
    assert connection_variables(["main", "gone"]) == {"AIRFLOW_CONN_MAIN": "{}"}
