"""The tasks of correct_<query>: the interval of a run, its wait for the stream, the spark-submit and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from types import SimpleNamespace

import pendulum
import psutil
import pytest
from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException, TaskDeferred
from airflow.sdk.execution_time.context import TriggeringAssetEventsAccessor
from airflow.timetables.base import TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable

from kit.fakes.fake_host import LOCAL_CONF, QUERY, declare
from kit.runs.late_tables import LateTables
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers.fence import dead
from tailrace.engine.progress import Progress
from tailrace.orchestration import correction_operators
from tailrace.orchestration.correction_dags import EPOCH, FORM
from tailrace.orchestration.correction_operators import CorrectOperator, WaitOperator
from tailrace.query.query import Correction
from tailrace.storage import progress
from tailrace.storage.status import Status


def context(run_type="scheduled", start="2013-01-01T00:00:00", end="2013-01-02T00:00:00", conf=None, **params):
    ends = {"data_interval_start": utc(start), "data_interval_end": utc(end)}
    interval = ends if run_type in ("scheduled", "backfill") else {}
    form = {"from": None, "to": None, "driver_memory": "1g"} | {
        name.rstrip("_"): value for name, value in params.items()
    }
    dag = SimpleNamespace(params=dict(FORM))
    return {"dag": dag, "dag_run": SimpleNamespace(run_type=run_type, conf=conf), "params": form, **interval}


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ms(text):
    return int(utc(text).timestamp() * 1000)


@pytest.fixture
def wait_task(place):
    return WaitOperator(task_id="wait", query="readings", file=str(place / "queries" / "readings.yaml"))


@pytest.fixture
def set_committed(monkeypatch):
    def set_until(until):
        monkeypatch.setattr(progress, "read_progress", lambda layout: Progress(until, until, False))

    return set_until


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_a_run_waits_for_the_end_of_its_interval(wait_task, set_committed, run_type):
    set_committed(ms("2013-01-02T00:00:00") - 1)
    with pytest.raises(TaskDeferred) as deferral:
        wait_task.execute(context(run_type))
    assert deferral.value.trigger.until_ms == ms("2013-01-02T00:00:00")
    assert deferral.value.method_name == "resume"


def test_a_run_does_not_wait_for_a_committed_interval(wait_task, set_committed):
    set_committed(ms("2013-01-02T00:00:00"))
    assert wait_task.execute(context()) is None


def test_a_manual_run_does_not_wait(wait_task):
    assert wait_task.execute(context("manual")) is None


@pytest.mark.parametrize(("name", "value"), [("from_", "yesterday"), ("to", "2013-13-01")])
def test_a_range_with_an_invalid_time_is_refused(wait_task, name, value):
    with pytest.raises(AirflowFailException, match=f"{value!r} is no time\n.*2013-01-02T00:00:00Z"):
        wait_task.execute(context("manual", **{name: value}))


@pytest.mark.parametrize("to", ["2013-01-01", "2013-01-02", "2013-01-02T01:00:00+02:00"])
def test_a_range_that_ends_before_it_begins_is_refused_before_anything_starts(wait_task, correct_task, called, to):
    run_context = context("manual", from_="2013-01-02", to=to)
    for task in (wait_task, correct_task):
        with pytest.raises(AirflowFailException, match=r"from, to: .*\n.*right would be: "):
            task.execute(run_context)
    with pytest.raises(FileNotFoundError):
        called()


@pytest.mark.parametrize("run_type", ["manual", "backfill"])
@pytest.mark.parametrize(("key", "right"), [("From", "from"), ("TO", "to"), ("until", "from, to or driver_memory")])
def test_a_conf_with_an_unknown_key_is_refused_before_anything_starts(
    wait_task, correct_task, called, run_type, key, right
):
    """Airflow passes such a key beside the form's fields; if it were ignored, everything would be corrected."""
    run_context = context(run_type, conf={key: "2013-01-02", "driver_memory": "1g"})
    for task in (wait_task, correct_task):
        with pytest.raises(AirflowFailException, match=f"conf: {key}: .*\n.*right would be: {right}$"):
            task.execute(run_context)
    with pytest.raises(FileNotFoundError):
        called()


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_a_run_with_an_interval_refuses_a_range(wait_task, run_type):
    with pytest.raises(AirflowFailException, match="corrects its own interval"):
        wait_task.execute(context(run_type, from_="2013-01-01"))


def test_intervals_are_floored_to_the_tick_and_stay_adjacent(place):
    query = correction_operators.Declared.read(
        declare(place / "queries", "long", QUERY.replace("tick: 1 min", "tick: 7 min"))
    ).query
    minutes = [f"2013-01-01T00:{minute:02}:00" for minute in (0, 10, 20, 30)]
    spans = [correction_operators.corrected_interval(context(start=a, end=b), query) for a, b in pairwise(minutes)]
    assert all(point % (7 * 60_000) == 0 for span in spans for point in span)
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]


def test_an_interval_without_an_end_of_a_tick_is_skipped(place):
    query = correction_operators.Declared.read(
        declare(place / "queries", "long", QUERY.replace("tick: 1 min", "tick: 1 h"))
    ).query
    with pytest.raises(AirflowSkipException, match="no tick of 1 h"):
        correction_operators.corrected_interval(context(start="2013-01-01T00:10:00", end="2013-01-01T00:20:00"), query)


def triggered(*payloads):
    """The context of a run that Airflow has started for events of the asset."""
    asset = SimpleNamespace(name="readings.uncorrected", uri="tailrace://readings/uncorrected")
    extras = [{"from_trigger": True, "payload": payload} if payload else {} for payload in payloads]
    events = [SimpleNamespace(asset=asset, source_aliases=[], extra=extra) for extra in extras]
    return context("asset_triggered") | {"triggering_asset_events": TriggeringAssetEventsAccessor.build(events)}


def request(start, end):
    return {"arrived_from": f"2013-01-01T{start}:00.000Z", "arrived_to": f"2013-01-01T{end}:00.000Z"}


@pytest.mark.parametrize(
    ("payloads", "ends"),
    [
        ([request("06:00", "07:30")], ("06:00", "07:30")),
        ([request("07:30", "08:00"), request("06:00", "07:30")], ("06:00", "08:00")),
        ([None, request("06:00", "07:30")], ("06:00", "07:30")),  # beside a manual event, which has no payload
    ],
)
def test_a_run_by_the_asset_covers_the_ranges_of_all_its_events(place, payloads, ends):
    query = correction_operators.Declared.read(place / "queries" / "readings.yaml").query
    assert correction_operators.corrected_interval(triggered(*payloads), query) == tuple(
        ms(f"2013-01-01T{end}:00") for end in ends
    )


@pytest.mark.parametrize(
    "payloads",
    [
        *([], [None], ["06:00"], [{"arrived_from": "2013-01-01"}], [{"arrived_to": 5}]),
        *([request("soon", "later")], [request("07:00", "06:00")]),
    ],
)
def test_a_run_by_an_event_without_a_range_is_refused(wait_task, payloads):
    with pytest.raises(AirflowFailException, match=r"no range of arrival is in (?s:.*)trigger this DAG by hand"):
        wait_task.execute(triggered(*payloads))


def test_a_run_by_the_asset_waits_for_the_end_of_its_range(wait_task, set_committed):
    set_committed(ms("2013-01-01T07:30:00") - 1)
    with pytest.raises(TaskDeferred) as deferral:
        wait_task.execute(triggered(request("06:00", "07:30")))
    assert deferral.value.trigger.until_ms == ms("2013-01-01T07:30:00")


@pytest.fixture
def correct_task(place):
    return CorrectOperator(task_id="correct", query="readings", file=str(place / "queries" / "readings.yaml"))


def set_behaviour(place, **behaviour):
    (place / "warehouse" / "told").write_text(json.dumps(behaviour))


@pytest.mark.parametrize(
    ("run_context", "range"),
    [
        (context(), ["--arrived-from", "2013-01-01T00:00:00.000Z", "--arrived-to", "2013-01-02T00:00:00.000Z"]),
        (context("manual"), []),
        (
            context("manual", from_="2013-01-05", to="2013-01-06T00:00:00Z"),
            ["--from", "2013-01-05", "--to", "2013-01-06T00:00:00Z"],
        ),
        (context("manual", to="2013-01-06"), ["--to", "2013-01-06"]),
    ],
)
def test_the_spark_app_gets_the_range_of_its_run(correct_task, called, place, run_context, range):
    correct_task.execute(run_context)
    arguments = called()[2]
    app = next(number for number, word in enumerate(arguments) if word.endswith("spark_apps/correct.py"))
    assert arguments[app + 1 :] == [f"{place}/queries/readings.yaml", "--warehouse", f"{place}/warehouse", *range]
    assert arguments[arguments.index("--driver-memory") + 1] == "1g"


def test_a_correction_listens_on_loopback_only_and_requires_a_secret(correct_task, called):
    correct_task.execute(context())
    arguments, local_ip = called()[2:]
    conf = {arguments[number + 1] for number, word in enumerate(arguments) if word == "--conf"}
    assert conf == LOCAL_CONF
    assert local_ip == "127.0.0.1"


def test_a_correction_has_the_connections_of_its_query(correct_task, called, place, monkeypatch):
    source = "{{format: parquet, path: 's3://lake/readings', connection: lake}}"
    declare(place / "queries", "readings", QUERY.replace("{{format: parquet, path: readings}}", source))
    get = BaseHook.get_connection
    lake = Connection(conn_id="lake", conn_type="aws", login="me", password="s3cret")
    monkeypatch.setattr(BaseHook, "get_connection", lambda *names: lake if "lake" in names else get(names[-1]))
    correct_task.execute(context())
    assert json.loads(os.environ["AIRFLOW_CONN_LAKE"]) == {"login": "me", "password": "s3cret"}
    assert "s3cret" not in " ".join(called()[2])


def test_a_driver_memory_out_of_bounds_is_refused(correct_task, called):
    with pytest.raises(AirflowFailException, match=r"driver_memory.*\n.*from 500m to 999g"):
        correct_task.execute(context(driver_memory="999999g"))
    with pytest.raises(FileNotFoundError):
        called()


@pytest.fixture
def late(layout):
    """Tables with a late tuple that arrived at seven."""
    tables = LateTables(layout)
    tables.late((ms("2013-01-01T07:00:00"), 0))
    tables.commit(ms("2013-01-01T09:00:00"))
    return tables


def test_the_spark_app_gets_the_range_of_the_assets_event(correct_task, called, late):
    correct_task.execute(triggered(request("06:00", "07:30")))
    expected = ["--arrived-from", "2013-01-01T06:00:00.000Z", "--arrived-to", "2013-01-01T07:30:00.000Z"]
    assert called()[2][-4:] == expected


def test_a_run_by_the_asset_is_skipped_where_all_is_corrected_already(correct_task, called, late):
    """It may have been requested twice, or a scheduled run has corrected it meanwhile."""
    late.late((ms("2013-01-01T08:00:00"), 0))
    late.run(ms("2013-01-01T06:00:00"), ms("2013-01-01T07:00:00"))
    with pytest.raises(AirflowSkipException, match="is corrected already"):
        correct_task.execute(triggered(request("06:00", "07:30")))
    with pytest.raises(FileNotFoundError):
        called()
    correct_task.execute(triggered(request("06:00", "08:00")))
    assert called()


def test_a_scheduled_run_repeats_an_earlier_correction(correct_task, called, late):
    late.run(None, ms("2013-01-01T09:00:00"))
    correct_task.execute(context())
    assert called()


def test_a_refused_correction_is_not_retried(correct_task, called, place):
    set_behaviour(place, code=2)
    with pytest.raises(AirflowFailException, match="its last words"):
        correct_task.execute(context())


def test_a_failed_correction_is_retried(correct_task, called, place):
    set_behaviour(place, code=1)
    with pytest.raises(AirflowException) as failure:
        correct_task.execute(context())
    assert not isinstance(failure.value, AirflowFailException)


def running_processes(called):
    """Wait until spark-submit runs; return its process and its child's."""

    def running():
        with suppress(FileNotFoundError):
            return [psutil.Process(pid) for pid in called()[:2]]

    return until(running, "spark-submit runs")


def test_on_kill_leaves_no_process(correct_task, called, place):
    """Also where spark-submit has died first, as by Airflow's signal to the whole process group."""
    set_behaviour(place, stays=True)
    failures = []

    def run():
        try:
            correct_task.execute(context())
        except AirflowException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    parent, child = running_processes(called)
    parent.kill()
    correct_task.on_kill()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert dead(parent)
    assert dead(child)
    assert failures


def test_a_new_correction_kills_the_processes_of_a_killed_worker(correct_task, called, place):
    set_behaviour(place, stays=True)
    environment = os.environ | {"TAILRACE_CORRECTION": str(place / "warehouse" / "readings")}
    orphan = subprocess.Popen([place / "bin" / "spark-submit"], env=environment, stdout=subprocess.DEVNULL)
    _, child = running_processes(called)
    try:
        set_behaviour(place)
        correct_task.execute(context())
        assert orphan.wait(PATIENCE_S) == -signal.SIGKILL
        assert dead(child)
    finally:
        orphan.kill()
        orphan.wait()
        child.kill() if child.is_running() else None


def test_a_missing_connection_is_refused_and_does_not_default_to_yarn(correct_task, called, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_TAILRACE_SPARK")
    with pytest.raises(AirflowFailException, match="connection tailrace_spark"):
        correct_task.execute(context())
    with pytest.raises(FileNotFoundError):
        called()


@pytest.fixture
def set_status(layout):
    def set_to(committed, state="quiet", rows_left=0, at="2026-01-01T00:00:00"):
        layout.stream.mkdir(parents=True, exist_ok=True)
        Status(state, 1, 0, ms(at), 3, rows_left=rows_left, committed=ms(committed)).write(layout)

    return set_to


@pytest.mark.parametrize("end", ["2013-01-01T00:00:00", "2012-12-31T12:00:00"])
@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_a_run_is_skipped_whose_interval_the_arrival_times_of_a_past_never_reach(
    wait_task, set_committed, set_status, run_type, end
):
    set_committed(ms(end))
    set_status(end)
    with pytest.raises(AirflowSkipException, match=rf"end at {end[:16]}.*never reach 2013-01-02T00:00.*backfill"):
        wait_task.execute(context(run_type))


@pytest.mark.parametrize(
    "change",
    [{"state": "waiting"}, {"state": "streaming", "rows_left": 7}, {"rows_left": 7}, {"at": "2013-01-20T00:00:00"}],
    ids=["waiting", "streaming", "more to read", "not long down"],
)
def test_a_run_waits_for_a_stream_that_may_still_reach_its_interval(wait_task, set_committed, set_status, change):
    set_committed(ms("2013-01-01T12:00:00"))
    set_status("2013-01-01T12:00:00", **change)
    with pytest.raises(TaskDeferred):
        wait_task.execute(context())


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_an_interval_in_which_a_past_ends_is_corrected_up_to_that_end(
    wait_task, correct_task, set_committed, set_status, capsys, run_type
):
    set_committed(ms("2013-01-01T12:00:00"))
    set_status("2013-01-01T12:00:00")
    assert wait_task.execute(context(run_type)) is None
    assert "what arrived from 2013-01-01T00:00:00.000Z to that end is corrected now" in capsys.readouterr().out
    assert correct_task.arguments(context(run_type)) == [
        *("--arrived-from", "2013-01-01T00:00:00.000Z"),
        *("--arrived-to", "2013-01-01T12:00:00.000Z"),
    ]


def test_a_deferred_run_is_skipped_when_the_past_ended_before_its_interval_and_else_goes_on(wait_task):
    event = {"until_ms": ms("2013-01-02T00:00:00")}
    with pytest.raises(AirflowSkipException, match="never"):
        wait_task.resume(context(), event | {"past_end_ms": ms("2013-01-01T00:00:00")})
    assert wait_task.resume(context(), event | {"past_end_ms": ms("2013-01-01T00:00:01")}) is None


FORMS = [
    "@hourly",
    "@monthly",
    "0 0 29 2 *",
    "0 0 * mar fri",
    "0 0 L * *",
    "0 0 * * 5#3",
    "0 0 15W * *",
    "*/7 3-5 * * 1,5",
]


@pytest.mark.parametrize("schedule", FORMS)
def test_airflow_steps_from_run_to_run_by_each_form_of_schedule_that_is_taken(schedule):
    timetable = CronDataIntervalTimetable(Correction(schedule=schedule).schedule, timezone="UTC")
    restriction = TimeRestriction(earliest=pendulum.instance(EPOCH), latest=None, catchup=True)
    interval = None
    for _ in range(3):
        before, run = (
            interval,
            timetable.next_dagrun_info(last_automated_data_interval=interval, restriction=restriction),
        )
        interval = run.data_interval
        assert interval.start < interval.end
        assert before is None or interval.start == before.end
