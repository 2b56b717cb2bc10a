"""The operators of stream_<query>: check, deploy, supervise, drain, against a driver host in memory."""

from __future__ import annotations

import json
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException, TaskDeferralError, TaskDeferred
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from kit.fakes.fake_host import LOCAL_CONF, QUERY, declare, write_status
from tailrace.cli import driver_commands as commands
from tailrace.drivers import driver_lifecycle, writable
from tailrace.drivers.driver_host import DriverHostDown
from tailrace.drivers.homes import program_of
from tailrace.ground.errors import Busy, Refused
from tailrace.orchestration import settings, stream_operators
from tailrace.orchestration.drain_operator import DrainOperator
from tailrace.orchestration.stream_dags import stream_dags
from tailrace.orchestration.stream_operators import (
    DEPLOYED,
    WATCHED,
    CheckOperator,
    DeployOperator,
    SuperviseOperator,
)
from tailrace.orchestration.submit import Options
from tailrace.orchestration.watch_claim import watching_run
from tailrace.query.loading import load
from tailrace.spark.cluster_master import SECRET
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.status import Status

PARAMS = {"batch_rows": 5, "restarts": 2, "within_s": 600, "hang_after_s": 77, "driver_memory": "3g"}


class FakeTaskInstance:
    """A task instance in memory: its XComs, and the state of `supervise`."""

    dag_id, run_id = "stream_readings", "r"

    def __init__(self, state="failed", **notes):
        self.state, self.notes = state, notes
        self.others = {}

    def xcom_push(self, key, value):
        self.notes[key] = value

    def xcom_pull(self, task_ids, key):
        assert task_ids == {WATCHED: "supervise", DEPLOYED: "deploy"}[key]
        return self.notes.get(key)

    def get_task_states(self, dag_id, task_ids, run_ids):
        assert callable(RuntimeTaskInstance.get_task_states)
        assert (dag_id, task_ids) == ("stream_readings", ["supervise"])
        states = self.others | {self.run_id: self.state}
        return {run: {"supervise": states[run]} for run in run_ids if run in states}


@pytest.fixture
def context():
    run = SimpleNamespace(conf={"restarts": 2})
    return {"params": PARAMS, "ti": FakeTaskInstance(), "dag": SimpleNamespace(params=PARAMS), "dag_run": run}


@pytest.fixture
def make_operator(place):
    """Builds an operator for the declared query."""
    return lambda cls: cls(task_id=cls.__name__, query="readings", file=str(place / "queries" / "readings.yaml"))


def verdict(kind, pid=None):
    return {"kind": kind, "detail": "as the judge says", "pid": pid}


def resume(operator, context, event, hangs, deployment=""):
    """Resume the task, as Airflow does when the trigger has fired."""
    kwargs = {"event": event, "hangs": hangs, "deployment": deployment}
    return operator.resume_execution("resume", kwargs, context)


def test_check_accepts_a_valid_query_and_deploys_nothing(make_operator, host, context):
    make_operator(CheckOperator).execute(context)
    assert host.deployed == []


def test_check_names_file_line_and_field(make_operator, host, context, place):
    file = declare(place / "queries", "readings", QUERY.replace("size: 2 h", "size: 2"))
    with pytest.raises(AirflowFailException, match=rf"{file}:9: window.size: 2 has no unit\n +right would be: "):
        make_operator(CheckOperator).execute(context)


def test_check_names_every_unknown_key_of_the_conf_and_the_field_closest_to_it(make_operator, host, context):
    run = SimpleNamespace(conf={"restart": 1, "restarts": 2, "hang_after": 60})
    with pytest.raises(AirflowFailException) as failure:
        make_operator(CheckOperator).execute(context | {"dag_run": run})
    lines = [line.strip() for line in str(failure.value).splitlines()]
    assert [line.partition(": ")[2] for line in lines if line.startswith("right")] == ["restarts", "hang_after_s"]
    assert [line.split(":")[1].strip() for line in lines if line.startswith("conf")] == ["restart", "hang_after"]


def test_check_refuses_a_query_that_differs_from_the_one_of_its_checkpoint(make_operator, host, context, place, layout):
    layout.create_checkpoint(load(place / "queries" / "readings.yaml").structure(), {"readings": {"id": "int64"}}, {})
    make_operator(CheckOperator).execute(context)
    declare(place / "queries", "readings", QUERY.replace("2 h", "3 h"))
    with pytest.raises(AirflowFailException, match=r"window.size: .*\n.*the old value; or tailrace rebuild"):
        make_operator(CheckOperator).execute(context)


def begin(place, layout) -> Path:
    """Create the checkpoint of the declared query; returns the query's file."""
    file = place / "queries" / "readings.yaml"
    layout.create_checkpoint(load(file).structure(), {"readings": {"id": "int64"}}, {})
    return file


def files(directory: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in directory.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("field", "old", "new"),
    [
        ("window.size", ("window: {{size: 2 h", "'2 h'"), ("window: {{size: 3 h", "'3 h'")),
        ("disorder.tick", ("tick: 1 min", "60000"), ("tick: 2 min", "120000")),
    ],
)
@pytest.mark.parametrize("by", ["operator", "command"])
def test_a_query_that_its_checkpoint_does_not_fit_is_not_deployed(
    make_operator, host, context, place, layout, monkeypatch, by, field, old, new
):
    file = begin(place, layout)
    declare(place / "queries", "readings", QUERY.replace(old[0], new[0]))
    monkeypatch.setattr(settings, "use_in_shell", lambda: None)
    before = files(place / "warehouse")
    with pytest.raises((AirflowFailException, Refused)) as refusal:
        make_operator(DeployOperator).execute(context) if by == "operator" else commands.deploy("readings")
    [wrong, right] = str(refusal.value).splitlines()
    assert wrong == f"{file}: {field}: it is {new[1]}, but the stream in {layout.home} was begun with {old[1]}"
    assert f"the old value; or tailrace rebuild {file} --warehouse {layout.home.parent}, once the" in right
    assert "or another name for the query, or another warehouse, to begin again" in right
    assert host.deployed == []
    assert files(place / "warehouse") == before


@pytest.mark.parametrize("file_is", ["of another query", "wrong"])
def test_a_driver_that_hangs_is_not_ended_when_no_other_could_follow_it(
    make_operator, host, context, place, layout, file_is
):
    begin(place, layout)
    result = driver_lifecycle.deploy(host, layout, ["go"], {})
    declare(place / "queries", "readings", QUERY.replace("2 h", "3 h" if file_is == "of another query" else "2"))
    with pytest.raises(AirflowFailException, match=r"pid 101 is left as it is(.|\n)*window.size(.|\n)*clear supervise"):
        resume(make_operator(SuperviseOperator), context, verdict("hung", result.driver.pid), [], result.deployment)
    assert (host.driver, host.stopped, host.ran) == (result.driver, [], [])
    assert driver_lifecycle.deployment(layout) == result.deployment
    declare(place / "queries", "readings", QUERY)
    with pytest.raises(TaskDeferred):
        resume(make_operator(SuperviseOperator), context, verdict("hung", result.driver.pid), [], result.deployment)
    assert host.stopped == [0]


def test_hangs_that_were_noted_while_the_wall_clock_was_ahead_do_not_count(make_operator, host, context, place, layout):
    begin(place, layout)
    result, ahead = driver_lifecycle.deploy(host, layout, ["go"], {}), [time.time() + 86_400] * 5
    with pytest.raises(TaskDeferred):
        resume(make_operator(SuperviseOperator), context, verdict("hung", result.driver.pid), ahead, result.deployment)
    assert host.stopped == [0]


@pytest.mark.parametrize("wrong", ["unset", "relative", "file", "forbidden"])
def test_check_refuses_a_warehouse_that_cannot_be_written_to(make_operator, host, context, place, monkeypatch, wrong):
    (place / "file").touch()
    if wrong == "unset":
        monkeypatch.delenv("TAILRACE_WAREHOUSE")
    elif wrong == "forbidden":
        monkeypatch.setattr(writable.os, "access", lambda *arguments: False)  # root may write everywhere
    else:
        monkeypatch.setenv("TAILRACE_WAREHOUSE", {"relative": "wh", "file": str(place / "file")}[wrong])
    with pytest.raises(AirflowFailException, match="right would be"):
        make_operator(CheckOperator).execute(context)


@pytest.mark.parametrize(
    ("columns", "wrong"),
    [
        ({"event_time": [1], "arrival_time": [1], "id": ["a"]}, r"yaml:\d+: aggregate\..*it has no column 'value'"),
        ({"event_time": [1], "arrival_time": [1], "id": ["a"], "value": ["one"]}, "column value: its type is string"),
        ({"event_time": [1], "arrival_time": [1], "id": ["a"], "value": [1.0]}, None),
    ],
)
def test_check_looks_at_the_columns_and_types_of_the_source(make_operator, host, context, place, columns, wrong):
    (place / "queries" / "readings").mkdir()
    pq.write_table(pa.table(columns), place / "queries" / "readings" / "a.parquet")
    if wrong is None:
        make_operator(CheckOperator).execute(context)
        return
    with pytest.raises(AirflowFailException, match=wrong):
        make_operator(CheckOperator).execute(context)


def test_check_passes_over_a_source_that_can_not_be_looked_at_from_there(make_operator, host, context, place):
    assert not (place / "queries" / "readings").exists()
    make_operator(CheckOperator).execute(context)


def test_check_refuses_a_connection_that_is_missing(make_operator, host, context, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_TAILRACE_SPARK")
    with pytest.raises(
        AirflowFailException, match=r"connection tailrace_spark.*\n.*airflow connections add tailrace_spark"
    ):
        make_operator(CheckOperator).execute(context)


def test_check_is_retried_when_the_host_is_down(make_operator, host, context):
    host.down = True
    with pytest.raises(DriverHostDown):
        make_operator(CheckOperator).execute(context)


def test_deploy_is_idempotent_and_takes_the_settings_of_the_form(make_operator, host, context, place):
    for _ in range(2):
        make_operator(DeployOperator).execute(context)
    [(command, environment)] = host.deployed
    command_line = " ".join(command)
    home = place / "warehouse" / "readings"
    assert f"-m tailrace.drivers.launch --home {home} --restarts 2 --within 600 -- spark-submit" in command_line
    assert "--master local[*]" in command_line
    assert "--driver-memory 3g" in command_line
    assert command_line.endswith(
        f"stream.py {place}/queries/readings.yaml --warehouse {place}/warehouse --batch-rows 5 --deployed readings"
    )
    names = {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_LOCAL_IP"}
    assert set(environment) == names | {"TAILRACE_DEPLOYMENT"}
    assert Path(environment["SPARK_HOME"], "bin", "spark-submit").exists()
    named = [word for word in command if "log4j2.configurationFile" in word]
    assert named or Path(environment["SPARK_CONF_DIR"], "log4j2.properties").exists()


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2, 3]"])
def test_a_local_driver_listens_on_loopback_only_and_requires_a_secret(
    make_operator, host, context, monkeypatch, master
):
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", json.dumps({"conn_type": "spark", "host": master}))
    make_operator(DeployOperator).execute(context)
    [(command, environment)] = host.deployed
    assert environment["SPARK_LOCAL_IP"] == "127.0.0.1"
    conf = {command[number + 1] for number, word in enumerate(command) if word == "--conf"}
    assert conf == LOCAL_CONF


def test_a_driver_of_a_cluster_is_not_bound_to_loopback(make_operator, host, context, monkeypatch):
    connection = {"conn_type": "spark", "host": "spark://local", "port": 7077}
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", json.dumps(connection))
    monkeypatch.setenv(SECRET, "the cluster's secret")
    make_operator(DeployOperator).execute(context)
    [(command, environment)] = host.deployed
    assert "spark://local:7077" in command
    assert not [word for word in command if "127.0.0.1" in word]
    assert "SPARK_LOCAL_IP" not in environment


@pytest.mark.parametrize("memory", ["999999g", "499m", "2g\n", "2", "2 g", "2t", ""])
@pytest.mark.parametrize("operator", [CheckOperator, DeployOperator])
def test_a_driver_memory_out_of_bounds_is_refused(make_operator, host, context, operator, memory):
    with pytest.raises(AirflowFailException, match=r"driver_memory.*\n.*from 500m to 999g"):
        make_operator(operator).execute(context | {"params": PARAMS | {"driver_memory": memory}})
    assert host.deployed == []


def test_deploy_refuses_a_cluster_mode_that_lacks_something(make_operator, host, context, monkeypatch):
    monkeypatch.setenv(
        "AIRFLOW_CONN_TAILRACE_SPARK", '{"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}'
    )
    with pytest.raises(AirflowFailException, match="yarn_resourcemanager_webapp_address"):
        make_operator(DeployOperator).execute(context)


def test_deploy_is_retried_while_a_driver_drains(make_operator, host, context, layout, monkeypatch):
    monkeypatch.setattr(driver_lifecycle, "GOING_S", 0.05)
    make_operator(DeployOperator).execute(context)
    layout.request_drain()
    with pytest.raises(Busy):  # Airflow retries a task after this error
        make_operator(DeployOperator).execute(context)
    assert len(host.deployed) == 1


def test_supervise_defers_at_once(make_operator, host, context, place):
    driver_lifecycle.deploy(host, stream_operators.Layout.for_query(place / "warehouse", "readings"), ["go"], {})
    with pytest.raises(TaskDeferred) as deferral:
        make_operator(SuperviseOperator).execute(context)
    assert deferral.value.method_name == "resume"
    trigger = deferral.value.trigger
    assert (trigger.query, trigger.warehouse, trigger.hang_after_s) == ("readings", str(place / "warehouse"), 77)
    assert context["ti"].notes[WATCHED] == trigger.deployment != ""


def test_supervise_succeeds_when_the_driver_ended(make_operator, host, context):
    host.is_now("ended", 0)
    assert "readings: ended" in resume(make_operator(SuperviseOperator), context, verdict("ended"), [])
    assert context["ti"].notes == {WATCHED: ""}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("failed", r"given up: as the judge says.*\n.*\n    a line\n    the last line"),
        ("gone", "stopped or removed"),
        ("unreachable", r"nobody watches it now.*mend the connection tailrace_driver_host"),
    ],
)
def test_supervise_fails_without_retry_and_says_what_to_do(make_operator, host, context, kind, message):
    with pytest.raises(AirflowFailException, match=message):
        resume(make_operator(SuperviseOperator), context, verdict(kind), [])
    assert context["ti"].notes == {WATCHED: ""}, "nobody requested the end of the stream"


@pytest.mark.parametrize(("kind", "state", "code"), [("ended", "ended", 0), ("failed", "failed", 3)])
def test_a_driver_that_is_over_is_not_restarted_with_its_host(make_operator, host, context, layout, kind, state, code):
    result = driver_lifecycle.deploy(host, layout, ["go"], {})
    host.is_now(state, code)
    with suppress(AirflowFailException):
        resume(make_operator(SuperviseOperator), context, verdict(kind), [], result.deployment)
    assert host.programs == set()
    assert host.ran[0][1:] == ["-m", "tailrace.drivers.fence", str(layout.home)], "nothing of it is left"


def test_a_driver_that_waits_for_its_warehouse_is_watched_and_not_replaced(host, layout, make_operator, context):
    result = driver_lifecycle.deploy(host, layout, ["go", "--home", str(layout.home)], {})
    layout.home.parent.rename(layout.home.parent.with_name("disk"))
    layout.home.parent.mkdir()
    with pytest.raises(TaskDeferred):
        resume(make_operator(SuperviseOperator), context, verdict("hung", result.driver.pid), [], "")
    assert (host.stopped, len(host.programs), len(host.deployed)) == ([], 1, 1)
    with pytest.raises(Busy, match="the warehouse is away"):
        make_operator(CheckOperator).execute(context)
    assert list(layout.home.parent.iterdir()) == []


@pytest.mark.parametrize("kind", ["ended", "failed", "gone", "hung"])
def test_the_end_of_a_driver_does_not_affect_a_later_deployment(make_operator, host, context, layout, kind):
    """The pid does not tell them apart: the kernel reuses numbers."""
    old = driver_lifecycle.deploy(host, layout, ["go"], {})
    host.is_now("ended", 0)
    driver_lifecycle.deploy(host, layout, ["another"], {})
    host.driver = replace(host.driver, pid=old.driver.pid)
    with suppress(AirflowFailException, TaskDeferred):
        resume(make_operator(SuperviseOperator), context, verdict(kind, old.driver.pid), [], old.deployment)
    assert (host.driver.state, host.stopped, host.ran) == ("running", [], [])
    assert host.programs == {program_of(host, layout.home)}


def test_supervise_continues_with_the_driver_that_replaced_its_own(make_operator, host, context, layout):
    old = driver_lifecycle.deploy(host, layout, ["go"], {})
    host.is_now("ended", 0)
    new = driver_lifecycle.deploy(host, layout, ["another"], {})
    with pytest.raises(TaskDeferred) as deferral:
        resume(make_operator(SuperviseOperator), context, verdict("replaced"), [5.0], old.deployment)
    assert deferral.value.trigger.deployment == new.deployment
    assert deferral.value.kwargs == {"hangs": [5.0], "deployment": new.deployment}
    assert context["ti"].notes == {WATCHED: new.deployment}
    assert host.stopped == []


def test_supervise_replaces_a_driver_that_hangs(make_operator, host, context, layout):
    first = driver_lifecycle.deploy(host, layout, ["go"], {})
    with pytest.raises(TaskDeferred) as deferral:
        resume(make_operator(SuperviseOperator), context, verdict("hung", first.driver.pid), [], first.deployment)
    assert host.stopped == [0]
    assert host.driver.pid != first.driver.pid
    [hang_s] = deferral.value.kwargs["hangs"]
    assert abs(hang_s - time.time()) < 60
    assert context["ti"].notes == {WATCHED: driver_lifecycle.deployment(layout)}


def test_the_driver_that_replaces_a_hung_one_takes_up_no_edit(make_operator, host, context, layout, place):
    context["params"] = PARAMS | {"batch_rows": 9}
    make_operator(DeployOperator).execute(context)
    deployment, on_record = driver_lifecycle.deployment(layout), DeployedQuery.read(layout)
    [(command, _)] = host.deployed
    declare(place / "queries", "readings", QUERY.replace("tick: 1 min", "tick: 1 min, idle: 20 s"))
    context["params"] = PARAMS | {"batch_rows": 8}
    with pytest.raises(TaskDeferred):
        resume(make_operator(SuperviseOperator), context, verdict("hung", host.driver.pid), [], deployment)
    assert DeployedQuery.read(layout) == on_record
    assert [command_of for command_of, _ in host.deployed] == [command, command]


@pytest.mark.needs("process")
@pytest.mark.parametrize("is_read", [True, False])
def test_the_events_of_a_stream_that_has_ended_have_its_promise_as_far_as_it_can_be_read(
    host, context, layout, place, is_read, monkeypatch
):
    task = stream_dags()["stream_readings"].get_task("supervise")
    write_status(layout, 1)
    host.is_now("ended", 0)
    events = {asset: SimpleNamespace(extra={}) for asset in task.outlets}
    if not is_read:
        layout.table("quality").mkdir(parents=True)
        layout.table("quality").joinpath("_delta_log").mkdir()
        layout.table("quality").joinpath("_delta_log", f"{0:020}.json").write_text("{")
    assert "readings: ended" in resume(task, context | {"outlet_events": events}, verdict("ended"), [])
    assert {asset.name for asset in events} == {"readings.late", "readings.quarantine", "readings.metrics"}
    assert {event.extra.get("promise") for event in events.values()} == {"unknown" if is_read else None}


def test_a_task_whose_driver_has_given_up_fails_with_the_problem_that_it_reported(make_operator, host, context, layout):
    """As after a wrong column: the first line says it, before the driver's last lines."""
    write_status(layout, 1)
    replace(Status.read(layout), problem="source: /in/b.csv: it has no column 'v'\n    right would be: w").write(layout)
    host.is_now("failed", 2)
    with pytest.raises(AirflowFailException) as failure:
        resume(make_operator(SuperviseOperator), context, verdict("failed"), [])
    assert str(failure.value).splitlines()[:4] == [
        "the driver of readings has given up: source: /in/b.csv: it has no column 'v'",
        "    right would be: w",
        "The driver host says: as the judge says. Mend that; clear this task",
        "Its last lines:",
    ]


def test_a_second_deployment_warns_of_settings_that_are_not_in_force(make_operator, host, context, capsys):
    make_operator(DeployOperator).execute(context)
    context["params"] = PARAMS | {"batch_rows": 6}
    make_operator(DeployOperator).execute(context)
    output = capsys.readouterr().out
    assert "readings: 1 setting not in force, its driver runs what was deployed:" in output
    assert "    batch_rows: 5 → 6" in output
    assert len(host.deployed) == 1


def test_supervise_does_not_replace_a_driver_that_hangs_while_it_is_drained(make_operator, host, context, layout):
    """Whoever drains it ends it by force at the deadline, and no other driver is to follow."""
    first = driver_lifecycle.deploy(host, layout, ["go"], {})
    layout.request_drain()
    with pytest.raises(TaskDeferred):
        resume(make_operator(SuperviseOperator), context, verdict("hung", first.driver.pid), [], first.deployment)
    assert layout.drain.exists()
    assert (host.driver.pid, host.stopped, len(host.deployed)) == (first.driver.pid, [], 1)


def test_supervise_holds_the_deployment_lock_while_it_replaces_a_driver(make_operator, host, context, layout):
    """Else the new driver could have another run's settings, or one that another run just created be stopped."""
    result = driver_lifecycle.deploy(host, layout, ["go"], {})
    is_free = []

    def try_lock() -> None:
        try:
            with layout.lock("deploy", 0):
                is_free.append(True)
        except Busy:
            is_free.append(False)

    def try_lock_in_a_thread() -> None:
        thread = threading.Thread(target=try_lock)
        thread.start()
        thread.join()

    host.on_inspect = try_lock_in_a_thread
    with pytest.raises(TaskDeferred):
        resume(make_operator(SuperviseOperator), context, verdict("hung", result.driver.pid), [], result.deployment)
    assert len(is_free) >= 3, "one look each to check the pid, to stop and to deploy"
    assert not any(is_free)
    host.on_inspect()
    assert is_free[-1]


def test_supervise_does_not_replace_a_driver_with_another_pid(make_operator, host, context, layout):
    result = driver_lifecycle.deploy(host, layout, ["go"], {})
    with pytest.raises(TaskDeferred) as deferral:
        resume(make_operator(SuperviseOperator), context, verdict("hung", 99), [], result.deployment)
    assert host.stopped == []
    assert deferral.value.kwargs["hangs"] == []


def test_supervise_gives_up_a_driver_that_hangs_beyond_the_budget(make_operator, host, context, layout):
    now_s = time.time()
    result, hangs = driver_lifecycle.deploy(host, layout, ["go"], {}), [now_s - 700, now_s - 650, now_s - 5]
    with pytest.raises(TaskDeferred) as deferral:  # the two hangs older than within_s do not count
        resume(make_operator(SuperviseOperator), context, verdict("hung", result.driver.pid), hangs, result.deployment)
    arguments = deferral.value.kwargs
    assert len(arguments["hangs"]) == 2
    with pytest.raises(AirflowFailException, match="hangs again and again"):
        resume(make_operator(SuperviseOperator), context, verdict("hung", host.driver.pid), **arguments)
    assert not host.driver.alive
    assert host.programs == set()
    assert context["ti"].notes == {WATCHED: ""}


def test_a_failed_trigger_does_not_drain_the_driver(make_operator, host, context, layout):
    context["ti"] = FakeTaskInstance(**{WATCHED: deploy_drainable_driver(host, layout)})
    with pytest.raises(TaskDeferralError):
        make_operator(SuperviseOperator).resume_execution("__fail__", {"error": "Trigger failure"}, context)
    make_operator(DrainOperator).execute(context)
    assert host.driver.alive


def deploy_drainable_driver(host, layout):
    result = driver_lifecycle.deploy(host, layout, ["go"], {})
    host.on_inspect = lambda: layout.drain.exists() and host.is_now("ended", 0)
    return result.deployment


@pytest.mark.parametrize("state", ["failed", "success"])
def test_drain_drains_the_driver_when_supervise_was_marked(make_operator, host, context, layout, state):
    context["ti"] = FakeTaskInstance(state, **{WATCHED: deploy_drainable_driver(host, layout)})
    make_operator(DrainOperator).execute(context)
    assert host.driver.state == "ended"
    assert host.programs == set(), "it would come back, unwatched, when its host is started again"


@pytest.mark.parametrize("state", ["skipped", "success"])
@pytest.mark.parametrize("only", ["its own", "another"])
def test_drain_drains_the_runs_own_driver_when_the_run_ended_before_supervise_watched(
    make_operator, host, context, layout, state, only
):
    """The end of a run skips its tasks still to run; a `supervise` that never watched succeeds only if marked."""
    deployment = deploy_drainable_driver(host, layout)
    context["ti"] = FakeTaskInstance(state, **{DEPLOYED: deployment if only == "its own" else only})
    make_operator(DrainOperator).execute(context)
    assert host.driver.alive == (only == "another")


def test_drain_drains_the_driver_when_the_run_ended_between_two_tries_of_supervise(
    make_operator, host, context, layout
):
    context["ti"] = FakeTaskInstance("skipped", **{WATCHED: "", DEPLOYED: deploy_drainable_driver(host, layout)})
    make_operator(DrainOperator).execute(context)
    assert host.driver.state == "ended"


@pytest.mark.parametrize("state", ["failed", "success"])
def test_drain_leaves_the_driver_when_supervise_ended_by_itself(make_operator, host, context, layout, state):
    """For example when the driver host was unreachable: the stream goes on, though nobody watches it."""
    context["ti"] = FakeTaskInstance(state, **{WATCHED: "", DEPLOYED: deploy_drainable_driver(host, layout)})
    make_operator(DrainOperator).execute(context)
    assert host.driver.alive
    assert not layout.drain.exists()


def test_drain_leaves_the_driver_when_supervise_failed_before_it_watched(
    make_operator, host, context, layout, monkeypatch, caplog
):
    """A missing disk, or a worker killed in every try, is no request that the stream end."""
    context["ti"] = FakeTaskInstance("failed", **{DEPLOYED: deploy_drainable_driver(host, layout)})

    def fail(layout):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(driver_lifecycle, "deployment", fail)
        with pytest.raises(OSError, match="Input/output"):
            make_operator(SuperviseOperator).execute(context)
    make_operator(DrainOperator).execute(context)
    assert host.driver.alive
    assert not layout.drain.exists()


def test_drain_leaves_the_driver_when_a_worker_was_killed_after_the_watch(
    make_operator, host, context, layout, monkeypatch
):
    context["ti"] = FakeTaskInstance("failed", **{WATCHED: deploy_drainable_driver(host, layout)})
    supervise = make_operator(SuperviseOperator)

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(supervise, "layout", interrupt)  # the first call of `resume`
    with pytest.raises(KeyboardInterrupt):
        resume(supervise, context, verdict("hung", 101), [])
    make_operator(DrainOperator).execute(context)
    assert host.driver.alive
    assert not layout.drain.exists()


def test_drain_leaves_the_driver_of_a_later_deployment(make_operator, host, context, layout):
    deploy_drainable_driver(host, layout)
    context["ti"] = FakeTaskInstance(**{WATCHED: "an earlier one"})
    make_operator(DrainOperator).execute(context)
    assert host.driver.alive


def test_secrets_of_a_connection_are_in_no_command_and_no_log(make_operator, host, context, place, monkeypatch, capfd):
    connection = (
        '{"conn_type": "spark", "host": "spark://h:7077", "password": "s3cret", "extra": {"keytab": "czNjcmV0"}}'
    )
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", connection)
    monkeypatch.setenv(SECRET, "the cluster's s3cret")
    make_operator(DeployOperator).execute(context)
    [(command, _)] = host.deployed
    assert "s3cret" not in str(command)
    assert "s3cret" not in "".join(capfd.readouterr())


def test_deploy_refuses_a_spark_binary_that_the_provider_does_not_allow(make_operator, host, context, monkeypatch):
    monkeypatch.setenv(
        "AIRFLOW_CONN_TAILRACE_SPARK", '{"conn_type": "spark", "host": "local[*]", "extra": {"spark-binary": "sh"}}'
    )
    with pytest.raises(AirflowFailException, match=r"spark-binary is 'sh'\n.*spark-submit, spark2-submit"):
        make_operator(DeployOperator).execute(context)
    assert host.deployed == []


def environment_of(make_operator):
    operator = make_operator(DeployOperator)
    return operator.deployment(operator.declared(), Options())[1]


def test_the_roots_of_sources_are_passed_on_to_drivers(make_operator, place, monkeypatch):
    monkeypatch.setenv("TAILRACE_SOURCES", str(place))
    assert environment_of(make_operator)["TAILRACE_SOURCES"] == str(place)
    monkeypatch.delenv("TAILRACE_SOURCES")
    assert "TAILRACE_SOURCES" not in environment_of(make_operator)


TOPIC = QUERY.replace(
    "{{format: parquet, path: readings}}", '{{format: kafka, servers: "b:9092", topic: t, connection: main_kafka}}'
).replace("    arrival_time: arrival_time\n", "")


def test_the_connections_of_a_query_are_passed_on_to_its_driver_alone(
    make_operator, host, context, place, monkeypatch, capfd
):
    declare(place / "queries", "readings", TOPIC)
    extra = {"bootstrap.servers": "b:9092", "security.protocol": "SASL_SSL"}
    known = {"conn_type": "kafka", "host": "b", "port": 9092, "login": "me", "password": "s3cret", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_MAIN_KAFKA", json.dumps(known))
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps(known))
    make_operator(DeployOperator).execute(context)
    [(command, environment)] = host.deployed
    assert json.loads(environment["AIRFLOW_CONN_MAIN_KAFKA"]) == {
        **{"host": "b", "port": 9092, "login": "me", "password": "s3cret"},
        "extra": extra,
    }
    assert "AIRFLOW_CONN_OTHER" not in environment
    assert "s3cret" not in " ".join(command)
    assert "s3cret" not in "".join(capfd.readouterr())


def test_a_connection_that_airflow_does_not_know_is_left_to_the_driver_host(make_operator, place, monkeypatch):
    declare(place / "queries", "readings", TOPIC)
    monkeypatch.delenv("AIRFLOW_CONN_MAIN_KAFKA", raising=False)
    assert "AIRFLOW_CONN_MAIN_KAFKA" not in environment_of(make_operator)


def run_of(run_id, states):
    """The context of another run, while `supervise` of the runs in `states` is as given."""
    ti = FakeTaskInstance("running")
    ti.run_id, ti.others = run_id, states
    return {"params": PARAMS, "ti": ti, "dag": SimpleNamespace(params=PARAMS), "dag_run": SimpleNamespace(conf={})}


TASKS = [CheckOperator, DeployOperator, SuperviseOperator]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("state", [None, "queued", "running", "deferred", "up_for_retry"])
def test_a_second_run_is_skipped_and_names_the_one_that_watches(
    make_operator, host, context, layout, capsys, task, state
):
    """Whatever it was triggered by, and whichever of its tasks was cleared."""
    for cls in (CheckOperator, DeployOperator):
        make_operator(cls).execute(context)
    before = files(layout.home.parent)
    with pytest.raises(AirflowSkipException, match="run r watches the stream of readings already: this run ends"):
        make_operator(task).execute(run_of("second", {"r": state}))
    assert "run r watches the stream" in capsys.readouterr().out.splitlines()[-1]
    assert len(host.deployed) == 1
    assert (host.stopped, host.ran) == ([], [])
    assert files(layout.home.parent) == before


@pytest.mark.parametrize("wrong", ["conf", "query", "host"])
def test_a_second_run_that_would_be_refused_is_skipped_too(make_operator, host, context, place, wrong):
    """Else the DAG of a healthy stream would turn red."""
    make_operator(CheckOperator).execute(context)
    second = run_of("second", {"r": "deferred"})
    if wrong == "conf":
        second["dag_run"] = SimpleNamespace(conf={"restart": 1})
    elif wrong == "query":
        declare(place / "queries", "readings", QUERY.replace("size: 2 h", "size: 2"))
    else:
        host.down = True
    for task in TASKS:
        with pytest.raises(AirflowSkipException):
            make_operator(task).execute(second)


@pytest.mark.parametrize(
    "states", [{"r": state} for state in ("success", "failed", "skipped", "upstream_failed")] + [{}]
)
def test_a_run_follows_one_that_is_over_or_deleted(make_operator, host, context, states):
    make_operator(CheckOperator).execute(context)
    second = run_of("second", states)
    make_operator(CheckOperator).execute(second)
    make_operator(DeployOperator).execute(second)
    with pytest.raises(TaskDeferred):
        make_operator(SuperviseOperator).execute(second)
    with pytest.raises(AirflowSkipException, match="run second watches"):
        make_operator(SuperviseOperator).execute(run_of("r", {"second": "deferred"}))


def test_a_run_that_is_refused_has_claimed_nothing(make_operator, host, context, place):
    declare(place / "queries", "readings", QUERY.replace("size: 2 h", "size: 2"))
    for task in (CheckOperator, DeployOperator):
        with pytest.raises(AirflowFailException):
            make_operator(task).execute(context)
    declare(place / "queries", "readings", QUERY)
    make_operator(CheckOperator).execute(run_of("second", {"r": None}))


def test_of_two_runs_that_begin_at_once_one_is_skipped(make_operator, host, layout):
    barrier, skipped = threading.Barrier(2), []

    def check(context):
        barrier.wait()
        try:
            make_operator(CheckOperator).execute(context)
        except AirflowSkipException:
            skipped.append(context["ti"].run_id)

    contexts = [run_of(run_id, {"a": None, "b": None}) for run_id in ("a", "b")]
    threads = [threading.Thread(target=check, args=[context]) for context in contexts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(skipped) == 1
    assert [watching_run(layout), *skipped] in (["a", "b"], ["b", "a"])


def test_the_claim_in_a_copy_of_a_warehouse_is_the_originals(make_operator, host, context, place, monkeypatch):
    make_operator(CheckOperator).execute(context)
    shutil.copytree(place / "warehouse", place / "copy")
    monkeypatch.setenv("TAILRACE_WAREHOUSE", str(place / "copy"))
    make_operator(CheckOperator).execute(run_of("second", {"r": "deferred"}))


def test_the_end_of_a_skipped_run_drains_nothing(make_operator, host, context, layout):
    """Clearing `supervise` of an old run, while another one watches, runs its `drain` too."""
    make_operator(CheckOperator).execute(context)
    deployment = deploy_drainable_driver(host, layout)
    old = run_of("old", {"r": "deferred"})
    old["ti"].state = "skipped"
    old["ti"].notes = {DEPLOYED: deployment}
    make_operator(DrainOperator).execute(old)
    assert host.driver.alive
    assert not layout.drain.exists()
    context["ti"].state, context["ti"].notes = "success", {WATCHED: deployment}
    make_operator(DrainOperator).execute(context)
    assert not host.driver.alive
