"""Airflow's API on a busy machine: what may be asked again is asked again, and nothing is done twice."""

from __future__ import annotations

import httpx
import pytest

from tailrace.orchestration import airflow_api
from tailrace.orchestration.airflow_api import Api

LOST = httpx.ReadTimeout("timed out")
REFUSED = httpx.ConnectError("connection refused")


class Server:
    """Answers one after the other, or fails; notes what it was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers, self.asked = list(answers), []

    def request(self, method: str, url: str, **given: object) -> httpx.Response:
        self.asked.append((method, url, given["json"]))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        answer.request = httpx.Request(method, url)
        return answer


@pytest.fixture
def serve(monkeypatch):
    def answering(*answers):
        server = Server(*answers)
        monkeypatch.setattr(airflow_api.httpx, "request", server.request)
        monkeypatch.setattr(airflow_api, "_AGAIN_S", 0)
        return Api("http://here", "token"), server

    return answering


def says(what, code=200):
    return httpx.Response(code, json=what)


@pytest.mark.parametrize("method", ["GET", "PATCH"])
@pytest.mark.parametrize("fault", [LOST, REFUSED, httpx.RemoteProtocolError("cut"), says("database is locked", 500)])
def test_what_gets_no_answer_is_asked_again(serve, method, fault):
    api, server = serve(fault, fault, says({"state": "success"}))
    assert api.call(method, "dags/a/dagRuns/b") == {"state": "success"}
    assert server.asked == [(method, "http://here/api/v2/dags/a/dagRuns/b", None)] * 3


@pytest.mark.parametrize(("fault", "told"), [(LOST, "ReadTimeout: timed out"), (says("locked", 503), "503 .*locked")])
def test_what_never_gets_an_answer_is_named(serve, monkeypatch, fault, told):
    monkeypatch.setattr(airflow_api, "_PATIENCE_S", -1)
    api, _ = serve(fault)
    with pytest.raises(TimeoutError, match=f"GET dags/a was tried .*{told}"):
        api.call("GET", "dags/a")


def test_a_long_wait_for_an_answer_says_what_it_waits_for(serve, monkeypatch, capsys):
    monkeypatch.setattr(airflow_api, "_SAY_S", 0)
    api, _ = serve(LOST, says({}))
    api.call("GET", "dags/a")
    assert capsys.readouterr().err == "waiting for Airflow's API to answer GET dags/a: ReadTimeout: timed out\n"
    monkeypatch.setattr(airflow_api, "_SAY_S", 30)
    api, _ = serve(LOST, says({}))
    api.call("GET", "dags/a")
    assert not capsys.readouterr().err


def test_what_may_have_been_done_is_not_asked_again(serve):
    api, server = serve(LOST, says({}))
    with pytest.raises(TimeoutError, match="no answer to POST dags/a/clearTaskInstances"):
        api.call("POST", "dags/a/clearTaskInstances", {"dry_run": False})
    assert len(server.asked) == 1


@pytest.mark.parametrize("second", [says("exists already", 409), says({"dag_run_id": "…"})])
def test_a_run_is_triggered_once_though_its_answer_was_lost(serve, second):
    """The repeat has the same id, so that Airflow refuses it where the first one came through."""
    api, server = serve(LOST, second)
    run = api.trigger("stream_flights", {"restarts": 1})
    assert [body["dag_run_id"] for _, _, body in server.asked] == [run, run]
    assert [body["conf"] for _, _, body in server.asked] == [{"restarts": 1}] * 2
    api, _ = serve(says({}))
    assert api.trigger("stream_flights") != run


def test_what_is_refused_is_told_at_once(serve):
    for ask in (lambda api: api.call("GET", "dags/a"), lambda api: api.trigger("a")):
        api, server = serve(says("no such dag", 404))
        with pytest.raises(httpx.HTTPStatusError):
            ask(api)
        assert len(server.asked) == 1


@pytest.mark.parametrize("fault", [LOST, says("locked", 500)])
def test_a_log_in_is_tried_again_unless_someone_else_sees_to_that(serve, monkeypatch, fault):
    _, server = serve(fault, says({"access_token": "secret"}, 201))
    monkeypatch.setattr(airflow_api.httpx, "post", lambda url, **given: server.request("POST", url, **given))
    assert Api.log_in("http://here", "me", "password") == Api("http://here", "secret")
    _, server = serve(fault)
    with pytest.raises((TimeoutError, httpx.HTTPStatusError)):
        Api.log_in("http://here", "me", "password", patient=False)
    assert len(server.asked) == 1
