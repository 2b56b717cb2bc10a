"""`Progress`: how far a stream has committed, read from its table `metrics`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kit.oracles.oracle import Settings
from kit.runs.warehouse import make_query
from tailrace.engine.progress import Progress
from tailrace.ground.arrow.times import with_times
from tailrace.ground.time_limits import EARLIEST_MS
from tailrace.kinds import build
from tailrace.storage.layout import Layout
from tailrace.storage.progress import committed_until, read_progress
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables
from tailrace.tables.stream import CLASSES

SCHEMA = schemas(build(make_query(Path("in"), Settings(500, 100, 100, "sum", "none"))))
METRICS = {"rows": 4, "partials": 3, "repeats": 0, "late": 1, "answers": 2, "ticks": 1, "k_ms": 300, "load": 1.0}
METRICS |= dict.fromkeys(CLASSES, 0)
METRICS |= {"newest_event": 9_050, "imbalance": None, "threshold": None, "loads": None, "counts": None, "filtered": 0}
METRICS |= {"t_max": 9_000, "coverage": 0.75, "latency_ms": 1.0, "flushed": False}


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    tables = Tables(Layout(tmp_path / "query"))
    tables.create({"metrics": SCHEMA["metrics"]})
    return tables


def commit(tables: Tables, batch: int, until: int | None, frontier: int | None, ended: bool = False) -> None:
    """Append the metrics of a batch of two tasks."""
    row = METRICS | {"batch": batch, "committed": until, "frontier": frontier, "flushed": ended}
    newest = None if until is None else until // 10
    row |= {"newest_tick": newest, "complete_tick": newest and newest - 1, "reached": [until, None]}
    rows = pa.Table.from_pylist([row | {"task": task} for task in (0, 1)])
    tables.append("metrics", with_times(rows, SCHEMA["metrics"]), "app", batch)


def test_a_query_that_never_ran_has_committed_nothing(tmp_path: Path) -> None:
    assert read_progress(Tables(Layout(tmp_path / "query"))) is None
    assert committed_until(Tables(Layout(tmp_path / "query"))) is None


def test_a_driver_killed_while_it_created_the_table_has_committed_nothing(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "query")
    (layout.table("metrics") / "_delta_log").mkdir(parents=True)
    assert read_progress(Tables(layout)) is None


def test_before_the_first_batch_nothing_is_committed(tables: Tables) -> None:
    assert read_progress(tables) == Progress(0, EARLIEST_MS, False)
    assert committed_until(tables) is None


def test_before_a_tick_is_complete_nothing_is_committed(tables: Tables) -> None:
    commit(tables, 0, None, None)
    assert read_progress(tables) == Progress(0, EARLIEST_MS, False, None, None, (None, None), 9_050)
    assert committed_until(tables) is None


def test_progress_is_that_of_the_last_batch(tables: Tables) -> None:
    for batch in range(12):  # more than ten, so that batch numbers are not compared as text
        commit(tables, batch, 9_000 + batch, 8_000 + batch)
        assert read_progress(tables) == Progress(
            9_000 + batch, 8_000 + batch, False, 900 + batch // 10, 899 + batch // 10, (9_000 + batch, None), 9_050
        )
        assert committed_until(tables) == 9_000 + batch


def test_the_end_of_the_stream_is_part_of_the_progress(tables: Tables) -> None:
    commit(tables, 0, 9_000, 8_000)
    commit(tables, 1, 9_100, 12_000, ended=True)
    assert read_progress(tables) == Progress(9_100, 12_000, True, 910, 909, (9_100, None), 9_050)


def test_a_heartbeat_before_the_first_tuple_commits_its_time(tables: Tables) -> None:
    commit(tables, 0, 9_000, None)
    assert read_progress(tables) == Progress(9_000, EARLIEST_MS, False, 900, 899, (9_000, None), 9_050)


def test_compaction_does_not_change_the_progress(tables: Tables) -> None:
    for batch in range(3):
        commit(tables, batch, 9_000 + batch, 8_000 + batch)
    DeltaTable(tables.layout.table("metrics")).optimize.compact()
    commit(tables, 3, 9_003, 8_003)
    assert read_progress(tables) == Progress(9_003, 8_003, False, 900, 899, (9_003, None), 9_050)
    DeltaTable(tables.layout.table("metrics")).optimize.compact()
    assert read_progress(tables) == Progress(9_003, 8_003, False, 900, 899, (9_003, None), 9_050)


def test_only_the_files_of_the_last_batch_are_read(tables: Tables) -> None:
    commit(tables, 0, 9_000, 8_000)
    (old,) = tables.layout.table("metrics").glob("*.parquet")
    commit(tables, 1, 9_001, 8_001)
    old.unlink()
    assert read_progress(tables) == Progress(9_001, 8_001, False, 900, 899, (9_001, None), 9_050)
