"""Which windows are read again, and which only take what was late."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kit.draws.aggregates import kind_of
from tailrace.aggregate.kind import Aggregate
from tailrace.answers.affected_windows import MissedWindows
from tailrace.answers.by_window import ByWindow, next_answers, next_versions
from tailrace.answers.identity import WINDOW
from tailrace.answers.model import Revision
from tailrace.correction.correction_range import CorrectionRange
from tailrace.windows.sliding import Sliding

WINDOWS = Sliding(10, 5)
ALL = ByWindow(WINDOWS).closed(CorrectionRange().bounds, 100)
#  windows over the pane [10, 15): [5, 15) and [10, 20)
LATE = pa.table(
    {
        "key": ["a", "b", "c"],
        "pane_start": [10] * 3,
        "frontier": [20, 15, 15],
        "tuples": [1] * 3,
        "total": [5.0] * 3,
        "arrived": [100, 100, 200],
    }
)
STREAMED = pa.table(
    {
        "key": ["a", "a", "b", "d"],
        "window_start": [5, 10, 5, 5],
        "window_end": [15, 20, 15, 15],
        "value": [1.0, 2.0, 3.0, float("inf")],
        "tuples": [1, 2, 3, 4],
    }
)
EVERY = {("a", 15): 6.0, ("a", 20): 7.0, ("b", 15): 8.0, ("d", 15): -1.0}


@dataclass
class Past:
    """Takes note of what it is asked; its answers are -1."""

    kind: Aggregate
    known_repeats: list[tuple] = field(default_factory=list)
    searched: list[tuple] = field(default_factory=list)
    evaluated: list[tuple] = field(default_factory=list)

    def repeats(self, side, ranges) -> pa.Table:
        self.searched += list(zip(*(bound.tolist() for bound in ranges), strict=True))
        rows = [{"id": "x", "key": key, "event_time": time} for key, time in self.known_repeats]
        return pa.Table.from_pylist(
            rows, pa.schema([("id", pa.string()), ("key", pa.string()), ("event_time", pa.int64())])
        )

    def evaluate(self, touched) -> pa.Table:
        self.evaluated += told(touched)
        rows = [(key, end - 10, end, -1.0, 1) for key, end in told(touched)]
        return pa.Table.from_pylist(
            [dict(zip(self.kind.answer.names, row, strict=True)) for row in rows], self.kind.answer
        )


def told(touched) -> list[tuple]:
    pairs = touched.windows if isinstance(touched, MissedWindows) else STREAMED
    return list(zip(pairs["key"].to_pylist(), pairs["window_end"].to_pylist(), strict=True))


def ask(function: str, repeats: tuple = (), streamed=STREAMED, late=LATE, touched=ALL, before: int = 100):
    kind = kind_of(WINDOWS, function)
    past = Past(kind, list(repeats))
    revision = Revision(past, kind.answer, streamed, late, touched, before, "all", kind.amend)
    rows = next_answers(kind.answers, revision, streamed).to_pylist()
    found = {(row["key"], row["window_end"]): row["value"] for row in rows}
    return found, past


def test_without_repeats_nothing_is_evaluated_but_what_is_not_finite():
    found, past = ask("sum")
    assert (found, past.evaluated) == (EVERY, [("d", 15)])
    assert past.searched == [(5, 20)], "where the amended windows lie"


def test_windows_with_repeats_are_evaluated_anew():
    found, past = ask("sum", repeats=(("b", 7), ("z", 7)))
    assert found == EVERY | {("b", 15): -1.0}
    assert set(past.evaluated) == {("b", 15), ("d", 15)}


def test_late_tuples_count_up_to_the_cut_off_whichever_interval_they_are_of():
    assert ask("sum", before=99)[0] == EVERY | {("a", 15): 1.0, ("a", 20): 2.0, ("b", 15): 3.0}
    assert ask("sum", before=200)[0] == EVERY | {("c", 15): 5.0}
    only = MissedWindows(pa.table({"key": ["a"], "window_end": [20]}), WINDOWS)
    assert ask("sum", streamed=STREAMED[1:2], touched=only, before=200)[0] == {("a", 20): 7.0}


def test_what_needs_the_values_is_evaluated_anew_without_a_search():
    found, past = ask("median")
    assert found == dict.fromkeys(EVERY, -1.0)
    assert (past.searched, set(past.evaluated)) == ([], EVERY.keys())


@pytest.mark.parametrize("function", ["sum", "median"])
def test_where_there_is_no_window_nothing_is_read(function):
    found, past = ask(function, streamed=STREAMED[:0], late=LATE[:0])
    assert (found, past.searched, past.evaluated) == ({}, [], [])


VERSIONS = pa.table(
    {
        "key": ["a", "b", "b", "c", "c"],
        "window_start": [0] * 5,
        "window_end": [10] * 5,
        "value": [1.0, 2.0, 3.0, 4.0, 4.0],
        "tuples": [5] * 5,
        "k_ms": [7, None, None, 8, None],
        "facts_version": [1, None, None, 1, None],
        "corrected": [False, True, True, False, True],
        "retracted": [False, False, True, False, True],
        "interval": [None, "x", "y", None, "mine"],
    }
)


def test_of_what_nothing_is_left_its_answer_is_taken_back():
    found = pa.table({"key": ["a"], "window_start": [0], "window_end": [10], "value": [9.0], "tuples": [6]})
    rows = {row["key"]: row for row in next_versions(WINDOW, found, VERSIONS, "mine").to_pylist()}
    assert {key: row["retracted"] for key, row in rows.items()} == {"a": False, "b": True, "c": True}
    assert {key: row["k_ms"] for key, row in rows.items()} == {"a": 7, "b": None, "c": 8}
    assert {key: row["tuples"] for key, row in rows.items()} == {"a": 6, "b": 0, "c": 0}
    again = next_versions(WINDOW, found, VERSIONS.filter(pc.field("interval") == "mine"), "mine")
    assert again["key"].to_pylist() == ["a"]  # what is to be replaced is nobody's answer
