"""The tasks of correct_<query>: which interval, when it may begin, and a spark-submit that leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from datetime import UTC, datetime
from itertools import pairwise
from types import SimpleNamespace

import psutil
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException, TaskDeferred
from airflow.sdk.execution_time.context import TriggeringAssetEventsAccessor

from fake_host import LOCAL_CONF, QUERY, declare
from late_tables import LateTables
from tailrace.drivers.fence import dead
from tailrace.orchestration import correction_operators
from tailrace.orchestration.correction_dags import FORM
from tailrace.orchestration.correction_operators import CorrectOperator, WaitOperator
from tailrace.storage.progress import Progress


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
def wait(place):
    return WaitOperator(task_id="wait", query="readings", file=str(place / "queries" / "readings.yaml"))


@pytest.fixture
def committed(monkeypatch):
    def say(until):
        monkeypatch.setattr(Progress, "read", staticmethod(lambda layout: Progress(until, until, False)))

    return say


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_a_run_waits_for_the_end_of_its_interval(wait, committed, run_type):
    committed(ms("2013-01-02T00:00:00") - 1)
    with pytest.raises(TaskDeferred) as deferred:
        wait.execute(context(run_type))
    assert deferred.value.trigger.until_ms == ms("2013-01-02T00:00:00")
    assert deferred.value.method_name == "resume"


def test_a_run_does_not_wait_for_what_is_committed(wait, committed):
    committed(ms("2013-01-02T00:00:00"))
    assert wait.execute(context()) is None


def test_a_run_by_hand_waits_for_nothing(wait):
    assert wait.execute(context("manual")) is None


@pytest.mark.parametrize(("name", "value"), [("from_", "yesterday"), ("to", "2013-13-01")])
def test_a_range_that_is_no_time_is_refused(wait, name, value):
    with pytest.raises(AirflowFailException, match=f"{value!r} is no time\n.*2013-01-02T00:00:00Z"):
        wait.execute(context("manual", **{name: value}))


@pytest.mark.parametrize("to", ["2013-01-01", "2013-01-02", "2013-01-02T01:00:00+02:00"])
def test_a_range_that_ends_before_it_begins_is_refused_before_anything_starts(wait, correct, called, to):
    given = context("manual", from_="2013-01-02", to=to)
    for task in (wait, correct):
        with pytest.raises(AirflowFailException, match=r"from, to: .*\n.*right would be: "):
            task.execute(given)
    with pytest.raises(FileNotFoundError):
        called()


@pytest.mark.parametrize("run_type", ["manual", "backfill"])
@pytest.mark.parametrize(("key", "right"), [("From", "from"), ("TO", "to"), ("until", "from, to or driver_memory")])
def test_a_conf_with_a_key_that_is_no_field_is_refused_before_anything_starts(
    wait, correct, called, run_type, key, right
):
    """Airflow hands it over beside the form's fields, and a correction of everything would start."""
    given = context(run_type, conf={key: "2013-01-02", "driver_memory": "1g"})
    for task in (wait, correct):
        with pytest.raises(AirflowFailException, match=f"conf: {key}: .*\n.*right would be: {right}$"):
            task.execute(given)
    with pytest.raises(FileNotFoundError):
        called()


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_a_run_with_an_interval_takes_no_range(wait, run_type):
    with pytest.raises(AirflowFailException, match="corrects its own interval"):
        wait.execute(context(run_type, from_="2013-01-01"))


def test_intervals_are_floored_to_the_tick_so_that_they_lie_side_by_side(place):
    query = correction_operators.Declared.read(
        declare(place / "queries", "long", QUERY.replace("tick: 1 min", "tick: 7 min"))
    ).query
    minutes = [f"2013-01-01T00:{minute:02}:00" for minute in (0, 10, 20, 30)]
    spans = [correction_operators.span(context(start=a, end=b), query) for a, b in pairwise(minutes)]
    assert all(point % (7 * 60_000) == 0 for span in spans for point in span)
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]


def test_an_interval_without_an_end_of_a_tick_is_left_to_the_next(place):
    query = correction_operators.Declared.read(
        declare(place / "queries", "long", QUERY.replace("tick: 1 min", "tick: 1 h"))
    ).query
    with pytest.raises(AirflowSkipException, match="no tick of 1 h"):
        correction_operators.span(context(start="2013-01-01T00:10:00", end="2013-01-01T00:20:00"), query)


def triggered(*payloads):
    """A run that Airflow has started by the asset's events, as a task sees it."""
    asset = SimpleNamespace(name="readings.uncorrected", uri="tailrace://readings/uncorrected")
    extras = [{"from_trigger": True, "payload": payload} if payload else {} for payload in payloads]
    events = [SimpleNamespace(asset=asset, source_aliases=[], extra=extra) for extra in extras]
    return context("asset_triggered") | {"triggering_asset_events": TriggeringAssetEventsAccessor.build(events)}


def asks(start, end):
    return {"arrived_from": f"2013-01-01T{start}:00.000Z", "arrived_to": f"2013-01-01T{end}:00.000Z"}


@pytest.mark.parametrize(
    ("payloads", "ends"),
    [
        ([asks("06:00", "07:30")], ("06:00", "07:30")),
        ([asks("07:30", "08:00"), asks("06:00", "07:30")], ("06:00", "08:00")),
        ([None, asks("06:00", "07:30")], ("06:00", "07:30")),  # beside an event that someone has made by hand
    ],
)
def test_a_run_by_the_asset_is_about_all_that_its_events_ask_for(place, payloads, ends):
    query = correction_operators.Declared.read(place / "queries" / "readings.yaml").query
    assert correction_operators.span(triggered(*payloads), query) == tuple(ms(f"2013-01-01T{end}:00") for end in ends)


@pytest.mark.parametrize(
    "payloads",
    [
        *([], [None], ["06:00"], [{"arrived_from": "2013-01-01"}], [{"arrived_to": 5}]),
        *([asks("soon", "later")], [asks("07:00", "06:00")]),
    ],
)
def test_a_run_by_an_event_without_a_range_is_refused(wait, payloads):
    with pytest.raises(AirflowFailException, match=r"no range of arrival is in (?s:.*)trigger this DAG by hand"):
        wait.execute(triggered(*payloads))


def test_a_run_by_the_asset_waits_for_the_end_of_its_range(wait, committed):
    committed(ms("2013-01-01T07:30:00") - 1)
    with pytest.raises(TaskDeferred) as deferred:
        wait.execute(triggered(asks("06:00", "07:30")))
    assert deferred.value.trigger.until_ms == ms("2013-01-01T07:30:00")


@pytest.fixture
def correct(place):
    return CorrectOperator(task_id="correct", query="readings", file=str(place / "queries" / "readings.yaml"))


def told(place, **what):
    (place / "warehouse" / "told").write_text(json.dumps(what))


@pytest.mark.parametrize(
    ("given", "range"),
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
def test_the_correction_is_told_its_range(correct, called, place, given, range):
    correct.execute(given)
    words = called()[2]
    app = next(number for number, word in enumerate(words) if word.endswith("spark_apps/correct.py"))
    assert words[app + 1 :] == [f"{place}/queries/readings.yaml", "--warehouse", f"{place}/warehouse", *range]
    assert words[words.index("--driver-memory") + 1] == "1g"


def test_a_correction_listens_on_loopback_alone_and_asks_for_a_secret(correct, called):
    correct.execute(context())
    words, where = called()[2:]
    conf = {words[number + 1] for number, word in enumerate(words) if word == "--conf"}
    assert conf == LOCAL_CONF
    assert where == "127.0.0.1"


def test_a_memory_that_no_driver_can_have_is_refused(correct, called):
    with pytest.raises(AirflowFailException, match=r"driver_memory.*\n.*from 500m to 999g"):
        correct.execute(context(driver_memory="999999g"))
    with pytest.raises(FileNotFoundError):
        called()


@pytest.fixture
def late(layout):
    """A tuple that arrived at seven."""
    there = LateTables(layout)
    there.late((ms("2013-01-01T07:00:00"), 0))
    there.commit(ms("2013-01-01T09:00:00"))
    return there


def test_a_correction_by_the_asset_is_told_its_range(correct, called, late):
    correct.execute(triggered(asks("06:00", "07:30")))
    wanted = ["--arrived-from", "2013-01-01T06:00:00.000Z", "--arrived-to", "2013-01-01T07:30:00.000Z"]
    assert called()[2][-4:] == wanted


def test_what_is_corrected_already_is_not_corrected_again_for_the_asset(correct, called, late):
    """It may have been asked for twice, or have come by schedule while it waited."""
    late.late((ms("2013-01-01T08:00:00"), 0))
    late.run(ms("2013-01-01T06:00:00"), ms("2013-01-01T07:00:00"))
    with pytest.raises(AirflowSkipException, match="is corrected already"):
        correct.execute(triggered(asks("06:00", "07:30")))
    with pytest.raises(FileNotFoundError):
        called()
    correct.execute(triggered(asks("06:00", "08:00")))
    assert called()


def test_a_scheduled_run_corrects_again_what_is_corrected(correct, called, late):
    late.run(None, ms("2013-01-01T09:00:00"))
    correct.execute(context())
    assert called()


def test_what_is_refused_is_not_tried_again(correct, called, place):
    told(place, code=2)
    with pytest.raises(AirflowFailException, match="its last words"):
        correct.execute(context())


def test_what_fails_is_tried_again(correct, called, place):
    told(place, code=1)
    with pytest.raises(AirflowException) as failure:
        correct.execute(context())
    assert not isinstance(failure.value, AirflowFailException)


def family(called):
    """The processes of the spark-submit that runs now, once it runs."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            return [psutil.Process(pid) for pid in called()[:2]]
        except FileNotFoundError:
            time.sleep(0.02)
    raise TimeoutError


def test_on_kill_leaves_nothing_behind(correct, called, place):
    """Also where spark-submit has died first, as by Airflow's signal to the whole group."""
    told(place, stays=True)
    failures = []

    def run():
        try:
            correct.execute(context())
        except AirflowException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    parent, child = family(called)
    parent.kill()
    correct.on_kill()
    thread.join(30)
    assert not thread.is_alive()
    assert dead(parent)
    assert dead(child)
    assert failures


def test_a_new_correction_kills_what_a_killed_worker_has_left(correct, called, place):
    told(place, stays=True)
    environment = os.environ | {"TAILRACE_CORRECTION": str(place / "warehouse" / "readings")}
    left = subprocess.Popen([place / "bin" / "spark-submit"], env=environment, stdout=subprocess.DEVNULL)
    _, child = family(called)
    try:
        told(place)
        correct.execute(context())
        assert left.wait(10) == -signal.SIGKILL
        assert dead(child)
    finally:
        left.kill()
        left.wait()
        child.kill() if child.is_running() else None


def test_a_missing_connection_is_refused_and_does_not_mean_yarn(correct, called, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_TAILRACE_SPARK")
    with pytest.raises(AirflowFailException, match="connection tailrace_spark"):
        correct.execute(context())
    with pytest.raises(FileNotFoundError):
        called()
