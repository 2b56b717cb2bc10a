"""The page with the end of a driver's log: who may read it, and that it only reads."""

from __future__ import annotations

import pytest
from airflow.api_fastapi.core_api import security
from fastapi import FastAPI
from starlette.testclient import TestClient

from tailrace.console import app as console
from tailrace.console.plugin import TailraceConsole
from tailrace.drivers.driver_host import DriverHostDown
from tailrace.orchestration.links import PAGES

PAGE = f"{PAGES}/driver_log/stream_readings"


class AuthManager:
    """Lets a user read the logs of the DAGs in `readable`, and keeps what it was asked."""

    def __init__(self) -> None:
        self.readable, self.asked = {"stream_readings"}, []

    def is_authorized_dag(self, *, method, access_entity, details, user) -> bool:
        self.asked.append((method, access_entity.name, details.id, user))
        return details.id in self.readable


@pytest.fixture
def client():
    """A client of an API server that has the plugin's app, as Airflow mounts it."""
    (mounted,) = TailraceConsole.fastapi_apps
    server = FastAPI()
    server.mount(mounted["url_prefix"], mounted["app"])
    return TestClient(server)


@pytest.fixture
def auth_manager(monkeypatch):
    """A user who is logged in, and what the user may do."""
    auth_manager = AuthManager()
    monkeypatch.setitem(console.app.dependency_overrides, security.get_user, lambda: "ada")
    monkeypatch.setattr(security, "get_auth_manager", lambda: auth_manager)
    monkeypatch.setattr(security.DagModel, "get_team_name", lambda dag_id: None)
    return auth_manager


def test_who_is_not_logged_in_reads_nothing(client, host, place):
    answer = client.get(PAGE)
    assert answer.status_code == 401
    assert "a line" not in answer.text


def test_who_may_read_the_logs_of_the_dag_reads_the_end_of_the_drivers(client, auth_manager, host, place):
    answer = client.get(PAGE)
    assert (answer.status_code, answer.text.split("\n")[-2].strip()) == (200, "the last line")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert auth_manager.asked == [("GET", "TASK_LOGS", "stream_readings", "ada")]


def test_who_may_not_read_the_logs_of_the_dag_reads_none(client, auth_manager, host, place):
    auth_manager.readable = {"stream_other"}
    answer = client.get(PAGE)
    assert answer.status_code == 403
    assert "a line" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_it_only_reads(client, auth_manager, host, place, method):
    assert client.request(method, PAGE).status_code == 405


@pytest.mark.parametrize("path", ["docs", "redoc", "openapi.json", "driver_log", "driver_log/"])
def test_there_is_no_other_page(client, auth_manager, path):
    assert client.get(f"{PAGES}/{path}").status_code == 404


@pytest.mark.parametrize("dag", ["correct_readings", "stream_", "stream_..", "stream_-c", "readings"])
def test_what_is_no_stream_has_no_log(client, auth_manager, host, place, dag):
    auth_manager.readable = {dag}
    answer = client.get(f"{PAGES}/driver_log/{dag}")
    assert answer.status_code == 404
    assert "a line" not in answer.text


def test_a_driver_host_that_is_down_is_said(client, auth_manager, host, place):

    def no_answer(name, lines):
        raise DriverHostDown("the driver host does not answer")

    host.last_lines = no_answer
    assert client.get(PAGE).status_code == 503


def test_a_driver_without_a_log_is_said(client, auth_manager, host, place):
    host.last_lines = lambda name, lines: []
    assert "has no log of readings" in client.get(PAGE).text
