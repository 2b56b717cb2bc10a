"""What the pages offer: requests of Airflow's own API, by its rights; none that another site forges is done."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kit.console.bed import PAGES, Bed

pytestmark = pytest.mark.xdist_group("console")

QUERY, KINDS = "trades", {"deploy", "drain", "correct", "calibrate", "rebuild", "unpause_stream", "unpause_correct"}

# A simple request, which browsers send with cookies and without a question; a body without a type is the hardest case.
FORGED = """async ([url, method, body, type]) => {
    const options = {method, credentials: 'include', body: new Blob([body], type ? {type} : {})}
    try { await fetch(url, {mode: type === 'application/json' ? 'cors' : 'no-cors', ...options}) } catch {}
}"""
TYPES = "", "text/plain", "application/x-www-form-urlencoded", "application/json"


def actions(bed: Bed, user: str) -> dict[str, dict]:
    with bed.client(user) as client:
        found = client.get(f"{PAGES}api/queries/{QUERY}/actions").json()["actions"]
    return {action["name"]: action for action in found}


def history(bed: Bed) -> list[object]:
    """The query's runs with their states, and which of its DAGs are paused."""
    api = bed.api()
    runs = api.call("GET", "dags/~/dagRuns", limit=100, order_by="dag_id")["dag_runs"]
    dags = api.call("GET", "dags", limit=100)["dags"]
    mine = [(run["dag_run_id"], run["state"]) for run in runs if run["dag_id"].endswith(QUERY)]
    return [sorted(mine), sorted((dag["dag_id"], dag["is_paused"]) for dag in dags if dag["dag_id"].endswith(QUERY))]


@pytest.mark.parametrize("user", ["admin", "op", "user"])
def test_those_who_may_trigger_runs_may_act(bed, user):
    found = actions(bed, user)
    assert set(found) == KINDS
    assert {name for name, action in found.items() if action["is_allowed"]} == KINDS - {"drain"}
    assert found["drain"]["why_not"], "nothing runs that could be drained"
    for action in found.values():
        assert action["says"]
        for request in action["requests"]:
            assert request["path"].startswith("dags/")


def test_a_viewer_is_offered_nothing_and_is_refused_by_airflow_itself(bed, run):
    before, offered = history(bed), actions(bed, "viewer")
    assert set(offered) == KINDS
    assert [name for name, action in offered.items() if action["is_allowed"]] == []
    assert all(action["why_not"] for action in offered.values())
    with bed.client("viewer") as client:
        for method, path, body in requests_of(bed, run):
            assert client.request(method, f"/api/v2/{path}", json=body).status_code == 403, path
    assert history(bed) == before


@pytest.fixture(scope="module")
def run(bed) -> Iterator[str]:
    """A run of the stream's DAG, which is paused: it waits, and could be marked."""
    api = bed.api()
    run = api.trigger(f"stream_{QUERY}")
    yield run
    api.call("DELETE", f"dags/stream_{QUERY}/dagRuns/{run}")


def requests_of(bed: Bed, run: str) -> list[tuple[str, str, dict]]:
    """The requests of all actions that an admin can take now, and one to drain the run."""
    found = [
        request for action in actions(bed, "admin").values() if action["is_allowed"] for request in action["requests"]
    ]
    drain = "PATCH", f"dags/stream_{QUERY}/dagRuns/{run}", {"state": "success"}
    return [*((request["method"], request["path"], request["body"]) for request in found), drain]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[int]:
    """The port of another site's server."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>elsewhere</title>")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_requests_that_another_site_forges_change_nothing(bed, browser, elsewhere, run, host):
    """Another port of the same host is another origin of the same site, so its requests carry the user's cookie."""
    before = history(bed)
    context = browser.new_context()
    try:
        context.add_cookies([{"name": "_token", "value": bed.api().token, "url": bed.url, "sameSite": "Lax"}])
        page = context.new_page()
        page.goto(f"http://{host}:{elsewhere}/")
        for method, path, body in requests_of(bed, run):
            for content_type in TYPES:
                page.evaluate(FORGED, [f"{bed.url}/api/v2/{path}", method, json.dumps(body), content_type])
        for address in ("", f"queries/{QUERY}"):  # nor can another site show a page in a frame of its own
            page.set_content(f"<iframe src={bed.url}{PAGES}{address}></iframe>")
            page.wait_for_load_state("networkidle")
            assert all(frame.url != f"{bed.url}{PAGES}{address}" for frame in page.frames), address
    finally:
        context.close()
    assert history(bed) == before


def test_the_same_requests_by_the_user_are_run_and_leave_their_record(bed):
    """What the two tests above refuse does happen when the user means it."""
    (trigger,) = [request for request in actions(bed, "user")["calibrate"]["requests"] if request["method"] == "POST"]
    with bed.client("user") as client:
        run = client.post(f"/api/v2/{trigger['path']}", json=trigger["body"] | {"conf": {"dry_run": True}})
        assert run.status_code == 200, run.text
        path = f"/api/v2/{trigger['path']}/{run.json()['dag_run_id']}"
        bed.api().call("DELETE", path.removeprefix("/api/v2/"))
    log = bed.api().call("GET", "eventLogs", dag_id=f"calibrate_{QUERY}", order_by="-when", limit=20)["event_logs"]
    assert "user" in {entry["owner"] for entry in log}
