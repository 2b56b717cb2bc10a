"""What is uncorrected: against sets of points of arrival, and from the tables of a query."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.oracle import Settings
from kit.runs.late_tables import LateTables
from kit.runs.warehouse import EPOCH, make_query
from kit.suite.examples import drawn
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.intervals import uncovered
from tailrace.correction.uncorrected import Uncorrected
from tailrace.kinds import build
from tailrace.spark.distributed_correction import correct
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables
from tailrace.tables.every import in_ms

pytestmark = pytest.mark.slow

TICK, PANE = 10, 4
LEAST, MOST = -200, 300  # every point of arrival here is a multiple of the tick between these

points = st.integers(0, 25).map(lambda n: n * TICK)
intervals = st.tuples(points, points).map(sorted).filter(lambda pair: pair[0] < pair[1]).map(tuple)
rows = st.lists(st.tuples(points, st.integers(-20, 20).map(lambda n: n * PANE)), max_size=12)


def lies_in(point, known):
    return any((start is None or start < point) and point <= end for start, end in known)


def first_covered_below(point, known):
    """The nearest point below it that a run has covered; the one just below where there is none."""
    below = [p for p in range(LEAST, point, TICK) if lies_in(p, known)]
    return max(below) if below else point - TICK


@given(st.lists(intervals, max_size=6), points)
def test_gaps_are_what_no_interval_holds(known, until):
    found = uncovered(known, until)
    for point in range(LEAST, MOST, TICK):
        assert lies_in(point, found) == (point <= until and not lies_in(point, known))
    assert found == sorted(found)
    assert all(low < high for low, high in found)


@given(rows, st.lists(intervals, max_size=3), st.lists(intervals, max_size=3), points, st.integers(0, TICK - 1))
def test_uncorrected_rows_but_those_asked_for(rows, known, asked, until, more):
    until += more
    left = [row for row in rows if row[0] <= until and not lies_in(row[0], known)]
    arrived, pane = np.array(left, np.int64).reshape(-1, 2).T
    found = Uncorrected(arrived, pane, tuple(known), until).excluding(asked)
    wanted = [row for row in left if not lies_in(row[0], asked)]
    assert list(zip(found.arrived.tolist(), found.event_time.tolist(), strict=True)) == wanted
    panes = [pane for _, pane in wanted]
    assert found.span_ms(PANE) == (max(panes) + PANE - min(panes) if wanted else 0)
    if wanted:
        first = min(arrived for arrived, _ in wanted)
        assert found.interval(TICK) == (first_covered_below(first, [*known, *asked]), until - more)
        assert found.within(found.interval(TICK)).all()


def test_with_tick_0_a_range_begins_a_millisecond_before_the_first_end_of_a_tick():
    late = Uncorrected(np.array([7, 9]), np.array([0, 0]), (), 9)
    assert late.interval(0) == (6, 9)


runs = st.one_of(intervals, points.map(lambda point: (None, point)), st.just((None, None)))


@drawn(25)
@given(st.lists(rows.filter(len), max_size=3), st.lists(runs, max_size=4), points.filter(bool))
def test_from_the_tables(tmp_path_factory, files, ledger, until):
    there = LateTables(Layout(tmp_path_factory.mktemp("warehouse") / "query"))
    for rows in files:
        there.late(*rows)
    for run in ledger:
        there.run(*run)
    there.commit(until)
    found = Uncorrected.read(Tables(there.layout))
    known = [run for run in ledger if run[1] is not None]
    wanted = [row for rows in files for row in rows if row[0] <= until and not lies_in(row[0], known)]
    assert sorted(zip(found.arrived.tolist(), found.event_time.tolist(), strict=True)) == sorted(wanted)
    assert found.until == until
    for row in wanted:
        assert lies_in(row[0], [found.interval(TICK)])


def test_a_ledger_of_many_gaps_is_read(there):
    """A condition with a part for each of them would exhaust the stack of Arrow's threads."""
    many = 30_000
    there.late(*((arrived, 0) for arrived in range(0, 20 * many, 5_005)))
    there._add("correction_runs", [{"arrived_from": 20 * n, "arrived_to": 20 * n + 10} for n in range(many)])
    there.commit(20 * many)
    found = Uncorrected.read(Tables(there.layout))
    wanted = [arrived for arrived in range(0, 20 * many, 5_005) if arrived % 20 == 0 or arrived % 20 > 10]
    assert sorted(found.arrived.tolist()) == wanted


@pytest.fixture
def there(tmp_path: Path) -> LateTables:
    return LateTables(Layout(tmp_path / "query"))


def test_before_anything_is_committed_nothing_is_known(tmp_path, there):
    assert Uncorrected.read(Tables(there.layout)) is None
    assert Uncorrected.read(Tables(Layout(tmp_path / "never"))) is None


def test_before_the_first_correction_there_is_no_ledger(there):
    there.late((10, 0))
    there.commit(10)
    for file in sorted(there.layout.table("correction_runs").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    assert len(Uncorrected.read(Tables(there.layout))) == 1


def test_only_files_with_uncorrected_rows_are_read(there):
    """It is asked every two seconds, and the table grows for years."""
    there.late((10, 0), (20, 0))
    there.late((50, 0))
    there.late((90, 0))
    there.late((70, 8))
    there.run(None, 30)  # with some distance: statistics round their ends up
    there.run(40, 60)
    there.run(80, 100)
    there.commit(100)
    for file in there.layout.table("late").glob("*.parquet"):
        if pq.read_table(file).num_rows != 1 or in_ms(pq.read_table(file), "late")["arrived"][0].as_py() != 70:
            file.unlink()
    assert Uncorrected.read(Tables(there.layout)).arrived.tolist() == [70]


@pytest.mark.parametrize(
    ("span", "ends"),
    [
        (CorrectionRange(10, 30, arrival=True), (10, 30)),
        (CorrectionRange(), (None, 70)),
        (CorrectionRange(10, None), (None, None)),  # windows, not arrivals: late tuples of others are still uncorrected
        (CorrectionRange(None, 10), (None, None)),
    ],
)
def test_what_a_run_covers(span, ends):
    assert span.covered(as_of=70) == ends


@pytest.mark.parametrize(
    ("span", "left"),
    [
        (CorrectionRange(), []),
        (CorrectionRange(0, 20, arrival=True), [30]),
        (CorrectionRange(EPOCH, EPOCH + 1), [20, 30]),
    ],
)
def test_what_a_correction_writes_into_the_ledger_is_what_is_read_of_it(tmp_path, span, left):
    """Without tuples in its log a correction starts no Spark."""
    query = make_query(tmp_path, Settings(10, 10, TICK))
    there = LateTables(Layout.for_query(tmp_path, query.name))
    there.tables.create(schemas(build(query)))
    types = {"event_time": "timestamp[ms, tz=UTC]", "arrival_time": "timestamp[ms, tz=UTC]"}
    types |= {"id": "string", "key": "string", "value": "double"}
    there.layout.create_checkpoint(query.structure(), {"readings": types}, {})
    there.late((20, 0), (30, 0))
    there.commit(30)
    correct(query, tmp_path, span)
    assert Uncorrected.read(Tables(there.layout)).arrived.tolist() == left
