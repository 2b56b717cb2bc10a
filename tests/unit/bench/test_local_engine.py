"""The runner in process: streams in memory, cut at will, and batches whose ticks are complete."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from bench.local_engine import LocalEngine, MemoryFormat
from kit.oracles.oracle import Settings, Tuple
from kit.runs.harness import make_pipeline, policy_of_oracle, raw_table
from tailrace.engine.chunk_stores import MemoryChunks

TUPLES = [Tuple(5 * i, 5 * i, f"t{i}", "a", 1.0) for i in range(8)]
POLICY = policy_of_oracle("none")


def places(memory: MemoryFormat, *cuts: int) -> list[tuple[str, int, int, int, int]]:
    """(file, first row, rows, ordinal, position) of each segment of the log."""
    log = memory.segments("readings", cuts)
    assert {segment.stream for segment in log} == {"readings"}
    return [(each.path, each.first_row, each.rows, each.ordinal, each.position) for each in log]


def test_a_log_of_tables_is_cut_at_positions() -> None:
    table = raw_table(TUPLES)
    memory = MemoryFormat({"x": table.slice(0, 5), "empty": table.slice(0, 0), "y": table.slice(5)})
    assert places(memory) == [("x", 0, 5, 0, 0), ("y", 0, 3, 1, 5)]
    cut = [("x", 0, 2, 0, 0), ("x", 2, 3, 1, 2), ("y", 0, 2, 2, 5), ("y", 2, 1, 3, 7)]
    assert places(memory, 7, 2, 5, 2, 0, 8) == cut
    assert [memory.read(each, {}).table["id"].to_pylist() for each in memory.segments("readings", [2, 7])] == [
        ["t0", "t1"],
        ["t2", "t3", "t4"],
        ["t5", "t6"],
        ["t7"],
    ]


# arrival   0   5 | 10  15 | 20  25 | 30  35      10 ms a tick; without a heartbeat the newest tick is pending
@pytest.mark.parametrize("tick", [10, 0])
@pytest.mark.parametrize("restarts", [False, True])
def test_batches_have_complete_ticks_where_that_is_wanted(tick: int, restarts: bool) -> None:
    memory = MemoryFormat({"x": raw_table(TUPLES)})
    frontiers: dict[bool, list[tuple[list[int], list[int]]]] = {}
    for complete in (True, False):
        engine = LocalEngine(make_pipeline(Settings(10, 10, tick), tables=memory.tables), restarts)
        frontiers[complete] = []
        for segment in memory.segments("readings", [2, 6]):
            engine.batch(POLICY, [segment], complete=complete)
            frontiers[complete].append((engine.frontier.tick.tolist(), engine.frontier.after.tolist()))
    if tick:
        assert frontiers[True] == [([0], [5]), ([1, 2], [15, 25]), ([3], [35])]
        assert frontiers[False] == [([], []), ([0, 1], [5, 15]), ([2], [25])]
    else:
        assert [numbers for numbers, _ in frontiers[True]] == [[0, 1], [2, 3, 4, 5], [6, 7]]
        assert [numbers for numbers, _ in frontiers[False]] == [[0], [1, 2, 3, 4], [5, 6]]


@pytest.mark.parametrize("tasks", [1, 3])
def test_restarts_change_nothing(tasks: int) -> None:
    tuples = [each._replace(key="abc"[i % 3], event_time=30 - each.event_time) for i, each in enumerate(TUPLES)]
    memory = MemoryFormat({"x": raw_table(tuples)})
    log = memory.segments("readings", [1, 3, 6])
    engines = [LocalEngine(make_pipeline(Settings(20, 10, 10), tasks, tables=memory.tables), each) for each in (0, 1)]
    for segment, closes in itertools.zip_longest(log, [False, False, True, True]):
        rows = [engine.batch(POLICY, [segment], closes=closes) for engine in engines]
        assert rows[0] == rows[1]
        packed = [
            [engine.clock_state.pack(), *(state.pack(MemoryChunks()) for state in engine.states)] for engine in engines
        ]
        assert packed[0] == packed[1]
        assert [len(engine.newest) for engine in engines] == [tasks, tasks]
        assert isinstance(rows[0]["metrics"], pa.Table)
