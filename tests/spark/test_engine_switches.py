"""A stream of any kind goes from engine to engine and dies at any write: its tables are those of one engine alone."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from kit.runs.deaths import Died, deaths
from kit.runs.kind_streams import KINDS, contents, disturbed_rows, query_of, sides_of, write_files
from kit.runs.local_driver import Driver
from kit.suite.examples import drawn
from tailrace.engine.executor import Executor
from tailrace.engine.local_executor import LocalExecutor
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.task_states import TaskStates
from tailrace.spark.executor import SparkExecutor
from tailrace.storage.layout import Layout
from tailrace.tables.stream import STREAM_TABLES

FILE_ROWS, FILES = 8, 5
MOST_WRITES = 14
"""Of a batch: its entry, two states, seven tables, the note, and the first parts of a compaction."""


@dataclass(frozen=True)
class Life:
    """A driver's life: so many files of each stream come, it runs, and dies.

    Attributes
    ----------
    without : int or None
        Which of the states it does not write any more, of its first batch; None: it writes all.
    writes : int or None
        The number of writes after which it dies; None: it lives.
    """

    files: int
    without: int | None = None
    writes: int | None = None


ends = st.one_of(
    st.builds(dict, without=st.sampled_from([0, 1, 2])),
    st.builds(dict, writes=st.integers(0, MOST_WRITES)),
    st.just({}),
)
lives = st.builds(lambda files, end: Life(files, **end), st.integers(1, 2), ends)


@dataclass
class WithoutState:
    """An executor that dies when all states but one are written."""

    inner: Executor
    states: TaskStates
    task: int

    def run(self, header: Any, segments: Sequence[Any], before: int) -> dict[str, Any]:
        self.inner.run(header, segments, before)
        states = sorted(self.states.directory.glob(f"*/{header.batch:08d}.state"))  # of tasks, and of the clock
        states[self.task % len(states)].unlink()
        raise Died("between states")

    def cancel(self) -> None:
        self.inner.cancel()


@given(
    seed=st.integers(0, 1 << 32),
    delays=st.lists(st.sampled_from([0, 50, 150, 300, 1500]), min_size=2, max_size=4),
    batch_rows=st.sampled_from([FILE_ROWS, FILE_ROWS + 3, 2 * FILE_ROWS]),
    spark_first=st.booleans(),
    before=st.lists(lives, min_size=2, max_size=2),
)
@drawn(1, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("name", [name for name in KINDS if name != "spatial window"])
def test_every_table_is_that_of_one_engine_without_a_death(spark, name, seed, delays, batch_rows, spark_first, before):
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as patch:
        home, query, draw = Path(scratch), query_of(name, Path(scratch)), random.Random(seed)
        patch.setattr(Driver, "compact_every", 3)
        rows = {side: disturbed_rows(side, FILE_ROWS * FILES, draw, delays) for side in sides_of(name)}
        steps, driver, batch_rows = deaths(patch), Driver(query, home / "switched"), batch_rows * len(rows)
        on_spark = spark_first
        for life in [*before, Life(FILES)]:
            for side, mine in rows.items():
                write_files(mine[: life.files * FILE_ROWS], home / side, FILE_ROWS)
                del mine[: life.files * FILE_ROWS]
            is_last = not any(rows.values())
            with steps.after(life.writes):
                driver.run(batch_rows, flush=is_last, open_executor=engine(spark if on_spark else None, life.without))
            on_spark = not on_spark
        Driver(query, home / "whole").run(batch_rows, flush=True)
        assert contents(home / "switched") == contents(home / "whole")
        tables = [*(f"history_{side}" for side in rows), *STREAM_TABLES]
        assert contents(home / "switched", tables) == contents(run_again(driver, home / "again"), tables)


def engine(spark: SparkSession | None, without: int | None) -> Callable[[Pipeline, TaskStates], Any]:
    """Return what opens an executor, on Spark if there is one; `without`: see `Life`."""

    @contextmanager
    def open_executor(pipeline: Pipeline, states: TaskStates) -> Iterator[Executor]:
        local = LocalExecutor(pipeline, states, threads=1)
        inner = local if spark is None else SparkExecutor(spark, pipeline, states, "readings")
        yield inner if without is None else WithoutState(inner, states, without)

    return open_executor


def run_again(driver: Driver, warehouse: Path) -> Path:
    """Run the entries of a driver's journal in another warehouse, in this process and without a death."""
    layout = Layout.for_query(warehouse, driver.query.name)
    shutil.copytree(driver.layout.stream, layout.stream)
    shutil.rmtree(layout.checkpoint)
    Driver(driver.query, warehouse).run()
    return warehouse
