"""A batch's job in Spark's workers: each worker runs the clock once, and comes to what one process comes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.local_engine import MemoryFormat
from kit.oracles.oracle import Settings, Tuple
from kit.runs.harness import make_pipeline, policy_of_oracle, raw_table
from tailrace.disorder.policies import settings_of
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.executor import rows_by_table
from tailrace.engine.local_executor import LocalExecutor
from tailrace.engine.messages import Inbox, messages_of, unpacked_tables
from tailrace.engine.next_facts import DECLARED
from tailrace.engine.query_clock import QueryClock
from tailrace.engine.task_states import TaskStates
from tailrace.ground.facts import stamp
from tailrace.spark import batch_job
from tailrace.spark.batch_job import WorkerJob

TASKS = 3
TUPLES = [Tuple(7 * i % 50 + i, 10 * i, f"t{i}", "abcde"[i % 5], float(i)) for i in range(60)]
MEMORY = MemoryFormat({"all": raw_table(TUPLES)})
PIPELINE = make_pipeline(Settings(40, 20, 10), TASKS, tables=MEMORY.tables)
SEGMENTS = MEMORY.segments("readings", [20, 25, 40])
FACTS = stamp((), "settings", settings_of(policy_of_oracle("mp_k_slack")), 0, DECLARED)
HEADERS = [BatchHeader(0, FACTS), BatchHeader(1, FACTS, closes=True, ends=True)]
PARTS = [SEGMENTS[:2], SEGMENTS[2:]]


def run(job: WorkerJob, header: BatchHeader, segments: list, workers: list[list[int]]) -> dict[str, list[dict]]:
    """Run a job whose groups are shared among workers; returns the rows by table."""
    inboxes: list[list] = [[] for _ in range(TASKS)]
    for segment in segments:
        for group, message in messages_of(PIPELINE.prepare(segment, header), TASKS):
            inboxes[group].append(message)
    parts = []
    for groups in workers:
        batch_job._CLOCKS.clear()  # another process
        for group in groups:
            parts += unpacked_tables(job.advance(group, header, Inbox.from_messages(inboxes[group])))
    return {name: sorted(map(str, rows.to_pylist())) for name, rows in rows_by_table(parts).items()}


@pytest.mark.parametrize("workers", [[[0, 1, 2]], [[2], [1, 0]], [[1], [2], [0]]], ids=str)
def test_any_workers_come_to_the_rows_of_one_process(tmp_path: Path, workers: list[list[int]]) -> None:
    states, executor = TaskStates(tmp_path / "spark"), LocalExecutor(PIPELINE, TaskStates(tmp_path / "local"))
    for number, (header, segments) in enumerate(zip(HEADERS, PARTS, strict=True)):
        found = run(WorkerJob(str(number), PIPELINE, states, number - 1), header, segments, workers)
        rows = executor.run(header, segments, number - 1)
        assert found == {name: sorted(map(str, table.to_pylist())) for name, table in rows.items()}
        assert found["results"]
        for owner in ("clock", *range(TASKS)):
            assert states.read(owner, number) == executor.states.read(owner, number)


def test_a_worker_runs_the_clock_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, step = [], QueryClock.step
    monkeypatch.setattr(QueryClock, "step", lambda *of: steps.append(1) or step(*of))
    run(WorkerJob("one", PIPELINE, TaskStates(tmp_path), -1), HEADERS[0], PARTS[0], [[0, 2], [1]])
    assert len(steps) == 2


def test_a_job_that_is_run_again_does_not_take_the_clock_of_the_one_before(tmp_path: Path) -> None:
    states, header = TaskStates(tmp_path), HEADERS[0]
    batch_job._CLOCKS.clear()
    WorkerJob("first", PIPELINE, states, -1).advance(1, header, Inbox())
    messages = [message for group, message in messages_of(PIPELINE.prepare(SEGMENTS[0], header), TASKS) if group == 1]
    rows = dict(
        unpacked_tables(WorkerJob("second", PIPELINE, states, -1).advance(1, header, Inbox.from_messages(messages)))
    )
    assert rows["metrics"].column("newest_event").to_pylist() != [None]
