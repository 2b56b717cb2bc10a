"""Every route for everyone: nobody reads without a log-in, and no route changes anything for anyone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kit.console.bed import PAGES
from kit.console.rights import ONLY_SPEEDS, WITHOUT_LOGS
from pages.console_addresses import DOCUMENTS, READS, addresses, is_page, records, routes

pytestmark = pytest.mark.xdist_group("console")

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SPEEDS, TRADES = "speeds", "trades"
WRITES = "POST", "PUT", "PATCH", "DELETE"


def test_no_route_is_for_anything_but_reading():
    assert all(route.methods <= READS for route in routes())


def test_nobody_reads_anything_without_a_log_in(bed):
    with bed.client() as client:
        for address in addresses(SPEEDS):
            answer = client.get(PAGES + address)
            assert answer.status_code == 401, address
            assert SPEEDS not in answer.text.replace(address.partition("?")[0], ""), address
            for document in DOCUMENTS:
                assert client.get(f"{PAGES}{document}").status_code in (401, 404)


def test_a_browser_without_a_log_in_is_led_to_it_from_pages_and_back(bed):
    with bed.client() as client:
        for address in filter(is_page, addresses(SPEEDS)):
            answer = client.get(f"{PAGES}{address}?part=late", headers=BROWSER)
            assert answer.status_code in (302, 303, 307), address
            assert "/auth/login" in answer.headers["location"]
            assert "part%3Dlate" in answer.headers["location"], address


def test_a_wrong_token_reads_nothing(bed):
    with bed.client() as client:
        client.cookies.set("_token", bed.api("viewer").token[:-5] + "AAAAA")
        answers = {client.get(PAGES + address).status_code for address in addresses(SPEEDS)}
    assert answers <= {401, 403}


@pytest.fixture(scope="module")
def every(bed) -> list[str]:
    """All addresses of a query, each of which has an answer."""
    with bed.client("admin") as client:
        return addresses(SPEEDS, client.get(f"{PAGES}api/queries/{SPEEDS}/answers").json()["rows"][0]["id"])


@pytest.mark.parametrize("user", ["admin", "op", "user", "viewer"])
def test_everyone_who_may_read_dags_and_their_logs_reads_every_page(bed, every, user):
    with bed.client(user) as client:
        answers = {address: client.get(PAGES + address) for address in every}
        for document in DOCUMENTS:
            assert client.get(f"{PAGES}{document}").status_code == 404
    wrong = {address: answer.text[:300] for address, answer in answers.items() if answer.status_code not in (200, 303)}
    assert wrong == {}
    for address, answer in answers.items():
        assert "default-src 'none'" in answer.headers["content-security-policy"], address
        assert "unsafe" not in answer.headers["content-security-policy"], address
        assert answer.headers["x-content-type-options"] == "nosniff", address
        assert "text/html" not in answer.headers.get("content-type", "") or is_page(address) or ".html" in address


def test_records_and_the_drivers_log_need_the_right_to_read_task_logs(bed, every):
    closed = {*records(SPEEDS), f"driver_log/stream_{SPEEDS}"}
    with bed.client(WITHOUT_LOGS) as client:
        answers = {address: client.get(PAGES + address).status_code for address in every}
    assert {address.partition("?")[0] for address, status in answers.items() if status == 403} == closed
    assert {"answer", "quarantine"} <= {address.rsplit("/", 1)[1] for address in closed}


def test_a_query_is_hidden_from_those_who_may_not_read_its_dag(bed):
    with bed.client(ONLY_SPEEDS) as client:
        listed = client.get(f"{PAGES}api/streams").json()
        assert [row["name"] for row in listed["queries"]] == [SPEEDS]
        assert listed["problems"] == []
        assert client.get(f"{PAGES}queries/{SPEEDS}").status_code == 200
        for address in addresses(TRADES):
            if TRADES in address and not address.startswith("dags/"):  # that one leads to the page, and says nothing
                answer = client.get(PAGES + address)
                assert answer.status_code == 403, address
                assert "topk" not in answer.text


@pytest.mark.parametrize("user", [None, "viewer", "admin"])
def test_no_other_method_does_anything(bed, user):
    with bed.client(user) as client:
        for address in addresses(SPEEDS):
            answers = [
                client.request(method, PAGES + address, json={}) for method in ("POST", "PUT", "PATCH", "DELETE")
            ]
            assert {answer.status_code for answer in answers} <= {401, 403, 405}, address


def test_reading_everything_of_all_queries_writes_nothing(bed):
    """Nothing changes by GET: no file of queries or tables, no run, no DAG."""
    files, runs = contents(bed), history(bed)
    with bed.client("admin") as client:
        names = [row["name"] for row in client.get(f"{PAGES}api/streams?limit=200").json()["queries"]]
        assert {"speeds", "trades", "copies", "meetings", "districts", "poisoned", "lost", "damaged"} <= set(names)
        for name in names:
            for address in addresses(name):
                if not address.startswith(("static/", "static-")):
                    client.get(PAGES + address)
    assert contents(bed) == files
    assert history(bed) == runs


def contents(bed) -> dict[str, str]:
    """The bytes of all queries, sources and tables by path."""
    homes = [bed.warehouse.queries, bed.warehouse.tables, bed.warehouse.home / "data"]
    files = [file for home in homes for file in sorted(home.rglob("*")) if file.is_file()]
    return {str(file): _digest(file) for file in files}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def history(bed) -> list[object]:
    """All runs with their states, and which DAGs are paused."""
    api = bed.api()
    runs = api.call("GET", "dags/~/dagRuns", limit=100)["dag_runs"]
    dags = api.call("GET", "dags", limit=100)["dags"]
    return [
        sorted((run["dag_id"], run["dag_run_id"]) for run in runs),
        sorted((dag["dag_id"], dag["is_paused"]) for dag in dags),
    ]
