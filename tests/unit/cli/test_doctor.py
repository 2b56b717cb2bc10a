"""The command doctor: what it checks of a query's file, its exit codes, and no secret."""

from __future__ import annotations

import json
import re

import pytest

from tailrace.advice import machine_checks
from tailrace.advice.checks import fault
from tailrace.cli import source_report
from tailrace.ground.errors import Refused
from tailrace.sources.kafka.kafka_client import Topic
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.sources.lookup.postgres_server import PostgresServer

QUERY = """name: readings
kind: aggregate
streams:
  readings:
    source: {format: csv, path: readings.csv}
    event_time: at
    id: id
window: 1 h
aggregate: {function: count}
answers:
  kafka: {connection: events_main, topic: answers}
  postgres: {connection: reports, table: counts}
"""
CONNECTIONS = {
    "events_main": {"host": "broker", "port": 9092, "login": "me", "password": "hunter2"},
    "reports": {"host": "db", "schema": "s", "login": "me", "password": "hunter2"},
}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in CONNECTIONS.items():
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(content))
    monkeypatch.setattr(machine_checks, "check_java", lambda: machine_checks.ok("java", "17"))
    monkeypatch.setattr(Topic, "description", lambda self: ("id", [0]))
    monkeypatch.setattr(PostgresServer, "connect", lambda self: type("Session", (), {"close": lambda self: None})())
    (tmp_path / "readings.csv").write_text("at,id\n2024-03-14T10:00:00Z,1\n")
    (tmp_path / "query.yaml").write_text(QUERY)
    return tmp_path / "query.yaml"


def findings(tailrace, *arguments: object, code: int = 0) -> dict[str, dict[str, str]]:
    output = tailrace("doctor", *arguments, "--json", "--limit", 500, code=code).stdout
    assert "hunter2" not in output
    return {each["check"]: each for each in json.loads(output)}


def test_what_a_query_names_is_checked(tailrace, file, tmp_path):
    found = findings(tailrace, file, "--warehouse", tmp_path / "wh")
    names = {"query", "connection events_main", "connection reports", "sources", "answers.kafka", "answers.postgres"}
    assert names <= found.keys()
    assert {found[name]["status"] for name in names} == {"ok"}
    assert not (tmp_path / "wh").exists()


@pytest.mark.parametrize("broken", ["variable", "source", "topic", "server"])
def test_each_fault_of_what_a_query_names_ends_with_1_and_a_remedy(tailrace, file, monkeypatch, broken):
    def away(self):
        raise ConnectionError("connection reports: nobody answers")

    name = {"variable": "connection reports", "source": "sources", "topic": "answers.kafka"}.get(broken)
    if broken == "variable":
        monkeypatch.delenv("AIRFLOW_CONN_REPORTS")
    elif broken == "source":
        (file.parent / "readings.csv").write_text("when,id\n2024-03-14T10:00:00Z,1\n")
    elif broken == "topic":
        monkeypatch.setattr(Topic, "description", lambda self: None)
    else:
        monkeypatch.setattr(PostgresServer, "connect", away)
    found = findings(tailrace, file, code=1)[name or "answers.postgres"]
    assert found["status"] == "fault"
    assert found["remedy"]
    assert "bootstrap.servers" not in found["remedy"], "the connection may be one of PostgreSQL"


@pytest.mark.parametrize(
    ("missing", "remedy"), [("events_main", '"bootstrap.servers"'), ("reports", '"host": "db", "port": 5432, "login"')]
)
def test_the_remedy_of_a_missing_connection_is_one_to_its_own_system(tailrace, file, monkeypatch, missing, remedy):
    monkeypatch.delenv(f"AIRFLOW_CONN_{missing.upper()}")
    found = findings(tailrace, file, code=1)[f"connection {missing}"]
    assert remedy in found["remedy"]
    with pytest.raises(Refused, match=re.escape(remedy)):
        PostgresServer("reports").settings() if missing == "reports" else Servers(None, missing).settings()


def test_an_error_that_has_its_remedy_is_shown_with_no_other(tailrace, file, monkeypatch):
    def refuse_login(self):
        raise ConnectionError("connection reports: no; right would be: another login")

    monkeypatch.setattr(PostgresServer, "connect", refuse_login)
    found = findings(tailrace, file, code=1)["answers.postgres"]
    assert (found["finding"], found["remedy"]) == ("connection reports: no", "another login")


def test_a_command_that_fails_by_a_server_says_the_remedy_of_doctor(tailrace, file, monkeypatch):
    def away(query):
        raise ConnectionError("Kafka at broker:9092: no answer")

    monkeypatch.setattr(source_report, "sample_sources", away)
    failed = tailrace("validate", file, "--source", code=1).stderr
    text = "Kafka at broker:9092: no answer; right would be: a server that runs, and can be reached from here"
    assert failed == f"failed ConnectionError: {text}\n"


def test_validate_says_that_it_does_not_look_at_the_places_of_answers(tailrace, file):
    checked = tailrace("validate", file, "--source")
    assert "no fault found" in checked.stdout
    assert checked.stderr.endswith("the places of answers were not looked at: tailrace doctor FILE does that\n")


def test_a_file_that_is_no_query_is_refused(tailrace, tmp_path):
    (tmp_path / "query.yaml").write_text("name: x\n")
    assert "kind" in tailrace("doctor", tmp_path / "query.yaml", code=2).stderr


@pytest.mark.needs("process")
def test_warnings_end_with_0_and_faults_with_1(tailrace, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_checks, "check_memory", lambda _: machine_checks.warning("memory", "little", "more"))
    shown = tailrace("doctor", "--limit", 500).stdout
    assert "warning memory: little; right would be: more" in shown
    monkeypatch.setattr(machine_checks, "check_memory", lambda _: fault("memory", "[none]", "more"))
    assert "fault   memory: [none]; right would be: more" in tailrace("doctor", "--limit", 500, code=1).stdout
