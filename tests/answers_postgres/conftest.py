"""One PostgreSQL server for all tests, with TLS; each test has a schema of its own."""

from __future__ import annotations

import socket

import psycopg2
import pytest

from kit.parts.postgres import server
from kit.parts.tls import Authority, loopback_names
from kit.runs.postgres_desk import PASSWORD

SCRAM = "--auth-host=scram-sha-256 --auth-local=scram-sha-256"
CONNECTION = "reports"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    for item in items:
        if "answers_postgres" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("postgres"))


@pytest.fixture(scope="session")
def authority():
    return Authority.make("tailrace's tests")


@pytest.fixture(scope="session")
def postgres(authority):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    with server(port, PASSWORD, SCRAM) as running:
        running.stop()
        running.use_tls(*authority.issue("localhost", *loopback_names()))
        running.start()
        yield running


@pytest.fixture
def connection(postgres, monkeypatch):
    """The name of a connection to the server."""
    monkeypatch.setenv(f"AIRFLOW_CONN_{CONNECTION.upper()}", postgres.connection())
    return CONNECTION


@pytest.fixture
def sql(postgres):
    """Run a statement in a transaction of its own; return its rows."""
    login = {"host": "127.0.0.1", "port": postgres.port, "user": "airflow", "password": PASSWORD, "dbname": "airflow"}

    session = psycopg2.connect(**login)
    session.autocommit = True

    def run(statement, *arguments):
        with session.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return cursor.fetchall() if cursor.description else []

    run("DROP SCHEMA IF EXISTS reports CASCADE")
    run("CREATE SCHEMA reports")
    yield run
    session.close()
