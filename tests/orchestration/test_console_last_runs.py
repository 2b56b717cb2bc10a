"""The newest runs of queries' DAGs, over a database of Airflow's: which failed, when, why, and who reads why."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kit.parts.airflow_database import AirflowDatabase
from tailrace.console import last_runs, rights
from tailrace.console.last_runs import LastRun, read_all, read_failures
from tailrace.console.stream_order import is_ill
from tailrace.console.stream_rows import StreamRow, StreamStateRow, with_runs
from tailrace.orchestration.calibration_dags import calibration_dags
from tailrace.orchestration.correction_dags import correction_dags
from tailrace.orchestration.failure_reason import store_reason
from tailrace.orchestration.publish_dags import publish_dags
from tailrace.orchestration.rebuild_dags import rebuild_dags
from tailrace.orchestration.stream_dags import stream_dags

KINDS = "stream", "correct", "calibrate", "publish", "rebuild"


@pytest.fixture
def closed(monkeypatch):
    """The DAGs whose task logs the user may not read."""
    dags: set[str] = set()
    monkeypatch.setattr(
        rights, "readable_dags", lambda ids, user, entity=None: [each for each in ids if each not in dags]
    )
    return dags


@pytest.fixture
def airflow(closed, monkeypatch):
    database = AirflowDatabase.create()
    monkeypatch.setattr(last_runs, "create_session", database.session)
    for kind in KINDS:
        database.dag(f"{kind}_a_b")
    return database


def failures(*names):
    return read_failures(names or ["a_b"], "ada")


def kinds(runs):
    return [(run.kind, run.state) for run in runs]


def test_the_newest_run_that_failed_has_its_task_time_and_reason(airflow):
    airflow.run("stream_a_b", "manual__1", "failed", 5_000, check="readings: no column 'valeu'")
    [run] = failures()["a_b"]
    assert (run.kind, run.tone, run.task, run.at) == ("stream", "warn", "check", 4_999)
    said = "the deployment failed at 1970-01-01T00:00:04.999Z, in its task check: readings: no column 'valeu'"
    assert run.says == said
    assert run.page == "dags/stream_a_b/runs/manual__1/tasks/check"


def test_of_several_tasks_the_first_that_failed_is_named(airflow):
    airflow.run("correct_a_b", "scheduled__1/x", "failed", 5_000, wait="the first", correct="the second")
    [run] = failures()["a_b"]
    assert "in its task wait: the first" in run.says
    assert run.page == "dags/correct_a_b/runs/scheduled__1%2Fx/tasks/wait"


def test_a_reason_is_for_those_who_may_read_the_tasks_log(airflow, closed):
    airflow.run("stream_a_b", "1", "failed", 5_000, check="SECRET")
    closed.add("stream_a_b")
    [run] = failures()["a_b"]
    assert run.says.endswith("in its task check: its reason is in the task's log")
    assert "SECRET" not in read_all("a_b", "ada")[0].says


def test_a_task_that_was_killed_left_no_reason_and_that_is_said(airflow):
    airflow.run("stream_a_b", "1", "failed", 5_000, check=None)
    airflow.run("correct_a_b", "1", "failed", 5_000)  # as one that somebody marked before its tasks ran
    stream, correction = failures()["a_b"]
    assert "in its task check: it left no reason" in stream.says
    assert correction.says.startswith("the correction failed at 1970-01-01T00:00:05.000Z: it left no reason")
    assert correction.page == "dags/correct_a_b/runs/1"


@pytest.mark.parametrize(("success", "is_failed"), [(5_000, False), (3_000, True)])
def test_a_later_success_ends_a_failure(airflow, success, is_failed):
    """By the end of the runs: the one that failed may have watched a stream while others came and went."""
    airflow.run("stream_a_b", "watch", "failed", 4_000, supervise="given up")
    airflow.run("stream_a_b", "skipped", "success", success)
    assert kinds(failures().get("a_b", [])) == ([("stream", "failed")] if is_failed else [])
    assert kinds(read_all("a_b", "ada")) == [("stream", "failed" if is_failed else "success")]


def test_of_several_failures_the_newest_counts(airflow):
    airflow.run("correct_a_b", "1", "failed", 9_000, correct="the newest")
    airflow.run("correct_a_b", "2", "failed", 8_000, correct="an older one")
    [run] = failures()["a_b"]
    assert "the newest" in run.says


def test_streams_has_failures_of_all_queries_and_the_streams_that_are_going_on(airflow):
    for kind in KINDS:
        airflow.dag(f"{kind}_c")
        airflow.run(f"{kind}_a_b", "1", "failed", 4_000)
        airflow.run(f"{kind}_c", "1", "running", None, started=2_000)
    found = failures("a_b", "c", "none")
    assert kinds(found["a_b"]) == [(kind, "failed") for kind in KINDS[:-1]], "a rebuild that was left needs nothing"
    assert [(run.kind, run.state, run.tone, run.at) for run in found["c"]] == [("stream", "running", "idle", 2_000)]
    assert "none" not in found


def test_a_head_has_what_is_going_on_before_what_has_ended(airflow):
    airflow.run("correct_a_b", "1", "success", 4_000)
    airflow.run("correct_a_b", "2", "queued", None)
    airflow.run("rebuild_a_b", "1", "failed", 4_000, rebuild="refused")
    airflow.run("correct_other", "1", "failed", 4_000)
    found = read_all("a_b", "ada")
    assert kinds(found) == [("correct", "queued"), ("correct", "success"), ("rebuild", "failed")]
    assert [run.tone for run in found] == ["idle", "good", "warn"]


def test_a_dag_that_airflow_does_not_read_any_more_has_no_last_run(airflow):
    airflow.dag("stream_gone", is_stale=True)
    airflow.run("stream_gone", "1", "failed", 4_000, check="wrong")
    assert failures("gone") == {}
    assert read_all("gone", "ada") == []


def run_of(kind="stream", state="failed", at=5_000, tone="warn"):
    return LastRun(kind=kind, state=state, tone=tone, at=at, says=f"the run of {kind} failed", page="dags/x/runs/1")


def row(tone="idle", word="not deployed", reported_at=None):
    state = StreamStateRow(word=word, tone=tone, why="nothing has run yet", since=None)
    return StreamRow(name="a", kind=None, file="a.yaml", state=state, reported_at=reported_at)


@pytest.mark.parametrize(("word", "reported_at"), [("not deployed", None), ("drained", 4_999)])
def test_a_failed_deployment_is_the_state_of_a_stream_that_does_not_run(word, reported_at):
    found = with_runs(row(word=word, reported_at=reported_at), [run_of()])
    assert (found.state.word, found.state.tone, found.state.why) == ("deploy failed", "bad", "the run of stream failed")
    assert [run.tone for run in found.runs] == ["bad"]
    assert is_ill(found)


@pytest.mark.parametrize(
    ("before", "runs"),
    [
        (row("good", "running"), [run_of()]),
        (row("warn", "starting"), [run_of()]),
        (row("idle", "drained", 5_000), [run_of()]),
        (row("idle", "draining", 4_000), [run_of()]),
        (row("idle", "starting", 4_000), [run_of()]),
        (row("idle", "unknown", 4_000), [run_of()]),
        (row(), [run_of(state="running", tone="idle"), run_of()]),
    ],
    ids=["runs", "starts", "drained since", "drains", "boots", "host is down", "is deployed again"],
)
def test_a_failure_after_which_a_driver_came_or_ended_is_history(before, runs):
    found = with_runs(before, runs)
    assert found.state == before.state
    assert {run.tone for run in found.runs} == {"idle"}
    assert is_ill(found) == (before.state.tone == "warn")


def test_a_driver_that_gave_up_keeps_its_state_and_its_run_has_the_reason():
    found = with_runs(row("bad", "stopped", 4_000), [run_of()])
    assert (found.state.word, found.runs[0].tone) == ("stopped", "bad")


@pytest.mark.parametrize("kind", ["correct", "calibrate", "publish"])
@pytest.mark.parametrize("tone", ["good", "idle"])
def test_another_failed_run_needs_attention_beside_the_state(kind, tone):
    found = with_runs(row(tone, "running"), [run_of(kind)])
    assert (found.state.tone, found.runs[0].tone) == (tone, "warn")
    assert is_ill(found)
    assert not is_ill(with_runs(row(tone, "running"), [run_of(kind, "success", tone="good")]))


class Task:
    def __init__(self):
        self.pushed = {}

    def xcom_push(self, key, value):
        self.pushed[key] = value


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ValueError("wrong"), "wrong"), (KeyError(), "KeyError"), (ValueError("x" * 9_000), "x" * 2_000)],
)
def test_a_task_that_fails_leaves_its_reason(error, reason):
    task = Task()
    store_reason({"exception": error, "ti": task})
    assert task.pushed == {"reason": reason}


@pytest.mark.parametrize("factory", [stream_dags, correction_dags, calibration_dags, publish_dags, rebuild_dags])
def test_every_task_leaves_its_reason(place, factory):
    tasks = [task for dag in factory().values() for task in dag.tasks]
    assert tasks
    assert all(store_reason in task.on_failure_callback for task in tasks)


@pytest.mark.parametrize("context", [{}, {"exception": "its process was killed"}])
def test_the_dag_processor_leaves_no_reason_for_a_task_that_was_killed(context):
    """It has no answer to an XCom, and would wait for one."""
    store_reason({**context, "ti": SimpleNamespace()})
