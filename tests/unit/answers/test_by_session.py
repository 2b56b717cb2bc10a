"""The answer model of sessions: which of some answers late tuples missed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.answers.by_session import BySession
from tailrace.windows.sessions import Sessions

MODEL = BySession(Sessions(10))


def answers(*rows: tuple) -> pa.Table:
    key, start, end = zip(*rows, strict=True)
    return pa.table({"key": pa.array(key, pa.string()), "window_start": start, "window_end": end})


def missed(among: pa.Table, *late: tuple) -> list[tuple]:
    key, time, frontier = zip(*late, strict=True)
    rows = pa.table(
        {"key": pa.array(key, pa.string()), "pane_start": time, "frontier": frontier, "tuples": [1] * len(late)}
    )
    return [tuple(row.values()) for row in MODEL.explode_late(rows, "tuples", among=among).to_pylist()]


def test_a_late_tuple_missed_what_it_touches_also_a_session_that_holds_it_and_may_be_joined():
    among = answers(("a", 0, 10), ("a", 9, 19), ("a", 30, 55), ("b", 0, 10), (None, 5, 15))
    assert missed(among, ("a", 9, 12)) == [("a", 0, 10, 1), ("a", 9, 19, 1)]
    assert missed(among, ("a", 20, 60)) == [("a", 30, 55, 1)]
    assert missed(among, ("a", 11, 60), ("c", 5, 60)) == [("a", 9, 19, 1)]
    assert missed(among, (None, -5, 60)) == [(None, 5, 15, 1)]


def test_an_answer_of_several_versions_was_missed_once():
    assert missed(answers(("a", 0, 10), ("a", 0, 10)), ("a", 9, 12)) == [("a", 0, 10, 1)]


def test_very_many_late_tuples_of_very_many_answers_are_found_in_little_memory():
    start = np.arange(200_000) * 100
    keys = pa.repeat("a", len(start))
    among = pa.table({"key": keys, "window_start": start, "window_end": start + 10})
    late = pa.table({"key": keys, "pane_start": start[::-1] + 5, "frontier": start + 10**9, "tuples": start})
    found = MODEL.explode_late(late, "tuples", among=among)
    assert found["window_start"].to_numpy().tolist() == start[::-1].tolist()


def test_a_long_session_before_others_is_found():
    among = answers(("a", 0, 110), ("a", 5, 15), ("a", 30, 40))
    assert missed(among, ("a", 70, 200)) == [("a", 0, 110, 1)]
