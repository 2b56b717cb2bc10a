"""Corrections where little is to be read: no Spark is started. The tables are real."""

from __future__ import annotations

import itertools
import random

import pyarrow.compute as pc
import pytest

from kit.oracles.oracle import Settings, Tuple, batch, latest, stream
from kit.oracles.oracle_assertions import assert_answers, assert_streamed
from kit.runs.local_tables import as_history, stream_into_tables
from kit.runs.warehouse import EPOCH, even, make_stream, read_windows, rows_of, tables_of
from tailrace.answers.affected_windows import ClosedWindows
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.history_scan import HistoryScan
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.pipeline import Pipeline
from tailrace.spark import distributed_correction as module
from tailrace.spark.distributed_correction import correct
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log
from tailrace.storage.results import read_answers

pytestmark = pytest.mark.slow

TUPLES = make_stream(600, seed=3, duplicates=25)
BOUNDS = even(600, 9)


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    def session(*_: object) -> None:
        raise AssertionError("so little needs no Spark")

    monkeypatch.setattr(module, "session", session)


@pytest.mark.parametrize(("function", "q"), [("sum", None), ("avg", None), ("median", None), ("quantile", 0.9)])
def test_all_of_it_is_the_batch_answer(tmp_path, function, q):
    settings = Settings(700, 300, 100, function, ("k_slack", 200), q=q)
    query = stream_into_tables(tmp_path, settings, TUPLES, BOUNDS)
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, settings))
    correct(query, tmp_path / "wh")
    assert_answers(read_windows(tmp_path / "wh", settings), batch(TUPLES, settings))


@pytest.mark.needs("long")
def test_intervals_in_any_order_and_twice(tmp_path):
    settings = Settings(500, 200, 100, "sum", "none")
    query, outcome = stream_into_tables(tmp_path, settings, TUPLES, BOUNDS), stream(TUPLES, settings)
    last = (max(t.arrival_time for t in TUPLES) // 100 + 1) * 100
    bounds = [EPOCH, *(EPOCH + (last - EPOCH) * i // 300 * 100 for i in (1, 2)), last]
    intervals = list(itertools.pairwise(bounds))
    order = [*intervals, intervals[0]]
    random.Random(1).shuffle(order)
    for a, b in order:
        correct(query, tmp_path / "wh", CorrectionRange(a, b, arrival=True))
    assert_answers(read_windows(tmp_path / "wh", settings), latest(outcome, TUPLES, settings, intervals))


def past(tmp_path, query, pipeline: Pipeline, before: int) -> HistoryScan:
    tables = tables_of(tmp_path / "wh")
    return HistoryScan(pipeline, lambda: [Log.read(pipeline.readers[0], tables, before)], module.session, 2)


@pytest.mark.parametrize("compacted", [False, True])
def test_what_history_gives_is_what_the_source_gives(tmp_path, compacted):
    """Over hours, so that files are passed over; a part of the windows, so that segments are."""
    slow = [t._replace(event_time=EPOCH + (t.event_time - EPOCH) * 3000) for t in TUPLES]
    slow = [t._replace(arrival_time=max(t.event_time, EPOCH + (t.arrival_time - EPOCH) * 3000)) for t in slow]
    settings = Settings(700_000, 300_000, 100_000, "avg", "none")
    query = stream_into_tables(tmp_path, settings, slow, BOUNDS, kept=True)
    layout, tables = Layout.for_query(tmp_path / "wh", query.name), tables_of(tmp_path / "wh")
    source = CompiledQuery.declare(query).bind(layout.manifest().types).pipeline(layout.histories(query.streams))
    if compacted:
        tables.compact(["history"])
    late = tables.read("late")
    outcome = stream(slow, settings)
    before = outcome.trace[len(outcome.trace) * 2 // 3].end
    late = late.filter(pc.field("arrived") <= before)
    model = source.kind.answers
    for touched in (
        model.missed_by(late[:3]),
        model.missed_by(late[-3:]),
        model.closed(CorrectionRange().bounds, 1 << 60),
    ):
        mine, theirs = (past(tmp_path, query, pipeline, before) for pipeline in (as_history(source, layout), source))
        assert rows_in(mine.evaluate(touched)) == rows_in(theirs.evaluate(touched))
        repeats = rows_in(mine.repeats(0, touched.ranges()))
        assert repeats == rows_in(theirs.repeats(0, touched.ranges()))
        if isinstance(touched, ClosedWindows):
            assert repeats
        read, there = mine.logs[0].of_events(touched.ranges()).pieces(touched.ranges()), mine.logs[0].pieces()
        assert len(read) == len(there) if isinstance(touched, ClosedWindows) else len(read) < len(there) / 2


def test_a_compacted_file_has_the_first_tuple_and_its_repeat(tmp_path):
    """Of one hour, but of windows far apart: only the repeat's segment has event times near its window."""
    first, again = (Tuple(EPOCH + at, EPOCH + at, "x", "k", 1.0) for at in (600_000, 3_000_000))
    settings = Settings(1000, 1000, 1000, "sum", "none")
    query = stream_into_tables(tmp_path, settings, [first, again], [0, 1, 2], kept=True)
    layout, tables = Layout.for_query(tmp_path / "wh", query.name), tables_of(tmp_path / "wh")
    tables.compact(["history"])
    pipeline = as_history(
        CompiledQuery.declare(query).bind(layout.manifest().types).pipeline(layout.histories(query.streams)), layout
    )
    window = pipeline.kind.answers.closed((again.event_time, again.event_time + 1), 1 << 60)
    scan = past(tmp_path, query, pipeline, again.arrival_time + 1000)
    assert scan.evaluate(window).num_rows == 0
    assert scan.repeats(0, window.ranges()).to_pylist() == [{"id": "x", "key": "k", "event_time": again.event_time}]


def rows_in(table) -> list[tuple]:
    """The rows, each once; values as far as the order of a sum leaves them."""
    rows = {tuple(round(v, 6) if isinstance(v, float) else v for v in row.values()) for row in table.to_pylist()}
    return sorted(rows)


def test_a_retracted_answer_stays_retracted(tmp_path):
    """The only tuple of [200, 300) is a repeat, which the stream does not know; late tuples make corrections due."""
    at = EPOCH
    tuples = [
        Tuple(at + 50, at + 10, "a", None, 5.0),
        Tuple(at + 250, at + 210, "a", None, 5.0),
        Tuple(at + 450, at + 410, "b", None, 1.0),
        Tuple(at + 20, at + 520, "c", None, 2.0),
        Tuple(at + 270, at + 530, "a", None, 5.0),
    ]
    settings = Settings(100, 100, 100, "sum", "none")
    query = stream_into_tables(tmp_path, settings, tuples, even(5, 2))
    truth = batch(tuples, settings)
    assert (None, at + 200, at + 300) in read_windows(tmp_path / "wh", settings).keys() - truth.keys()
    interval = CorrectionRange(at + 500, at + 600, arrival=True)
    for span in (interval, interval, CorrectionRange(), interval, CorrectionRange(), CorrectionRange()):
        assert correct(query, tmp_path / "wh", span).retracted == 1
        assert_answers(read_windows(tmp_path / "wh", settings), truth)
    answers, _ = read_answers(query, tmp_path / "wh", streamed=True)
    coverage = {row["window_start"] - at: row["coverage"] for row in answers.to_pylist()}
    assert coverage == {0: 0.5, 200: 0.5, 400: 1.0}
    assert read_answers(query, tmp_path / "wh", streamed=False)[0]["coverage"].to_pylist() == [1.0, 1.0]
