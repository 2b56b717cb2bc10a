"""The tasks of stream_<query>, against a driver host in memory."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowFailException, TaskDeferralError, TaskDeferred
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from filelock import Timeout

from fake_host import LOCAL_CONF, QUERY, declare
from tailrace.drivers.driver_host import DriverHostDown
from tailrace.ground.errors import Busy
from tailrace.orchestration import drivers, stream_operators
from tailrace.orchestration.stream_operators import (
    DEPLOYED,
    WATCHED,
    CheckOperator,
    DeployOperator,
    DrainOperator,
    SuperviseOperator,
)
from tailrace.query.loading import load

PARAMS = {"batch_rows": 5, "restarts": 2, "within_s": 600, "hang_after_s": 77, "driver_memory": "3g"}


class Notes:
    """A task instance, as far as XComs and the state of `supervise` go."""

    dag_id, run_id = "stream_readings", "r"

    def __init__(self, state="failed", **notes):
        self.state, self.notes = state, notes

    def xcom_push(self, key, value):
        self.notes[key] = value

    def xcom_pull(self, task_ids, key):
        assert task_ids == {WATCHED: "supervise", DEPLOYED: "deploy"}[key]
        return self.notes.get(key)

    def get_task_states(self, dag_id, task_ids, run_ids):
        assert callable(RuntimeTaskInstance.get_task_states)
        assert (dag_id, task_ids, run_ids) == ("stream_readings", ["supervise"], ["r"])
        return {"r": {"supervise": self.state}}


@pytest.fixture
def context():
    run = SimpleNamespace(conf={"restarts": 2})
    return {"params": PARAMS, "ti": Notes(), "dag": SimpleNamespace(params=PARAMS), "dag_run": run}


@pytest.fixture
def make(place):
    """An operator on the declared query."""
    return lambda cls: cls(task_id=cls.__name__, query="readings", file=str(place / "queries" / "readings.yaml"))


def verdict(kind, pid=None):
    return {"kind": kind, "detail": "as the judge says", "pid": pid}


def resume(operator, context, event, hangs, deployment=""):
    """As Airflow does when the trigger has fired."""
    kwargs = {"event": event, "hangs": hangs, "deployment": deployment}
    return operator.resume_execution("resume", kwargs, context)


def test_check_lets_a_right_query_pass(make, host, context):
    make(CheckOperator).execute(context)
    assert host.deployed == []


def test_check_names_file_line_and_field(make, host, context, place):
    file = declare(place / "queries", "readings", QUERY.replace("size: 2 h", "size: 2"))
    with pytest.raises(AirflowFailException, match=rf"{file}:9: window.size: 2 has no unit\n +right would be: "):
        make(CheckOperator).execute(context)


def test_check_names_every_key_of_the_conf_that_is_no_field(make, host, context):
    run = SimpleNamespace(conf={"restart": 1, "restarts": 2, "hang_after": 60})
    with pytest.raises(AirflowFailException) as failure:
        make(CheckOperator).execute(context | {"dag_run": run})
    told = [line.strip() for line in str(failure.value).splitlines()]
    assert [line.partition(": ")[2] for line in told if line.startswith("right")] == ["restarts", "hang_after_s"]
    assert [line.split(":")[1].strip() for line in told if line.startswith("conf")] == ["restart", "hang_after"]


def test_check_refuses_a_query_that_its_checkpoint_does_not_fit(make, host, context, place, layout):
    layout.create_checkpoint(load(place / "queries" / "readings.yaml").structure(), {"id": "int64"})
    make(CheckOperator).execute(context)
    declare(place / "queries", "readings", QUERY.replace("2 h", "3 h"))
    with pytest.raises(AirflowFailException, match=r"window.size: .*\n.*the old value; or another name"):
        make(CheckOperator).execute(context)


@pytest.mark.parametrize("wrong", ["unset", "relative", "file", "forbidden"])
def test_check_refuses_a_warehouse_that_cannot_be_written_to(make, host, context, place, monkeypatch, wrong):
    (place / "file").touch()
    if wrong == "unset":
        monkeypatch.delenv("TAILRACE_WAREHOUSE")
    elif wrong == "forbidden":
        monkeypatch.setattr(stream_operators.os, "access", lambda *asked: False)  # root may write everywhere
    else:
        monkeypatch.setenv("TAILRACE_WAREHOUSE", {"relative": "wh", "file": str(place / "file")}[wrong])
    with pytest.raises(AirflowFailException, match="right would be"):
        make(CheckOperator).execute(context)


def test_check_refuses_a_connection_that_is_missing(make, host, context, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_TAILRACE_SPARK")
    with pytest.raises(
        AirflowFailException, match=r"connection tailrace_spark.*\n.*airflow connections add tailrace_spark"
    ):
        make(CheckOperator).execute(context)


def test_check_tries_again_when_the_host_is_down(make, host, context):
    host.down = True
    with pytest.raises(DriverHostDown):
        make(CheckOperator).execute(context)


def test_deploy_makes_one_driver_of_the_form(make, host, context, place):
    for _ in range(2):
        make(DeployOperator).execute(context)
    [(command, environment)] = host.deployed
    words = " ".join(command)
    home = place / "warehouse" / "readings"
    assert f"-m tailrace.drivers.launch --home {home} --restarts 2 --within 600 -- spark-submit" in words
    assert "--master local[*]" in words
    assert "--driver-memory 3g" in words
    assert words.endswith(f"stream.py {place}/queries/readings.yaml --warehouse {place}/warehouse --batch-rows 5")
    names = {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_LOCAL_IP"}
    assert set(environment) == names
    assert Path(environment["SPARK_HOME"], "bin", "spark-submit").exists()
    assert Path(environment["SPARK_CONF_DIR"], "log4j2.properties").exists()


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2, 3]"])
def test_a_local_driver_listens_on_loopback_alone_and_asks_for_a_secret(make, host, context, monkeypatch, master):
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", json.dumps({"conn_type": "spark", "host": master}))
    make(DeployOperator).execute(context)
    [(command, environment)] = host.deployed
    assert environment["SPARK_LOCAL_IP"] == "127.0.0.1"
    conf = {command[number + 1] for number, word in enumerate(command) if word == "--conf"}
    assert conf == LOCAL_CONF


def test_a_driver_of_a_cluster_keeps_the_address_that_its_executors_reach(make, host, context, monkeypatch):
    there = {"conn_type": "spark", "host": "spark://local", "port": 7077}
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", json.dumps(there))
    make(DeployOperator).execute(context)
    [(command, environment)] = host.deployed
    assert "spark://local:7077" in command
    assert "--conf" not in command
    assert not {"SPARK_LOCAL_IP", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME"} & environment.keys()


@pytest.mark.parametrize("memory", ["999999g", "499m", "2g\n", "2", "2 g", "2t", ""])
@pytest.mark.parametrize("operator", [CheckOperator, DeployOperator])
def test_a_memory_that_no_driver_can_have_is_refused(make, host, context, operator, memory):
    with pytest.raises(AirflowFailException, match=r"driver_memory.*\n.*from 500m to 999g"):
        make(operator).execute(context | {"params": PARAMS | {"driver_memory": memory}})
    assert host.deployed == []


def test_deploy_refuses_to_start_a_driver_out_of_its_hosts_reach(make, host, context, monkeypatch):
    monkeypatch.setenv(
        "AIRFLOW_CONN_TAILRACE_SPARK", '{"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}'
    )
    with pytest.raises(AirflowFailException, match="deploy-mode client"):
        make(DeployOperator).execute(context)


def test_deploy_is_tried_again_while_a_driver_drains(make, host, context, layout, monkeypatch):
    monkeypatch.setattr(drivers, "_GOING_S", 0.05)
    make(DeployOperator).execute(context)
    layout.request_drain()
    with pytest.raises(Busy):  # which Airflow takes for a fault that may pass
        make(DeployOperator).execute(context)
    assert len(host.deployed) == 1


def test_supervise_defers_at_once(make, host, context, place):
    drivers.deploy(host, stream_operators.Layout.of(place / "warehouse", "readings"), ["go"], {})
    with pytest.raises(TaskDeferred) as deferred:
        make(SuperviseOperator).execute(context)
    assert deferred.value.method_name == "resume"
    trigger = deferred.value.trigger
    assert (trigger.query, trigger.warehouse, trigger.hang_after_s) == ("readings", str(place / "warehouse"), 77)
    assert context["ti"].notes[WATCHED] == trigger.deployment != ""


def test_supervise_ends_well_when_the_driver_ended(make, host, context):
    host.is_now("ended", 0)
    assert "readings: ended" in resume(make(SuperviseOperator), context, verdict("ended"), [])
    assert context["ti"].notes == {WATCHED: ""}


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("failed", r"given up: as the judge says.*\n.*\n    a line\n    the last line"),
        ("gone", "stopped or removed"),
        ("unreachable", r"nobody watches it now.*mend the connection tailrace_driver_host"),
    ],
)
def test_supervise_fails_for_good_and_says_what_to_do(make, host, context, kind, told):
    with pytest.raises(AirflowFailException, match=told):
        resume(make(SuperviseOperator), context, verdict(kind), [])
    assert context["ti"].notes == {WATCHED: ""}, "nobody wished the stream to end"


@pytest.mark.parametrize(("kind", "state", "code"), [("ended", "ended", 0), ("failed", "failed", 3)])
def test_a_driver_that_is_over_does_not_come_back_with_its_host(make, host, context, layout, kind, state, code):
    done = drivers.deploy(host, layout, ["go"], {})
    host.is_now(state, code)
    with suppress(AirflowFailException):
        resume(make(SuperviseOperator), context, verdict(kind), [], done.deployment)
    assert host.programs == set()
    assert host.ran[0][1:] == ["-m", "tailrace.drivers.fence", str(layout.home)], "nothing of it is left"


@pytest.mark.parametrize("kind", ["ended", "failed", "gone", "hung"])
def test_the_end_of_a_driver_does_nothing_to_the_one_that_was_deployed_since(make, host, context, layout, kind):
    """Its pid may even be the same: numbers come again."""
    old = drivers.deploy(host, layout, ["go"], {})
    host.is_now("ended", 0)
    drivers.deploy(host, layout, ["another"], {})
    host.driver = replace(host.driver, pid=old.driver.pid)
    with suppress(AirflowFailException, TaskDeferred):
        resume(make(SuperviseOperator), context, verdict(kind, old.driver.pid), [], old.deployment)
    assert (host.driver.state, host.stopped, host.ran, host.programs) == ("running", [], [], {"readings"})


def test_supervise_watches_the_driver_on_that_took_the_place_of_its_own(make, host, context, layout):
    old = drivers.deploy(host, layout, ["go"], {})
    host.is_now("ended", 0)
    new = drivers.deploy(host, layout, ["another"], {})
    with pytest.raises(TaskDeferred) as deferred:
        resume(make(SuperviseOperator), context, verdict("replaced"), [5.0], old.deployment)
    assert deferred.value.trigger.deployment == new.deployment
    assert deferred.value.kwargs == {"hangs": [5.0], "deployment": new.deployment}
    assert context["ti"].notes == {WATCHED: new.deployment}
    assert host.stopped == []


def test_supervise_puts_a_new_driver_in_the_place_of_one_that_hangs(make, host, context, layout):
    first = drivers.deploy(host, layout, ["go"], {})
    with pytest.raises(TaskDeferred) as deferred:
        resume(make(SuperviseOperator), context, verdict("hung", first.driver.pid), [], first.deployment)
    assert host.stopped == [0]
    assert host.driver.pid != first.driver.pid
    [at] = deferred.value.kwargs["hangs"]
    assert abs(at - time.time()) < 60
    assert context["ti"].notes == {WATCHED: drivers.deployment(layout)}


def test_supervise_makes_no_new_driver_in_the_place_of_one_that_is_being_drained(make, host, context, layout):
    """It hangs, so somebody drains it, and will stop it by force: nobody wants another one."""
    first = drivers.deploy(host, layout, ["go"], {})
    layout.request_drain()
    with pytest.raises(TaskDeferred):
        resume(make(SuperviseOperator), context, verdict("hung", first.driver.pid), [], first.deployment)
    assert layout.drain.exists()
    assert (host.driver.pid, host.stopped, len(host.deployed)) == (first.driver.pid, [], 1)


def test_nobody_deploys_while_supervise_replaces_a_driver(make, host, context, layout):
    """Else there would be a driver by another's form, or the one that was just made would be stopped."""
    done = drivers.deploy(host, layout, ["go"], {})
    free = []

    def ask() -> None:
        try:
            with drivers.alone(layout).acquire(timeout=0):
                free.append(True)
        except Timeout:
            free.append(False)

    def look() -> None:
        asks = threading.Thread(target=ask)
        asks.start()
        asks.join()

    host.on_look = look
    with pytest.raises(TaskDeferred):
        resume(make(SuperviseOperator), context, verdict("hung", done.driver.pid), [], done.deployment)
    assert len(free) >= 3, "to see what it is about, to stop, and to make"
    assert not any(free)
    host.on_look()
    assert free[-1]


def test_supervise_leaves_the_new_driver_of_another_watch(make, host, context, layout):
    done = drivers.deploy(host, layout, ["go"], {})
    with pytest.raises(TaskDeferred) as deferred:
        resume(make(SuperviseOperator), context, verdict("hung", 99), [], done.deployment)
    assert host.stopped == []
    assert deferred.value.kwargs["hangs"] == []


def test_supervise_gives_up_a_driver_that_hangs_beyond_the_budget(make, host, context, layout):
    now = time.time()
    done, hangs = drivers.deploy(host, layout, ["go"], {}), [now - 700, now - 650, now - 5]
    with pytest.raises(TaskDeferred) as deferred:  # those of long ago count no more
        resume(make(SuperviseOperator), context, verdict("hung", done.driver.pid), hangs, done.deployment)
    kept = deferred.value.kwargs
    assert len(kept["hangs"]) == 2
    with pytest.raises(AirflowFailException, match="hangs again and again"):
        resume(make(SuperviseOperator), context, verdict("hung", host.driver.pid), **kept)
    assert not host.driver.alive
    assert host.programs == set()
    assert context["ti"].notes == {WATCHED: ""}


def test_a_trigger_that_broke_is_no_wish_to_drain(make, host, context, layout):
    context["ti"] = Notes(**{WATCHED: drainable(host, layout)})
    with pytest.raises(TaskDeferralError):
        make(SuperviseOperator).resume_execution("__fail__", {"error": "Trigger failure"}, context)
    make(DrainOperator).execute(context)
    assert host.driver.alive


def drainable(host, layout):
    done = drivers.deploy(host, layout, ["go"], {})
    host.on_look = lambda: layout.drain.exists() and host.is_now("ended", 0)
    return done.deployment


@pytest.mark.parametrize("state", ["failed", "success"])
def test_drain_drains_after_supervise_was_marked(make, host, context, layout, state):
    context["ti"] = Notes(state, **{WATCHED: drainable(host, layout)})
    make(DrainOperator).execute(context)
    assert host.driver.state == "ended"
    assert host.programs == set(), "it would come back, unwatched, when its host is started again"


@pytest.mark.parametrize("state", ["skipped", "success"])
@pytest.mark.parametrize("only", ["its own", "another"])
def test_drain_drains_the_driver_of_a_run_that_was_ended_before_supervise_watched(
    make, host, context, layout, state, only
):
    """A run's end skips what is still to run; and to success `supervise` only comes over its watch, or by a mark."""
    deployed = drainable(host, layout)
    context["ti"] = Notes(state, **{DEPLOYED: deployed if only == "its own" else only})
    make(DrainOperator).execute(context)
    assert host.driver.alive == (only == "another")


def test_drain_drains_where_a_run_was_ended_between_two_tries_of_supervise(make, host, context, layout):
    context["ti"] = Notes("skipped", **{WATCHED: "", DEPLOYED: drainable(host, layout)})
    make(DrainOperator).execute(context)
    assert host.driver.state == "ended"


@pytest.mark.parametrize("state", ["failed", "success"])
def test_drain_leaves_the_stream_when_supervise_ended_by_itself(make, host, context, layout, state):
    """As when the driver host was not reachable: the stream goes on, though nobody watches it."""
    context["ti"] = Notes(state, **{WATCHED: "", DEPLOYED: drainable(host, layout)})
    make(DrainOperator).execute(context)
    assert host.driver.alive
    assert not layout.drain.exists()


def test_a_supervise_that_fails_before_it_watches_drains_nothing(make, host, context, layout, monkeypatch, caplog):
    """A disk that is away for four tries, or a worker that is killed each time, is no wish that the stream ends."""
    context["ti"] = Notes("failed", **{DEPLOYED: drainable(host, layout)})

    def away(layout):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(drivers, "deployment", away)
        with pytest.raises(OSError, match="Input/output"):
            make(SuperviseOperator).execute(context)
    make(DrainOperator).execute(context)
    assert host.driver.alive
    assert not layout.drain.exists()


def test_a_worker_that_is_killed_after_the_watch_drains_nothing(make, host, context, layout, monkeypatch):
    context["ti"] = Notes("failed", **{WATCHED: drainable(host, layout)})
    supervise = make(SuperviseOperator)

    def killed():
        raise KeyboardInterrupt

    monkeypatch.setattr(supervise, "layout", killed)  # the first thing that it does
    with pytest.raises(KeyboardInterrupt):
        resume(supervise, context, verdict("hung", 101), [])
    make(DrainOperator).execute(context)
    assert host.driver.alive
    assert not layout.drain.exists()


def test_drain_leaves_a_driver_that_was_deployed_since(make, host, context, layout):
    drainable(host, layout)
    context["ti"] = Notes(**{WATCHED: "an earlier one"})
    make(DrainOperator).execute(context)
    assert host.driver.alive


def test_secrets_of_a_connection_come_into_no_log(make, host, context, place, monkeypatch, capfd):
    extra = '{"conn_type": "spark", "host": "spark://h:7077", "password": "s3cret", "extra": {"keytab": "czNjcmV0"}}'
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", extra)
    make(DeployOperator).execute(context)
    assert "s3cret" not in str(host.deployed)
    assert "s3cret" not in "".join(capfd.readouterr())
