"""The number of tasks of a join changes between its batches: no pair is lost, doubled or answered at another time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import ValidationError

from kit.runs.deaths import deaths
from kit.runs.kind_streams import TABLE_JOIN, contents, disturbed_rows, query_of, sides_of, write_files
from kit.runs.local_driver import Driver
from kit.runs.rescaled_stream import WorkerJobs
from kit.runs.warehouse import rows_of
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.task_states import TaskStates
from tailrace.query.query import Query
from tailrace.spatial_join.streams import joined_streams
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.rescale_request import RescaleRequest
from tailrace.storage.tasks_in_force import request_tasks

FILE_ROWS, FILES = 16, 5
JOINS = {
    "emd_ddsj": ("emd_join", {"feedback": "200 ms"}),
    "shuffle": ("emd_join", {"method": "shuffle", "span": None, "feedback": None}),
    "head": ("emd_join", {"method": "head", "span": None, "feedback": None}),
    "interval": ("spatial interval", {}),
    "native": ("spatial interval", {"method": "native", "grid": None, "extent": None}),
    "window": ("spatial window", {}),
}
TABLES = ("results", "late", "quarantine")


def joined(name: str, home: Path, seed: str) -> Query:
    """A join with a plan in each period of 200 ms, and the files of its streams."""
    kind, changed = JOINS[name]
    query, draw = query_of(kind, home), random.Random(seed)
    section = getattr(query, query.kind)
    declared = section.model_dump(exclude_unset=True) | changed
    section = type(section).model_validate({field: value for field, value in declared.items() if value is not None})
    for side in sides_of(kind):
        write_files(disturbed_rows(side, FILE_ROWS * FILES, draw), home / side, FILE_ROWS)
    return query.model_copy(update={query.kind: section})


def tasks_of(warehouse: Path) -> list[int]:
    batches = [row["batch"] for row in rows_of(warehouse, "metrics")["metrics"]]
    return [batches.count(batch) for batch in range(max(batches) + 1)]


@pytest.fixture(autouse=True)
def short_periods(monkeypatch):
    monkeypatch.setattr(joined_streams, "SHORTEST_FEEDBACK_MS", 200)


@pytest.fixture
def ask(monkeypatch):
    """Ask for these numbers of tasks, each for two batches, so that plans hold in between."""

    def ask(numbers: list[int]) -> None:
        def read(layout: Layout) -> RescaleRequest:
            batch = Journal(layout.journal).count
            return RescaleRequest(str(batch // 2), numbers[batch // 2])

        monkeypatch.setattr(RescaleRequest, "read", staticmethod(read))

    return ask


@contextmanager
def jobs_of_spark(pipeline: Pipeline, states: TaskStates) -> Iterator[WorkerJobs]:
    yield WorkerJobs(pipeline, states)


@pytest.mark.needs("long")
@pytest.mark.parametrize(
    ("name", "executor"),
    [*((name, None) for name in JOINS), ("emd_ddsj", jobs_of_spark), ("window", jobs_of_spark)],
)
def test_another_number_at_any_batch_changes_no_row(tmp_path, ask, name, executor):
    seed = f"{name} {executor is None} 2"  # of these streams and numbers a plan meets another number
    query, numbers = joined(name, tmp_path, seed), random.Random(seed).choices([1, 2, 3, 4], k=2 * FILES)
    Driver(query, tmp_path / "whole").run(2 * FILE_ROWS, flush=True)
    ask(numbers)
    Driver(query, tmp_path / "changed").run(2 * FILE_ROWS, flush=True, open_executor=executor)
    assert contents(tmp_path / "changed", TABLES) == contents(tmp_path / "whole", TABLES)
    tasks = tasks_of(tmp_path / "changed")
    assert tasks == [numbers[batch // 2] for batch in range(len(tasks))]
    assert len(tasks) >= FILES
    assert len(contents(tmp_path / "whole", TABLES)["results"]) > FILE_ROWS


@pytest.mark.needs("long")
@pytest.mark.parametrize("steps", [0, 11, 22, 40])
@pytest.mark.parametrize("name", ["emd_ddsj", "window"])
def test_a_driver_that_dies_at_any_write_while_the_number_changes_changes_no_row(tmp_path, monkeypatch, name, steps):
    query, dies = joined(name, tmp_path, "deaths"), deaths(monkeypatch)
    Driver(query, tmp_path / "whole").run(2 * FILE_ROWS, flush=True)
    driver = Driver(query, tmp_path / "changed")
    files = {side: sorted((tmp_path / side).iterdir()) for side in sides_of(JOINS[name][0])}
    waiting = {side: [(file, file.read_bytes()) for file in mine] for side, mine in files.items()}
    for mine in files.values():
        for file in mine:
            file.unlink()
    for number, tasks in enumerate((None, 4, None, 1, 3)):
        for mine in waiting.values():
            file, content = mine[number]
            file.write_bytes(content)
        if tasks is not None:
            request_tasks(driver.layout, query, tasks)
        with dies.after(steps):
            driver.run(2 * FILE_ROWS)
        driver.run(2 * FILE_ROWS)
    driver.run(2 * FILE_ROWS, flush=True)
    assert contents(tmp_path / "changed", TABLES) == contents(tmp_path / "whole", TABLES)
    tasks = tasks_of(tmp_path / "changed")
    assert [now for now, before in zip(tasks, [0, *tasks], strict=False) if now != before] == [2, 4, 1, 3]


def test_a_join_has_bounds_of_its_number_and_one_with_a_table_has_none(tmp_path):
    assert query_of("emd_join", tmp_path, elasticity={"most": 5}).task_bounds == (2, 5)
    with pytest.raises(ValidationError, match=r"a join with a table has no tasks(.|\n)*no elasticity"):
        query_of(TABLE_JOIN, tmp_path, elasticity={"most": 5})
