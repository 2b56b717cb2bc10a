"""The executor in this process: every kind goes on from the states that it wrote, and a batch can be run again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kit.runs.kind_streams import KINDS, Row, query_of, sides_of, without_measured, write_files
from kit.runs.local_driver import Driver
from kit.runs.warehouse import EPOCH
from tailrace.engine import local_executor
from tailrace.engine.chunk_stores import LostChunk
from tailrace.engine.local_executor import LocalExecutor
from tailrace.engine.task_states import TaskStates
from tailrace.storage.journal import Journal

BATCHES = 4


def begun(name: str, directory: Path) -> Driver:
    """A driver of a kind's stream that has run some batches."""
    for side in sides_of(name):
        draw, rows = random.Random(side), []
        for number in range(20 * BATCHES):
            event = EPOCH + 40 * number
            rows.append(Row.draw(event, event + draw.randrange(300), f"{side}{number}", draw))
        write_files(rows, directory / side, 20)
    driver = Driver(query_of(name, directory), directory / "wh")
    driver.run(20 * len(sides_of(name)))
    return driver


def rows_of(executor: LocalExecutor, driver: Driver, batch: int) -> dict[str, list[dict]]:
    entry = Journal(driver.layout.journal)[batch]
    found = executor.run(entry.header, entry.segments, batch - 1)
    of_files = {"path", "size", "mtime_ns"}
    return {
        name: [
            {key: value for key, value in without_measured(row).items() if key not in of_files}
            for row in rows.to_pylist()
        ]
        for name, rows in found.items()
    }


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", KINDS)
def test_threads_states_in_memory_and_runs_again_change_no_row(tmp_path, name):
    driver = begun(name, tmp_path)
    pipeline = driver.pipeline
    runs = []
    for label, threads in (("one", 1), ("three", 3)):
        executor = LocalExecutor(pipeline, TaskStates(tmp_path / label), threads)
        rows = [rows_of(executor, driver, batch) for batch in range(BATCHES)]
        again = LocalExecutor(pipeline, TaskStates(tmp_path / label), threads)  # it holds no state yet
        assert rows_of(again, driver, BATCHES - 1) == rows[-1]
        assert rows_of(again, driver, BATCHES - 1) == rows[-1], "the state that it holds is of the batch itself"
        runs.append(rows)
    assert runs[0] == runs[1]
    assert any("results" in rows for rows in runs[0])


def test_a_large_state_is_read_from_its_file(tmp_path, monkeypatch):
    driver = begun("aggregate", tmp_path)
    pipeline = driver.pipeline
    monkeypatch.setattr(local_executor, "MOST_HELD", 0)
    executor = LocalExecutor(pipeline, TaskStates(tmp_path / "states"))
    rows_of(executor, driver, 0)
    assert not executor.held
    for file in (tmp_path / "states").rglob("*.state"):
        file.unlink()
    with pytest.raises(LostChunk, match=r"the state after batch 0, .* is not there"):
        rows_of(executor, driver, 1)
