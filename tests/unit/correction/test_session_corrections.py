"""Corrections of sessions in small streams, told one by one; gaps are 10 ms, and each tuple is a tick of its own."""

from __future__ import annotations

import pytest

from kit.draws.aggregates import kind_of
from kit.draws.streams import EPOCH
from kit.oracles.oracle import Settings, Tuple, ticks_of
from kit.runs.memory_tables import MemoryTables
from tailrace.correction import history_scan
from tailrace.correction.bucketed_scan import BucketedScan
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.history_scan import HistoryScan
from tailrace.correction.spilled_shuffle import SpilledShuffle
from tailrace.storage.log import Log
from tailrace.windows.sessions import Sessions


class _Tables(MemoryTables):
    """The tables, with a scan in files where history is too large."""

    def past(self, before: int) -> HistoryScan:
        def logs() -> list[Log]:
            return [Log.from_segments(self.pipeline.readers[0], before, self.segments)]

        return HistoryScan(self.pipeline, logs, lambda buckets: BucketedScan(SpilledShuffle()), 2)


class Desk:
    """A stream of (key, event time) or (key, event time, id), and its corrections; K is 0."""

    def __init__(self, *rows: tuple) -> None:
        ids = [row[2] if len(row) > 2 else f"t{n}" for n, row in enumerate(rows)]
        tuples = [
            Tuple(EPOCH + event, EPOCH + 10_000 + 2 * n, ids[n], key, 1.0) for n, (key, event, *_) in enumerate(rows)
        ]
        self.tables = _Tables(tuples, Settings(10, 10, 1), [], kind=kind_of(Sessions(10), "count"))
        self.ends = [EPOCH, *(end for _, end in ticks_of(tuples, 1))]

    def correct(self, after: int, until: int) -> dict:
        """Correct what came in the rows [after, until); return its rows, as `found`, of retracted ones 0 tuples."""
        rows = self.tables.correct(self.ends[after], self.ends[until]).to_pylist()
        return {self._session(row): row["tuples"] for row in rows}

    @property
    def found(self) -> dict:
        """The tuples of each answer in force, by key, start and end."""
        return {self._session(row): row["tuples"] for row in self.tables.latest().values()}

    @staticmethod
    def _session(row: dict) -> tuple:
        return row["key"], row["window_start"] - EPOCH, row["window_end"] - EPOCH


def test_a_late_tuple_lengthens_a_session_and_the_shorter_one_is_retracted():
    desk = Desk(("a", 0), ("b", 40), ("a", 7))
    assert desk.correct(0, 3) == {("a", 0, 17): 2, ("a", 0, 10): 0}


def test_a_late_tuple_joins_two_sessions_of_which_both_are_retracted():
    desk = Desk(("a", 0), ("a", 20), ("b", 60), ("a", 10))
    assert desk.correct(0, 4) == {("a", 0, 30): 3, ("a", 0, 10): 0, ("a", 20, 30): 0}
    assert desk.found == {("a", 0, 30): 3, ("b", 60, 70): 1}


def test_a_late_tuple_alone_is_a_session_that_only_the_late_rows_show_to_have_closed():
    desk = Desk(("b", 100), ("c", 5), ("b", 101))  # b's session closes later
    assert desk.correct(0, 2) == {("c", 5, 15): 1}


def test_a_late_tuple_that_comes_to_the_gap_before_a_session_moves_its_start():
    desk = Desk(("a", 20), ("b", 60), ("a", 10), ("a", -1))
    assert desk.correct(0, 3) == {("a", 10, 30): 2, ("a", 20, 30): 0}
    assert desk.correct(3, 4) == {("a", -1, 9): 1}


def test_what_joins_a_closed_session_is_left_alone_while_it_goes_on_and_corrected_once_it_has_closed():
    desk = Desk(("a", 0), ("b", 12), ("a", 9), ("b", 30))
    assert desk.found.keys() >= {("a", 0, 10), ("a", 9, 19)}
    assert desk.correct(0, 3) == {}
    assert desk.correct(3, 4) == {("a", 0, 19): 2, ("a", 0, 10): 0, ("a", 9, 19): 0}


@pytest.mark.parametrize("before", [(12,), (-8, -16, -24)])
def test_a_correction_with_an_earlier_cut_off_gives_no_session_that_a_later_one_has_joined(before):
    rows = [("a", 0), ("b", 60), ("a", 5), *(("a", event) for event in before)]
    desk = Desk(*rows)
    whole = ("a", min(0, *before), max(5, *before) + 10)
    assert desk.correct(3, len(rows))[whole] == 2 + len(before)
    assert desk.correct(0, 3) == {}
    assert desk.found == {whole: 2 + len(before), ("b", 60, 70): 1}


def test_it_leaves_runs_alone_that_begin_with_a_repeat_which_the_later_one_has_left_out():
    desk = Desk(("b", 60, "x"), ("a", 0, "x"), ("a", 9, "x"), ("a", 14, "y"), ("a", 20, "z"))
    assert desk.correct(4, 5) == {("a", 14, 30): 2}
    assert desk.correct(0, 4) == {}


def test_it_leaves_sessions_alone_that_a_later_one_has_answered_farther_back():
    desk = Desk(("b", 60), ("a", 0), ("a", -8), ("a", -16))
    assert desk.correct(2, 4) == {("a", -16, 10): 3}
    assert desk.correct(0, 2) == {}


def test_a_long_session_is_read_in_whole_from_a_late_tuple_at_its_end():
    events = range(0, 300, 9)
    desk = Desk(*(("a", event) for event in events), ("b", 600), ("a", max(events) + 10))
    rows = desk.correct(0, len(desk.ends) - 1)
    assert rows == {("a", 0, max(events) + 20): len(events) + 1, ("a", 0, max(events) + 10): 0}


def test_a_history_that_exceeds_this_process_gives_the_same(monkeypatch):
    rows = [("a", 0), ("a", 20, "x"), ("c", 3), ("b", 60), ("a", 10), ("a", 10, "x"), ("c", 12)]
    found = Desk(*rows).correct(0, len(rows))
    assert found == {("a", 0, 30): 3, ("a", 0, 10): 0, ("a", 20, 30): 0, ("c", 3, 22): 2}
    monkeypatch.setattr(history_scan, "AT_ONCE", 0)
    assert Desk(*rows).correct(0, len(rows)) == found


def test_a_repeat_that_joins_two_sessions_is_taken_back():
    desk = Desk(("a", 0, "x"), ("a", 10, "x"), ("a", 20, "y"), ("b", 60))
    assert desk.found == {("a", 0, 30): 3, ("b", 60, 70): 1}
    assert desk.correct(0, 4) == {("a", 0, 10): 1, ("a", 20, 30): 1, ("a", 0, 30): 0}


def test_a_null_key_has_sessions_of_its_own():
    desk = Desk((None, 0), (None, 60), (None, 7))
    assert desk.correct(0, 3) == {(None, 0, 17): 2, (None, 0, 10): 0}


def test_a_tuple_twenty_years_old_is_a_session_of_its_own():
    old = -20 * 365 * 86_400_000
    desk = Desk(("a", 0), ("a", old))
    assert desk.correct(0, 2) == {("a", old, old + 10): 1}


def test_a_range_of_event_time_gives_whole_sessions_that_overlap_it():
    desk = Desk(("a", 0), ("a", 9), ("a", 18), ("a", 60), ("b", 100), ("a", 65), ("a", 25))
    model = desk.tables.model
    affected = model.closed((EPOCH + 26, EPOCH + 27), EPOCH + 100)
    rows = desk.tables.revise(affected, desk.ends[-1], "range").to_pylist()
    assert {Desk._session(row): row["tuples"] for row in rows} == {("a", 0, 35): 4, ("a", 0, 28): 0}
    everything = model.closed(CorrectionRange().bounds, EPOCH + 100)
    rows = desk.tables.revise(everything, desk.ends[-1], "all").to_pylist()
    assert {("a", 0, 35): 4, ("a", 60, 75): 2}.items() <= {Desk._session(row): row["tuples"] for row in rows}.items()
