"""The client of Airflow's API: it retries idempotent requests only, so that nothing takes effect twice."""

from __future__ import annotations

import httpx
import pytest

from tailrace.embedded import airflow_api
from tailrace.embedded.airflow_api import Api, Patience

LOST = httpx.ReadTimeout("timed out")
REFUSED = httpx.ConnectError("connection refused")


class Server:
    """A server in memory: it gives its answers in order, the last one repeatedly, and records the requests."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers, self.asked = list(answers), []

    def request(self, method: str, url: str, **options: object) -> httpx.Response:
        self.asked.append((method, url, options["json"]))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        answer.request = httpx.Request(method, url)
        return answer


@pytest.fixture
def serve(monkeypatch):
    def make_api(*answers, **patience):
        server = Server(*answers)
        monkeypatch.setattr(airflow_api.httpx, "request", server.request)
        return Api("http://here", "token", Patience(**{"again_s": 0} | patience)), server

    return make_api


def response(body, code=200):
    return httpx.Response(code, json=body)


@pytest.mark.parametrize("method", ["GET", "PATCH"])
@pytest.mark.parametrize(
    "fault", [LOST, REFUSED, httpx.RemoteProtocolError("cut"), response("database is locked", 500)]
)
def test_an_idempotent_request_without_an_answer_is_retried(serve, method, fault):
    api, server = serve(fault, fault, response({"state": "success"}))
    assert api.call(method, "dags/a/dagRuns/b") == {"state": "success"}
    assert server.asked == [(method, "http://here/api/v2/dags/a/dagRuns/b", None)] * 3


@pytest.mark.parametrize(
    ("fault", "message"), [(LOST, "ReadTimeout: timed out"), (response("locked", 503), "503 .*locked")]
)
def test_a_request_that_never_gets_an_answer_is_named(serve, fault, message):
    api, _ = serve(fault, limit_s=-1)
    with pytest.raises(TimeoutError, match=f"GET dags/a was tried .*{message}"):
        api.call("GET", "dags/a")


def test_a_long_wait_names_the_request_and_the_fault(serve, capsys):
    api, _ = serve(LOST, response({}), message_every_s=0)
    api.call("GET", "dags/a")
    assert capsys.readouterr().err == "waiting for Airflow's API to answer GET dags/a: ReadTimeout: timed out\n"
    api, _ = serve(LOST, response({}))
    api.call("GET", "dags/a")
    assert not capsys.readouterr().err


def test_a_request_that_is_not_idempotent_is_not_retried(serve):
    api, server = serve(LOST, response({}))
    with pytest.raises(TimeoutError, match="no answer to POST dags/a/clearTaskInstances"):
        api.call("POST", "dags/a/clearTaskInstances", {"dry_run": False})
    assert len(server.asked) == 1


@pytest.mark.parametrize("second", [response("exists already", 409), response({"dag_run_id": "…"})])
def test_a_run_is_triggered_exactly_once_though_an_answer_was_lost(serve, second):
    """The retry has the same run id, so Airflow refuses it where the first request took effect."""
    api, server = serve(LOST, second)
    run = api.trigger("stream_flights", {"restarts": 1})
    assert [body["dag_run_id"] for _, _, body in server.asked] == [run, run]
    assert [body["conf"] for _, _, body in server.asked] == [{"restarts": 1}] * 2
    api, _ = serve(response({}))
    assert api.trigger("stream_flights") != run


def test_a_refusal_is_raised_at_once(serve):
    for request in (lambda api: api.call("GET", "dags/a"), lambda api: api.trigger("a")):
        api, server = serve(response("no such dag", 404))
        with pytest.raises(httpx.HTTPStatusError):
            request(api)
        assert len(server.asked) == 1


@pytest.mark.parametrize("fault", [LOST, response("locked", 500)])
def test_a_log_in_is_retried_only_if_patient(serve, monkeypatch, fault):
    _, server = serve(fault, response({"access_token": "secret"}, 201))
    monkeypatch.setattr(airflow_api.httpx, "post", lambda url, **options: server.request("POST", url, **options))
    patience = Patience(again_s=0)
    assert Api.log_in("http://here", "me", "password", patience=patience) == Api("http://here", "secret", patience)
    _, server = serve(fault)
    with pytest.raises((TimeoutError, httpx.HTTPStatusError)):
        Api.log_in("http://here", "me", "password", patient=False)
    assert len(server.asked) == 1
