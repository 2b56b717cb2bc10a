"""A live stream under a ten-fold burst, with two, four and two tasks: on Spark, or on another engine."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.kill_points import SETTINGS
from kit.runs.live_stream import live
from kit.runs.warehouse import make_query, make_stream, rows_of, silences_of, write_files
from tailrace.engine.task_change import tasks_after
from tailrace.query.query import ElasticitySection
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.storage.tasks_in_force import request_tasks
from tailrace.stream import load_policy

TUPLES = make_stream(560, seed=29)
CALM = [0, 20, 40]
BURST = [40, 240, 440]
AFTER = [440, 460, 480, 500, 520, 540, 560]
BOUNDS = [*CALM, *BURST[1:], *AFTER[1:]]


def tasks_of(rows: dict[str, list[dict]]) -> list[int]:
    """The number of tasks of each batch."""
    batches = sorted({row["batch"] for row in rows["metrics"]})
    assert batches == list(range(len(batches))), "without a gap"
    return [sum(row["batch"] == batch for row in rows["metrics"]) for batch in batches]


def assert_two_four_and_two_tasks(tmp_path: Path, run) -> None:
    """Run it; the answers are the oracle's, and a request waits for three batches at most."""
    query, warehouse = make_query(tmp_path / "in", SETTINGS, idle="2 s"), tmp_path / "wh"
    layout, pauses, files = Layout.for_query(warehouse, "readings"), list[int](), iter(range(100))
    started = set[int]()

    def write(bounds: list[int]) -> None:
        for low, high in pairwise(bounds):
            write_files(TUPLES, tmp_path / "in", [low, high], first=next(files))

    def change(beside, tasks: int, bounds: list[int]) -> None:
        before = Journal(layout.journal).count
        request_tasks(layout, query, tasks)
        write(bounds)
        beside.until(lambda status, entry: tasks_after(entry.header.facts, 2, 0) == tasks)
        journal = Journal(layout.journal)
        first = next(n for n in range(before, journal.count) if tasks_after(journal[n].header.facts, 2, 0) == tasks)
        pauses.append(first - before)
        beside.until(lambda status, entry: entry.position.rows == bounds[-1] and status.batches > entry.header.batch)
        started.add(Status.read(layout).started_ms)

    def act(beside):
        beside.until(lambda status, entry: entry.position.rows == CALM[-1] and status.batches > entry.header.batch)
        change(beside, 4, BURST)
        change(beside, 2, AFTER)
        beside.until(lambda status, entry: entry.position.quiet and status.batches > entry.header.batch)

    write(CALM)
    live(query, warehouse, act, run=run)
    rows = rows_of(warehouse)
    assert_streamed(rows, stream(TUPLES, SETTINGS, flush=False, passed=silences_of(warehouse)))
    tasks = tasks_of(rows)
    assert [each for each, before in zip(tasks, [0, *tasks], strict=False) if each != before] == [2, 4, 2]
    assert max(pauses) <= 3, "batches from a request to the first one with its number"
    assert len(started) == 1, "one driver ran all of them"


def assert_a_busy_stream_gets_more_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run) -> None:
    """Run a stream each of whose batches counts as a busy one; the answers are the oracle's."""
    monkeypatch.setattr(load_policy, "BUSY_MS", 0)
    query = make_query(tmp_path / "in", SETTINGS, idle="2 s").model_copy(
        update={"elasticity": ElasticitySection(most=5)}
    )

    def act(beside):
        for number in range(8):
            bounds = [70 * number, 70 * (number + 1)]
            write_files(TUPLES, tmp_path / "in", bounds, first=number)
            beside.until(lambda status, entry, rows=bounds[1]: entry.position.rows == rows)
        beside.until(lambda status, entry: entry.position.quiet and status.batches > entry.header.batch)

    warehouse = tmp_path / "wh"
    (tmp_path / "in").mkdir()
    live(query, warehouse, act, run=run)
    rows = rows_of(warehouse)
    assert_streamed(rows, stream(TUPLES, SETTINGS, flush=False, passed=silences_of(warehouse)))
    tasks = tasks_of(rows)
    assert tasks[:3] == [2, 2, 4], "the third batch of the burst has more"
    assert tasks[-1] == max(tasks) == 5
    assert Status.read(Layout.for_query(warehouse, "readings")).tasks == 5
