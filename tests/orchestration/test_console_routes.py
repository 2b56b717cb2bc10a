"""The console's routes in process: what Streams, a query's head and the actions say, and to whom."""

from __future__ import annotations

import re
import threading
from dataclasses import replace

import pytest
from airflow.api_fastapi.core_api import security
from airflow.models import DagModel
from starlette.testclient import TestClient

from kit.fakes.fake_host import QUERY as TEXT
from kit.fakes.fake_host import declare, write_status
from kit.parts.airflow_database import AirflowDatabase
from kit.runs.late_tables import SCHEMA, LateTables
from kit.suite.waiting import PATIENCE_S, until
from tailrace.console import actions_route, dry_runs, facts_cache, last_runs, pages, rights, stream_rows, streams_route
from tailrace.console.airflow_dags import KnownDag
from tailrace.console.app import app
from tailrace.console.facts_cache import FactsCache
from tailrace.console.table_facts import LastCorrection, ShownPromise, TableFacts
from tailrace.drivers.driver_host import DriverHostDown
from tailrace.drivers.launch import CRASH_LOOP
from tailrace.panels.registry import PANELS
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status, wall_ms

STREAMS, QUERY = "/api/streams", "/api/queries/readings"


class AuthManager:
    """Grants a user everything but what is in `denied`: (method, entity) or a DAG's id."""

    def __init__(self) -> None:
        self.denied: set[object] = set()

    def is_authorized_dag(self, *, method, user, access_entity=None, details=None) -> bool:
        entity = None if access_entity is None else access_entity.name
        return not self.denied & {(method, entity), None if details is None else details.id}


@pytest.fixture
def auth(monkeypatch):
    """A user who is logged in, and what the user may do."""
    auth = AuthManager()
    monkeypatch.setitem(app.dependency_overrides, security.get_user, lambda: "ada")
    monkeypatch.setattr(rights, "get_auth_manager", lambda: auth)
    return auth


@pytest.fixture
def dags(monkeypatch):
    """The DAGs that Airflow reads now, by id."""
    dags = {
        f"{kind}_readings": KnownDag(is_paused=False, is_scheduled=True, unfinished=0)
        for kind in ("stream", "correct", "calibrate", "publish", "rebuild")
    }
    monkeypatch.setattr(DagModel, "get_team_name", lambda dag_id: None)
    monkeypatch.setattr(DagModel, "get_dag_id_to_team_name_mapping", lambda ids: {})
    for route in (actions_route, streams_route):
        monkeypatch.setattr(route, "read_dags", lambda ids: {dag: dags[dag] for dag in ids if dag in dags})
    return dags


@pytest.fixture
def supervise(monkeypatch):
    """The state of the task that watches, as Airflow has it on record."""
    state = {"supervise": "deferred"}
    monkeypatch.setattr(actions_route, "task_state", lambda dag_id, run_id, task_id: state.get(task_id))
    return state


@pytest.fixture
def deploying(monkeypatch):
    """Since when queries are being deployed, as Airflow has it on record."""
    since: dict[str, int] = {}
    monkeypatch.setattr(stream_rows, "deploying_since", lambda names: since)
    return since


@pytest.fixture
def airflow(monkeypatch):
    """The database with the runs of the DAGs of `readings`; none has run yet."""
    database = AirflowDatabase.create()
    monkeypatch.setattr(last_runs, "create_session", database.session)
    for kind in ("stream", "correct", "calibrate", "publish", "rebuild"):
        database.dag(f"{kind}_readings")
    return database


@pytest.fixture
def client(place, host, dags, auth, supervise, deploying, airflow, monkeypatch):
    monkeypatch.setattr(streams_route, "FACTS", FactsCache(0.0, 0.0, 0.0))
    monkeypatch.setattr(streams_route, "WAIT_S", 60.0)
    monkeypatch.setattr(dry_runs, "create_session", airflow.session)
    return TestClient(app, raise_server_exceptions=False)


def get(client, path, **query):
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def settled(client, **query):
    """The page Streams once the tables of all queries are read."""
    until(lambda: get(client, STREAMS)["unread"] == 0)
    return get(client, STREAMS, **query)


def names(client, **query):
    return [row["name"] for row in get(client, STREAMS, **query)["queries"]]


@pytest.fixture
def tables(monkeypatch):
    """What the tables of each query say; a query that is not there is not read while the test runs."""
    facts, over = {}, threading.Event()

    def read(layout):
        if layout.home.name not in facts:
            over.wait(PATIENCE_S)
        return facts.get(layout.home.name, TableFacts())

    monkeypatch.setattr(TableFacts, "read", staticmethod(read))
    monkeypatch.setattr(streams_route, "FACTS", FactsCache())
    yield facts
    over.set()


def test_streams_lists_what_is_declared_refused_and_begun_the_worst_first(client, place, host, layout):
    declare(place / "queries", "wrong", "name: wrong\n")
    write_status(Layout.for_query(place / "warehouse", "begun"), 1_000)
    write_status(layout, wall_ms())
    host.is_now("running")
    host.known_homes = {"readings": str(layout.home)}
    inspect, absent = type(host).inspect, replace(host.driver, state="absent", pid=None)
    host.inspect = lambda name: inspect(host, name) if name.partition(".")[0] == "readings" else absent
    found = get(client, STREAMS)
    assert [(row["name"], row["state"]["word"], row["state"]["tone"]) for row in found["queries"]] == [
        ("begun", "stopped", "bad"),
        ("wrong", "refused", "bad"),
        ("readings", "running", "good"),
    ]
    assert (found["total"], found["ill"]) == (3, 2)
    assert [row["note"] for row in found["queries"]] == [None] * 3, "the state says why already"
    assert [row["file"] for row in found["queries"]] == [None, "wrong.yaml", "readings.yaml"]
    assert [row["kind"] for row in found["queries"]] == [None, None, "aggregate"]
    assert "wrong.yaml" in found["problems"][0]["where"]
    assert names(client, only_ill=True) == ["begun", "wrong"]


def test_a_broken_promise_needs_attention_on_every_page_and_those_not_looked_at_are_counted(
    client, place, host, layout, monkeypatch
):
    reading, names_read = threading.Event(), []

    def read(layout):
        names_read.append(layout.home.name)
        reading.wait(PATIENCE_S)
        state = "broken" if layout.home.name == "z" else "kept"
        return TableFacts(promise=ShownPromise(state=state, detail="9 % measured"))

    monkeypatch.setattr(TableFacts, "read", staticmethod(read))
    monkeypatch.setattr(streams_route, "FACTS", FactsCache())
    declare(place / "queries", "z")
    found = get(client, STREAMS, limit=1)
    assert (found["total"], found["ill"], found["unread"]) == (2, 0, 2)
    reading.set()
    until(lambda: get(client, STREAMS, limit=1)["unread"] == 0)
    found = get(client, STREAMS, limit=1)
    assert (found["ill"], [row["name"] for row in found["queries"]]) == (1, ["z"]), "before the well"
    assert names(client, only_ill=True) == ["z"]
    assert sorted(names_read) == ["readings", "z"], "once a minute, however often the page asks"


def test_streams_is_searched_sorted_and_paged_by_the_server(client, place, host):
    for number, answers in enumerate((5, None, 3)):
        declare(place / "queries", f"other_{number}")
        other = Layout.for_query(place / "warehouse", f"other_{number}")
        if answers is not None:
            other.stream.mkdir(parents=True)
            Status("drained", 1, 0, 1_000, 1, answers=answers).write(other)
    assert names(client, search="OTHER") == ["other_0", "other_1", "other_2"]
    assert names(client, search="other", sort="-answers") == ["other_0", "other_2", "other_1"]
    assert names(client, search="other", sort="answers") == ["other_2", "other_0", "other_1"], "unknown ones are last"
    assert names(client, sort="name", offset=1, limit=2) == ["other_1", "other_2"]
    assert get(client, STREAMS, offset=1, limit=2)["total"] == 4


def facts(promise, late=None, quarantined=None, corrected=None):
    last = None if corrected is None else LastCorrection(at=corrected, late=1)
    said = promise and ShownPromise(state=promise, detail="")
    return TableFacts(promise=said, late_hour=late, quarantined_hour=quarantined, last_correction=last)


@pytest.fixture
def four(client, place, tables):
    """Queries whose tables say different things; those of `unread` are not read, those of `readings` say nothing."""
    said = {
        "a": facts("kept", 7, 0, 1_000),
        "b": facts("broken", 0, 9, 3_000),
        "c": facts("unknown", 70, None, 2_000),
        "readings": facts(None),
    }
    for name in ("a", "b", "c"):
        declare(place / "queries", name)
    tables.update(said)
    until(lambda: get(client, STREAMS)["unread"] == 0)
    declare(place / "queries", "aa_unread")
    return said


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("promise", ["b", "c", "a", "readings"]),
        ("-promise", ["a", "c", "b", "readings"]),
        ("late_hour", ["b", "a", "c", "readings"]),
        ("-late_hour", ["c", "a", "b", "readings"]),
        ("quarantined_hour", ["a", "b", "c", "readings"]),
        ("-quarantined_hour", ["b", "a", "c", "readings"]),
        ("last_correction", ["a", "c", "b", "readings"]),
        ("-last_correction", ["b", "c", "a", "readings"]),
    ],
)
def test_streams_is_sorted_by_what_tables_say_and_unread_ones_are_last(client, four, sort, order):
    found = get(client, STREAMS, sort=sort)
    assert [row["name"] for row in found["queries"]] == [*order, "aa_unread"]
    assert [row["is_unread"] for row in found["queries"]] == [False] * 4 + [True]
    assert found["unread"] == 1
    assert names(client, sort=sort, offset=1, limit=2) == order[1:3]


def test_streams_is_filtered_by_state_kind_and_promise(client, place, four):
    declare(place / "queries", "wrong", "name: wrong\n")
    assert names(client, state="refused") == ["wrong"]
    assert names(client, state="refuse") == []
    assert names(client, kind="aggregate", promise="broken") == ["b"]
    assert names(client, kind="topk") == []
    found = get(client, STREAMS, promise="kept")
    assert ([row["name"] for row in found["queries"]], found["total"], found["ill"]) == (["a"], 1, 0)
    assert found["unread"] == 2, "that may be kept, too"
    assert get(client, STREAMS, promise="kept", state="not deployed")["unread"] == 1
    assert (found["states"], found["kinds"]) == (["not deployed", "refused"], ["aggregate"])
    assert client.get(STREAMS, params={"promise": "nonsense"}).status_code == 409


def test_a_stream_whose_tables_can_not_be_read_needs_attention(client, place, tables):
    tables["readings"] = TableFacts(
        promise=ShownPromise(state="unknown", detail="late: the table is lost"), note="lost", is_unreadable=True
    )
    found = settled(client)
    assert found["ill"] == 1
    assert names(client, promise="unknown") == ["readings"]
    assert names(client, only_ill=True) == ["readings"]


def test_files_of_the_driver_host_that_can_not_be_read_hide_no_stream(client, host, monkeypatch):
    def homes(query):
        raise PermissionError(13, "Permission denied", "/drivers/other.conf")

    monkeypatch.setattr(host, "names", lambda: ["other"])
    monkeypatch.setattr(host, "homes", homes)
    found = get(client, STREAMS)
    assert [row["name"] for row in found["queries"]] == ["readings"]
    assert "Permission denied" in found["problems"][0]["fault"]


def test_the_first_answer_waits_for_no_table_and_says_which_rows_are_unread(client, tables, monkeypatch):
    monkeypatch.delattr(FactsCache, "get")
    (row,) = get(client, STREAMS)["queries"]
    assert (row["is_unread"], row["promise"], row["late_hour"]) == (True, None, None), "it is not read to this end"


def test_facts_of_last_night_are_no_facts_of_now(client, tables, monkeypatch):
    tables["readings"] = facts("kept", 5)
    (row,) = settled(client)["queries"]
    assert row["late_hour"] == 5
    monkeypatch.setattr(facts_cache, "OLD_S", 0.0)
    (row,) = get(client, STREAMS)["queries"]
    assert (row["is_unread"], row["promise"], row["late_hour"]) == (True, None, None)


@pytest.fixture
def alone(host, place):
    """A driver on the host whose query has no file, and no stream in the warehouse; and another warehouse's."""
    host.driver = replace(host.driver, name="alone.1", state="running", pid=5)
    host.known_homes = {"alone.1": str(place / "warehouse" / "alone"), "other.1": "/elsewhere/other"}
    host.names = lambda: list(host.known_homes)
    inspect, absent = type(host).inspect, replace(host.driver, state="absent", pid=None)
    host.inspect = lambda name: inspect(host, name) if name == "alone.1" else absent
    return host


def test_a_driver_without_a_file_and_a_stream_is_seen(client, alone):
    found = get(client, STREAMS)
    assert [row["name"] for row in found["queries"]] == ["alone", "readings"], "and no other warehouse's"
    row = found["queries"][0]
    assert (row["state"]["word"], row["state"]["tone"], row["has_page"]) == ("broken", "bad", False)
    assert "the warehouse has no stream of it" in row["state"]["why"]
    assert "tailrace drain alone, or stop, ends it" in row["note"]
    assert found["queries"][1]["has_page"]
    alone.is_now("ended", 0)
    row = get(client, STREAMS, search="alone")["queries"][0]
    assert (row["state"]["word"], row["state"]["tone"], row["note"]) == ("stopped", "idle", None)


def test_a_driver_alone_is_for_those_who_may_list_dags_and_read_its_own(client, auth, alone):
    auth.denied = {"stream_alone"}
    assert names(client) == ["readings"]
    auth.denied = {None}  # the right to DAGs as a whole
    assert names(client) == ["readings"]


def test_a_driver_without_a_file_says_what_ends_it(client, place, host, alone):
    write_status(Layout.for_query(place / "warehouse", "alone"), wall_ms())
    row = get(client, STREAMS, search="alone")["queries"][0]
    assert (row["state"]["word"], row["file"], row["has_page"]) == ("running", None, True)
    assert "tailrace drain alone" in row["note"]


def test_a_host_that_is_down_is_not_asked_for_each_query(client, host, monkeypatch):
    asked = []

    def fails(*_):
        asked.append(1)
        raise DriverHostDown("no answer")

    host.names = host.inspect = fails
    found = get(client, STREAMS)
    assert found["problems"][0]["fault"] == "no answer"
    assert len(asked) == 1


def test_a_driver_in_a_crash_loop_shows_as_such_with_what_it_reported_last(client, host, layout):
    layout.stream.mkdir(parents=True)
    Status("streaming", 1, 0, wall_ms(), 3, problem="source: column value is missing").write(layout)
    host.is_now("failed", CRASH_LOOP, "5 restarts in 10 min")
    (row,) = get(client, STREAMS)["queries"]
    assert (row["state"]["word"], row["state"]["tone"]) == ("given up", "bad")
    assert "crash loop, 5 restarts in 10 min; source: column value is missing" in row["state"]["why"]


def test_a_drained_stream_keeps_its_numbers_and_needs_no_attention(client, layout):
    layout.stream.mkdir(parents=True)
    now = wall_ms()
    Status("drained", 1, 0, now - 900_000, 3, rows=9, committed=now - 900_000, k_ms=50, coverage=0.5, frontier=1).write(
        layout
    )
    found = get(client, STREAMS)
    (row,) = found["queries"]
    assert (row["state"]["word"], row["state"]["tone"], found["ill"]) == ("drained", "idle", 0)
    assert (row["k_ms"], row["coverage"], row["rows"]) == (50, 0.5, 9)
    assert row["behind_ms"] >= 900_000, "what came since is unread"


@pytest.mark.parametrize(
    ("rows_left", "days", "ends"), [(0, 31, True), (0, 29, False), (5, 31, False), (None, 31, False)]
)
def test_a_replay_that_is_read_says_at_which_time_its_data_end(client, layout, rows_left, days, ends):
    layout.stream.mkdir(parents=True)
    now = wall_ms()
    committed = now - days * 86_400_000
    Status("streaming", 1, 0, now, 3, rows=9, committed=committed, rows_left=rows_left).write(layout)
    (row,) = get(client, STREAMS)["queries"]
    assert row["data_ends"] == (committed if ends else None)


def test_what_came_since_a_stream_ended_is_unknown_and_not_none(client, layout):
    layout.stream.mkdir(parents=True)
    now = wall_ms()
    committed = now - 31 * 86_400_000
    for state, unread in (("waiting", 0), ("drained", None), ("ended", None), ("failed", None)):
        Status(state, 1, 0, now, 3, rows=9, committed=committed, rows_left=0).write(layout)
        (row,) = get(client, STREAMS)["queries"]
        assert (row["rows_left"], row["data_ends"]) == (unread, committed), state


def test_arrival_times_ahead_of_this_clock_are_not_behind(client, layout):
    layout.stream.mkdir(parents=True)
    now = wall_ms()
    Status("streaming", 1, 0, now + 600_000, 3, rows=9, committed=now + 600_000).write(layout)
    (row,) = get(client, STREAMS)["queries"]
    assert row["behind_ms"] == 0
    assert row["state"]["tone"] == "warn"
    assert "the clock of its driver is" in row["state"]["why"]


def test_a_query_that_never_ran_has_no_numbers(client):
    (row,) = settled(client)["queries"]
    assert (row["state"]["word"], row["promise"]["state"], row["note"]) == ("not deployed", "unknown", None)
    numbers = ("behind_ms", "rows_left", "committed", "frontier", "k_ms", "coverage", "rows", "answers", "late_hour")
    assert {row[name] for name in (*numbers, "quarantined_hour", "last_correction", "starts")} == {None}


def test_a_query_that_the_user_may_not_read_is_not_there(client, place, auth):
    declare(place / "queries", "secret")
    auth.denied = {"stream_secret"}
    assert names(client) == ["readings"]
    for path in ("/queries/secret", *(f"/api/queries/secret/{part}" for part in ("summary", "actions", "uncorrected"))):
        assert client.get(path).status_code == 403


def test_raw_records_need_the_right_to_read_task_logs(client, auth):
    auth.denied = {("GET", "TASK_LOGS")}
    refused = {panel.name for panel in PANELS if client.get(f"{QUERY}/{panel.name}").status_code == 403}
    assert refused == {"answer", "quarantine"}


def test_what_is_wrong_with_files_is_for_those_who_may_list_dags(client, place, auth):
    declare(place / "queries", "wrong", "name: wrong\n")
    auth.is_authorized_dag = lambda *, method, user, access_entity=None, details=None: details is not None
    assert get(client, STREAMS)["problems"] == []


def test_a_driver_host_that_is_down_is_one_problem_beside_what_streams_report(client, place, host, layout):
    """A stream that reports is what it reports, one that never ran stays so, and no other is red for it."""
    for name, ago_ms in (("silent", 60_000), ("drained", 600_000), ("readings", 0)):
        state = "drained" if name == "drained" else "streaming"
        write_status(Layout.for_query(place / "warehouse", name), wall_ms() - ago_ms, state)
    declare(place / "queries", "never")
    host.down = True
    found = get(client, STREAMS)
    assert {row["name"]: (row["state"]["word"], row["state"]["tone"]) for row in found["queries"]} == {
        "readings": ("running", "good"),
        "silent": ("unknown", "idle"),
        "drained": ("drained", "idle"),
        "never": ("not deployed", "idle"),
    }
    assert (found["is_host_down"], found["unknown"], found["ill"]) == (True, 1, 0)
    (problem,) = found["problems"]
    assert (problem["where"], problem["remedy"]) == ("the driver host", "Start it, or mend its connection")
    assert [problem["where"] for problem in get(client, f"{QUERY}/summary")["problems"]] == ["the driver host"]


def test_a_stream_is_deployed_from_the_request_to_its_drivers_start_and_says_since_when(client, layout, deploying):
    deploying["readings"] = since_ms = wall_ms() - 4_000
    state = get(client, STREAMS)["queries"][0]["state"]
    assert (state["word"], state["tone"], state["since"]) == ("deploying", "idle", since_ms)
    layout.stream.mkdir(parents=True)  # as the claim on the stream makes it
    assert get(client, STREAMS)["queries"][0]["state"]["word"] == "deploying"
    deploying.clear()
    assert get(client, STREAMS)["queries"][0]["state"]["word"] == "not deployed", "no driver has ever run"


def test_a_head_names_the_run_that_watches_as_soon_as_it_does(client, layout, supervise):
    layout.stream.mkdir(parents=True)
    layout.watched_by.write_text(f"manual__1\n{layout.home}")
    supervise["supervise"] = None
    assert get(client, f"{QUERY}/summary")["watch"] is None
    supervise["supervise"] = "deferred"
    assert get(client, f"{QUERY}/summary")["watch"] == "manual__1"


def test_a_driver_host_that_does_not_answer_is_asked_once(client, place, host, layout, monkeypatch):
    monkeypatch.setattr(stream_rows, "ASKED_AT_ONCE", 1)
    asked = []

    def inspect(name):
        asked.append(name)
        raise DriverHostDown("no answer from the host")

    for number in range(5):
        write_status(Layout.for_query(place / "warehouse", f"other_{number}"), 1_000)
    host.inspect = inspect
    found = get(client, STREAMS)
    assert {row["state"]["word"] for row in found["queries"]} == {"unknown", "not deployed"}
    assert len(asked) == 1
    assert found["problems"][0]["fault"] == "no answer from the host"


def test_one_query_that_can_not_be_read_does_not_hide_the_others(client, place, layout):
    layout.stream.mkdir(parents=True)
    for text in ("null", "[]", "{}", "\xff"):
        layout.status.write_bytes(text.encode("latin-1"))
        (row,) = get(client, STREAMS)["queries"]
        assert (row["state"]["word"], row["state"]["tone"]) == ("unknown", "bad"), text
    layout.status.unlink()
    layout.status.mkdir()
    declare(place / "queries", "other")
    states = {row["name"]: row["state"]["word"] for row in get(client, STREAMS)["queries"]}
    assert states == {"readings": "unknown", "other": "not deployed"}


def test_a_link_that_leads_nowhere_is_a_problem_of_its_own(client, place):
    (place / "queries" / ".#lock.yaml").symlink_to("nobody@nowhere.1")
    found = get(client, STREAMS)
    assert [row["name"] for row in found["queries"]] == ["readings"]
    assert "lock.yaml" in found["problems"][0]["where"]


def test_a_name_that_two_files_declare_is_refused_and_seen(client, place):
    (place / "queries" / "copy.yaml").write_text((place / "queries" / "readings.yaml").read_text())
    (row,) = get(client, STREAMS)["queries"]
    assert (row["name"], row["state"]["word"]) == ("readings", "refused")
    assert "copy.yaml and readings.yaml declare it" in row["state"]["why"]
    assert get(client, f"{QUERY}/summary")["state"]["word"] == "refused"


def test_a_file_that_can_be_read_again_is_read_again(client, place):
    file = place / "queries" / "readings.yaml"
    text = file.read_text()
    file.write_text("name: wrong\n")
    assert get(client, STREAMS)["queries"][0]["state"]["word"] == "refused"
    file.write_text(text)
    assert get(client, STREAMS)["queries"][0]["state"]["word"] == "not deployed"


@pytest.mark.parametrize("path", [f"{STREAMS}?limit=x", f"{STREAMS}?offset=-1"])
def test_an_address_that_can_not_be_read_is_answered_as_others_are(client, path):
    answer = client.get(path)
    assert answer.status_code == 409
    assert answer.json()["problems"][0]["where"].startswith("query.")


def test_a_missing_connection_to_the_host_is_a_problem_of_the_page(client, layout, monkeypatch):
    from tailrace.ground.errors import refuse
    from tailrace.orchestration import settings

    def refused():
        raise refuse("connection tailrace_driver_host", "Airflow knows none", "one")

    monkeypatch.setattr(settings, "driver_host", refused)
    assert get(client, STREAMS)["problems"][0]["where"] == "connection tailrace_driver_host"


def test_a_row_has_what_the_tables_say_of_the_last_hour(client, layout):
    now = wall_ms()
    tables = LateTables(layout)
    tables.read_at((now - 7_200_000, 5, 5), (now - 1_000, 1, 2))
    write_status(layout, now)
    (row,) = settled(client)["queries"]
    assert (row["late_hour"], row["quarantined_hour"]) == (1, 2)
    assert row["promise"]["state"] == "unknown"


def test_what_promises_nothing_has_no_promise_also_before_anything_is_measured(client, place):
    promised = TEXT.replace("{{tick: 1 min}}", "{{policy: quantile, error: 0.05, risk: 0.05}}")
    declare(place / "queries", "promised", promised)
    words = {row["name"]: row["promise"]["word"] for row in settled(client)["queries"]}
    assert words == {"readings": "none", "promised": "unknown"}


@pytest.mark.parametrize("runs_a_promise", [True, False])
def test_head_and_part_say_of_the_promise_what_runs_whatever_the_file_says(client, place, layout, runs_a_promise):
    """A deployment renews both, though it commits to no table."""
    file = place / "queries" / "readings.yaml"
    plain = file.read_text()
    promised = plain.replace("{tick: 1 min}", "{tick: 1 min, policy: quantile, error: 0.05, risk: 0.05}")
    on_disk, deployed = (plain, promised) if runs_a_promise else (promised, plain)
    file.write_text(on_disk)
    layout.stream.mkdir(parents=True)
    words = {"on disk": "none" if runs_a_promise else "unknown", "deployed": "unknown" if runs_a_promise else "none"}

    def said() -> set[str]:
        (row,) = settled(client)["queries"]
        return {row["promise"]["word"], get(client, f"{QUERY}/promise")["word"]}

    assert said() == {words["on disk"]}, "nothing runs"
    DeployedQuery(file, deployed, {}).write(layout)
    assert get(client, f"{QUERY}/promise")["word"] == words["deployed"]
    until(lambda: get(client, f"{QUERY}/summary")["promise"]["word"] == words["deployed"])
    assert said() == {words["deployed"]}
    assert "the file on disk promises" in get(client, f"{QUERY}/promise")["note"]


def test_a_damaged_table_is_said_in_the_row(client, layout):
    tables = LateTables(layout)
    tables.commit(wall_ms())
    tables.late((wall_ms() - 1_000, 5))
    (file,) = layout.table("late").glob("*.parquet")
    file.unlink()
    write_status(layout, wall_ms())
    found = settled(client)
    (row,) = found["queries"]
    assert [(each["where"], each["fields"]) for each in row["damaged"]] == [(str(file), ["uncorrected"])]
    assert found["ill"] == 1


def test_damage_that_a_part_meets_is_in_the_next_head(client, layout, monkeypatch):
    monkeypatch.setattr(streams_route, "FACTS", FactsCache(PATIENCE_S, 0.0))
    tables = LateTables(layout)
    tables.late((wall_ms() - 1_000, 5))
    tables.commit(wall_ms())
    write_status(layout, wall_ms())
    assert get(client, f"{QUERY}/summary")["damaged"] == []
    tables.run(0, 5)
    tables.tables.create({"quarantine": SCHEMA["quarantine"]})
    tables._add("quarantine", [{"reason": "it is no JSON"}])
    (file,) = layout.table("quarantine").glob("*.parquet")
    file.write_bytes(b"")
    assert get(client, f"{QUERY}/summary")["damaged"] == [], "its files were looked at within a minute"
    refused = client.get(f"{QUERY}/quarantine")
    assert (refused.status_code, refused.json()["problems"][0]["where"]) == (409, str(file))
    head = get(client, f"{QUERY}/summary")
    assert [each["where"] for each in head["damaged"]] == [str(file)]
    assert head["last_correction"] is not None, "which needs another table"


def test_totals_that_a_starting_driver_has_not_read_are_unknown(client, layout):
    totals = {"rows": 5, "answers": 2, "quarantined": 1}
    none = dict.fromkeys(("rows", "answers", "filtered", "quarantined"))
    layout.stream.mkdir(parents=True)
    for state, batches, reported, said in (
        ("starting", 0, {}, none),
        ("failed", 0, {}, none),
        ("starting", 3, totals, totals | {"filtered": 0}),
        ("streaming", 0, {}, dict.fromkeys(none, 0)),
        ("drained", 0, {}, dict.fromkeys(none, 0)),
    ):
        Status(state, 1, 0, wall_ms(), batches, **reported).write(layout)
        head = get(client, f"{QUERY}/summary")
        assert {name: head[name] for name in none} == said, state


@pytest.mark.parametrize(("state", "is_over"), [("streaming", False), ("starting", False), ("drained", True)])
def test_the_last_report_of_a_driver_that_is_not_over_has_an_age(client, layout, state, is_over):
    write_status(layout, wall_ms() - 40_000, state)
    age_ms = get(client, f"{QUERY}/summary")["report_age_ms"]
    assert age_ms is None if is_over else 40_000 <= age_ms < 40_000 + 1_000 * PATIENCE_S


@pytest.mark.parametrize("sort", ["nonsense", "__class__", "-"])
def test_an_order_that_there_is_not_is_refused(client, sort):
    answer = client.get(STREAMS, params={"sort": sort})
    assert answer.status_code == 409
    assert answer.json()["problems"][0]["remedy"] == "Right would be: a column, as state, name or late_hour"


def test_the_head_of_a_page_names_its_dags_and_parts(client):
    found = get(client, f"{QUERY}/summary")
    assert found["dags"] == {
        kind: f"{kind}_readings" for kind in ("stream", "correct", "calibrate", "publish", "rebuild")
    }
    assert found["name"] == "readings"
    assert found["has_late_tuples"]


def test_a_failed_deployment_is_red_on_streams_and_in_the_head_with_its_reason(client, airflow):
    airflow.run("stream_readings", "manual__1", "failed", 5_000, check="readings: no column 'valeu'")
    airflow.run("correct_readings", "scheduled__1", "success", 4_000)
    found = get(client, STREAMS)
    head = get(client, f"{QUERY}/summary")
    for row in (found["queries"][0], head):
        assert (row["state"]["word"], row["state"]["tone"]) == ("deploy failed", "bad")
        assert row["state"]["why"].endswith("in its task check: readings: no column 'valeu'")
    assert (found["ill"], found["states"]) == (1, ["deploy failed"])
    assert [run["kind"] for run in found["queries"][0]["runs"]] == ["stream"]
    assert [(run["kind"], run["state"]) for run in head["runs"]] == [("stream", "failed"), ("correct", "success")]
    airflow.run("stream_readings", "manual__2", "success", 6_000)
    assert get(client, STREAMS)["ill"] == 0
    assert get(client, f"{QUERY}/summary")["state"]["word"] == "not deployed"


def test_a_failed_correction_needs_attention_and_hides_its_reason_from_those_who_read_no_logs(client, airflow, auth):
    airflow.run("correct_readings", "scheduled__1", "failed", 5_000, correct="SECRET")
    auth.denied = {("GET", "TASK_LOGS")}
    assert names(client, only_ill=True) == ["readings"]
    for answer in (client.get(STREAMS), client.get(f"{QUERY}/summary")):
        assert "its reason is in the task's log" in answer.text
        assert "SECRET" not in answer.text


def actions(client):
    return {action["name"]: action for action in get(client, f"{QUERY}/actions")["actions"]}


def test_actions_are_requests_to_airflows_own_api(client):
    found = actions(client)
    assert list(found) == ["deploy", "drain", "correct", "calibrate", "rebuild"]
    assert found["deploy"]["requests"] == [
        {"method": "POST", "path": "dags/stream_readings/dagRuns", "body": {"logical_date": None, "conf": {}}}
    ]
    assert found["deploy"]["run"] == "dags/stream_readings/runs/{dag_run_id}"
    assert [field["name"] for field in found["correct"]["fields"]] == ["from", "to"]
    assert not found["drain"]["is_allowed"], "nothing watches the stream"


def pause(dags, dag, **values):
    dags[dag] = replace(dags[dag], **{"is_paused": True} | values)


def test_a_paused_dag_is_unpaused_first_and_that_is_said(client, dags):
    pause(dags, "correct_readings")
    correct = actions(client)["correct"]
    assert [request["method"] for request in correct["requests"]] == ["PATCH", "POST"]
    assert correct["requests"][0]["body"] == {"is_paused": False}
    assert "this unpauses it, so its schedule runs, too." in correct["says"]


def test_a_paused_dag_without_a_schedule_is_not_said_to_have_one(client, dags):
    pause(dags, "rebuild_readings", is_scheduled=False)
    says = actions(client)["rebuild"]["says"]
    assert "is paused: this unpauses it." in says
    assert "schedule" not in says


def test_a_rebuild_of_a_warehouse_in_an_object_store_is_not_offered(client, monkeypatch):
    monkeypatch.setattr(Layout, "is_remote", True)
    rebuild = actions(client)["rebuild"]
    assert not rebuild["is_allowed"]
    assert "object store" in rebuild["why_not"]


def test_the_run_that_watches_is_marked_to_drain(client, layout):
    layout.stream.mkdir(parents=True)
    layout.watched_by.write_text(f"manual__1\n{layout.home}")
    drain = actions(client)["drain"]
    assert drain["is_allowed"]
    assert drain["requests"] == [
        {"method": "PATCH", "path": "dags/stream_readings/dagRuns/manual__1", "body": {"state": "success"}}
    ]


@pytest.mark.parametrize("state", ["success", "failed", "skipped", None])
def test_a_watch_that_is_over_is_none_to_drain(client, layout, supervise, state):
    layout.stream.mkdir(parents=True)
    layout.watched_by.write_text(f"manual__1\n{layout.home}")
    supervise["supervise"] = state
    drain = actions(client)["drain"]
    assert not drain["is_allowed"]
    assert "no run of Airflow's watches" in drain["why_not"]


def test_a_rebuild_is_a_dry_run_unless_the_form_says_otherwise_and_nothing_else_beside_a_watch(client, layout):
    rebuild = actions(client)["rebuild"]
    assert [(field["name"], field["value"]) for field in rebuild["fields"]] == [("dry_run", True)]
    layout.stream.mkdir(parents=True)
    layout.watched_by.write_text(f"manual__1\n{layout.home}")
    rebuild = actions(client)["rebuild"]
    assert rebuild["is_allowed"]
    assert rebuild["fields"] == []
    assert rebuild["requests"][-1]["body"]["conf"] == {"dry_run": True}
    assert "drain it first" in rebuild["says"]


def test_a_run_id_is_quoted_in_addresses(client, layout):
    layout.stream.mkdir(parents=True)
    layout.watched_by.write_text(f"manual__2026-01-01T00:00:00+00:00/x\n{layout.home}")
    drain = actions(client)["drain"]
    assert drain["requests"][0]["path"].endswith("/manual__2026-01-01T00%3A00%3A00%2B00%3A00%2Fx")


@pytest.mark.parametrize(
    ("denied", "refused"),
    [
        ({("POST", "RUN")}, {"deploy", "correct", "calibrate", "rebuild"}),
        ({("PUT", "RUN")}, {"drain"}),
        ({("PUT", None)}, set()),
    ],
)
def test_an_action_that_the_user_may_not_take_says_which_right_is_missing(client, auth, layout, denied, refused):
    layout.stream.mkdir(parents=True)
    layout.watched_by.write_text(f"manual__1\n{layout.home}")
    auth.denied = denied
    found = actions(client)
    assert {name for name, action in found.items() if not action["is_allowed"]} == refused
    assert all("right to" in found[name]["why_not"] for name in refused)


def test_a_paused_dag_needs_the_right_to_unpause_it(client, auth, dags):
    pause(dags, "correct_readings")
    auth.denied = {("PUT", None)}
    assert "right to edit it" in actions(client)["correct"]["why_not"]


def test_a_dag_that_airflow_has_not_read_can_not_run(client, dags):
    del dags["correct_readings"], dags["stream_readings"]
    found = actions(client)
    assert "has no DAG correct_readings" in found["correct"]["why_not"]
    assert "has no DAG stream_readings" in found["deploy"]["why_not"]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda file: file.unlink(), "its query file is gone: put it back"),
        (lambda file: file.write_text("name: readings\n"), "its query file is refused: "),
        (lambda file: (file.parent / "copy.yaml").write_text(file.read_text()), "copy.yaml and readings.yaml declare"),
    ],
)
def test_without_a_valid_file_only_what_needs_none_can_be_done(client, place, layout, spoil, why):
    file = place / "queries" / "readings.yaml"
    layout.stream.mkdir(parents=True)
    layout.watched_by.write_text(f"manual__1\n{layout.home}")
    DeployedQuery(file, file.read_text(), {}).write(layout)
    spoil(file)
    found = actions(client)
    assert set(found) == {"deploy", "drain", "correct", "calibrate", "rebuild"}
    assert [name for name, action in found.items() if action["is_allowed"]] == ["drain"]
    assert all(why in action["why_not"] for name, action in found.items() if name != "drain")


def test_the_head_leads_to_no_dag_that_airflow_does_not_read(client, place, dags):
    (place / "queries" / "readings.yaml").write_text("name: readings\n")
    del dags["stream_readings"], dags["correct_readings"]
    found = get(client, f"{QUERY}/summary")["dags"]
    assert {kind for kind, dag in found.items() if dag is None} == {"stream", "correct"}


def late_tuples(layout, number):
    """Tables with late tuples that no correction covers."""
    tables = LateTables(layout)
    tables.commit(wall_ms())
    tables.late(*((wall_ms() - 1_000, 5) for _ in range(number)))
    write_status(layout, wall_ms())


def test_a_paused_correction_is_a_warning_while_late_tuples_wait_for_one(client, dags, host, layout):
    host.is_now("running")
    pause(dags, "correct_readings")
    write_status(layout, wall_ms())
    found = settled(client)
    assert (found["ill"], found["queries"][0]["paused"]) == (0, []), "nothing came late"
    late_tuples(layout, 2)
    until(lambda: get(client, STREAMS)["ill"])
    (row,) = get(client, STREAMS, only_ill=True)["queries"]
    (paused,) = row["paused"]
    assert paused["dag"] == "correct_readings"
    assert "is paused: 2 late tuples are in no correction, and none comes by schedule" in paused["says"]
    assert get(client, f"{QUERY}/summary")["paused"] == row["paused"]
    pause(dags, "correct_readings", is_paused=False)
    found = get(client, f"{QUERY}/summary")
    assert (found["paused"], found["uncorrected"]) == ([], 2), "a schedule takes them"
    pause(dags, "correct_readings")
    LateTables(layout).run(None, wall_ms())
    until(lambda: not get(client, STREAMS)["ill"])


def test_what_a_correction_would_take_is_said_of_all_and_of_a_range_of_arrival(client, layout):
    empty = {"late": 0, "from": None, "to": None}
    assert get(client, f"{QUERY}/uncorrected") == empty
    tables = LateTables(layout)
    tables.commit(9_000)
    assert get(client, f"{QUERY}/uncorrected") == empty
    tables.late((1_000, 100), (3_000, 300), (4_000, 200))
    tables.late((5_000, 700), (6_000, 600))
    assert get(client, f"{QUERY}/uncorrected") == {"late": 5, "from": 100, "to": 701}
    assert get(client, f"{QUERY}/uncorrected", **{"from": 1_000, "to": 4_000}) == {"late": 2, "from": 200, "to": 301}
    tables.run(3_000, 5_000)
    assert get(client, f"{QUERY}/uncorrected", **{"from": 1_000, "to": 6_000}) == {"late": 2, "from": 300, "to": 601}
    assert client.get(f"{QUERY}/uncorrected", params={"from": 2, "to": 1}).status_code == 409


def test_a_correction_without_a_range_asks_before_it_takes_everything(client):
    assert "every closed window of readings is evaluated again" in actions(client)["correct"]["asks"]
    assert [name for name, action in actions(client).items() if action["asks"] is not None] == ["correct"]


@pytest.mark.parametrize("kind", ["stream", "correct"])
def test_a_paused_dag_whose_run_never_begins_is_a_warning(client, dags, kind):
    dag = f"{kind}_readings"
    pause(dags, dag, unfinished=1)
    found = settled(client)
    (row,) = found["queries"]
    assert [each["says"] for each in row["paused"]] == [
        f"{dag} is paused: 1 run neither begins nor ends, until it is unpaused."
    ]
    assert found["ill"] == 1
    pause(dags, dag, unfinished=0)
    assert settled(client)["ill"] == 0


def test_a_paused_dag_can_be_unpaused_by_who_may_edit_it(client, dags, auth):
    assert not [name for name in actions(client) if name.startswith("unpause")]
    for kind in ("stream", "correct", "calibrate"):
        pause(dags, f"{kind}_readings")
    found = {name: action for name, action in actions(client).items() if name.startswith("unpause")}
    assert set(found) == {"unpause_stream", "unpause_correct"}
    action = found["unpause_correct"]
    assert action["requests"] == [{"method": "PATCH", "path": "dags/correct_readings", "body": {"is_paused": False}}]
    assert (action["is_allowed"], action["run"]) == (True, "dags/correct_readings")
    assert "stay gaps of the ledger" in action["says"]
    auth.denied = {("PUT", None)}
    assert "right to edit correct_readings" in actions(client)["unpause_correct"]["why_not"]


@pytest.mark.parametrize("path", ["/queries/x", "/api/queries/x/summary", "/api/queries/..%2f/summary"])
def test_an_unknown_query_is_not_found(client, path):
    answer = client.get(path)
    assert answer.status_code in (200, 404)  # the shell of a page is the same for every query
    if path.startswith("/api"):
        assert answer.status_code == 404


def test_a_dag_leads_to_the_page_of_its_query(client):
    for kind in ("stream", "correct", "calibrate", "publish"):
        answer = client.get(f"/dags/{kind}_readings", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/queries/readings")
    for other in ("example", "stream_", "stream_..", "other_readings"):
        assert client.get(f"/dags/{other}", follow_redirects=False).status_code == 404


@pytest.mark.parametrize("path", ["a%00.js", "a" * 300 + ".js", "../app.py", "..%2fapp.py", "", "uplot", "nothing.js"])
def test_static_files_are_those_of_the_pages_alone(client, path):
    assert client.get(f"/static/{path}").status_code == 404


def test_a_file_beside_the_static_ones_is_none_of_them(client, place, monkeypatch):
    (place / "static").mkdir()
    for file in ("static/ours.css", "secret.css"):
        (place / file).write_text("text")
    monkeypatch.setattr(pages, "STATIC", place / "static")
    assert client.get("/static/ours.css").status_code == 200
    assert client.get("/static/..%2fsecret.css").status_code == 404


def test_a_file_that_the_browser_has_is_not_sent_again_until_it_changes(client, place, monkeypatch):
    file = place / "static" / "ours.css"
    file.parent.mkdir()
    file.write_text("one")
    monkeypatch.setattr(pages, "STATIC", file.parent)
    first = client.get("/static/ours.css")
    assert (first.text, first.headers["cache-control"]) == ("one", "no-cache")
    had = {"If-None-Match": first.headers["etag"]}
    again = client.get("/static/ours.css", headers=had)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    file.write_text("two")
    changed = client.get("/static/ours.css", headers=had)
    assert (changed.status_code, changed.text) == (200, "two")


def test_a_page_names_its_files_by_their_version_so_that_browsers_keep_them(client, place, monkeypatch):
    folder = place / "static"
    folder.mkdir()
    (folder / "streams.html").write_text('<link href="static/ours.css"><script src="static/ours.js">')
    (folder / "query.html").write_text('<link href="../static/ours.css">')
    (folder / "ours.css").write_text("one")
    (folder / ".#ours.css").symlink_to("an editor's lock")
    monkeypatch.setattr(pages, "STATIC", folder)

    def version(page):
        (found,) = set(re.findall(r'"((?:\.\./)?static-\w+)/', client.get(page).text))
        return found.removeprefix("../")

    first = version("/")
    assert version("/queries/readings") == first
    kept = client.get(f"/{first}/ours.css")
    assert (kept.text, "immutable" in kept.headers["cache-control"]) == ("one", True)
    before = client.get("/").headers["etag"]
    (folder / "ours.css").write_text("two, and longer")
    assert version("/") != first
    assert client.get("/").headers["etag"] != before, "or the browser would keep the page with the old addresses"
    of_before = client.get(f"/{first}/ours.css")
    assert (of_before.text, of_before.headers["cache-control"]) == ("two, and longer", "no-cache")
    assert client.get(f"/{version('/')}/..%2fsecret.css").status_code == 404


@pytest.mark.parametrize("path", ["/static/uplot/uPlot.esm.js", STREAMS, "/nothing", f"{QUERY}/summary"])
def test_every_answer_lets_the_browser_run_our_scripts_alone(client, path):
    headers = client.get(path).headers
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_who_is_not_logged_in_is_led_to_the_log_in_by_pages_alone(place, host, dags):
    client = TestClient(app, root_path="/prefix/tailrace")
    page = client.get("/queries/readings?part=late", headers={"accept": "text/html"}, follow_redirects=False)
    assert page.status_code == 303
    assert page.headers["location"].startswith("/prefix/api/v2/auth/login?next=")
    assert "part%3Dlate" in page.headers["location"]
    for path in ("/", STREAMS, "/static/icon.svg", f"{QUERY}/summary", f"{QUERY}/actions", "/dags/stream_readings"):
        assert client.get(path, headers={"accept": "application/json"}).status_code == 401


def test_a_warehouse_that_is_away_is_said_and_may_pass(client, monkeypatch):
    def away(*_):
        raise DriverHostDown("no answer")

    monkeypatch.setattr(streams_route.QueryCatalogue, "read", away)
    answer = client.get(STREAMS)
    assert answer.status_code == 503
    assert answer.json() == {
        "problems": [{"where": "the driver host", "fault": "no answer", "remedy": "Wait: the page asks again"}],
        "is_temporary": True,
    }
