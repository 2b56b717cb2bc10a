"""Versions of answers: the one that counts, each answer once; against loops over rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.answers.identity import WINDOW
from tailrace.answers.versions import as_corrections, as_streamed, without_retracted

SOME = drawn(100)
TIMES = ("window_start", "window_end", "rank", "as_of")
MARKS = {"corrected": pa.bool_(), "interval": pa.string(), "retracted": pa.bool_()}
SCHEMA = pa.schema({"key": pa.string()} | dict.fromkeys(TIMES, pa.int64()) | MARKS)
WINDOWS = st.tuples(st.sampled_from([None, "a", "a\0", "a\0b"]), st.sampled_from([10, 20]))
STREAMED = st.tuples(WINDOWS, st.integers(1, 3), st.just(None), st.just(False))
CORRECTED = st.tuples(WINDOWS, st.integers(1, 3), st.sampled_from(["x", "y", "y\0"]), st.booleans())


def rows_of(versions: list[tuple], ranks: int) -> list[dict]:
    return [
        {"key": key, "window_start": end - 10, "window_end": end, "rank": rank, "as_of": as_of}
        | {"corrected": interval is not None, "interval": interval, "retracted": retracted}
        for (key, end), as_of, interval, retracted in versions
        for rank in range(1, ranks + 1)
    ]


def window(row: dict) -> tuple:
    return row["key"], row["window_start"], row["window_end"]


@SOME
@example([(("a", 10), 1, None, False), (("a", 10), 1, "x", False), (("a\0b", 10), 1, None, False)], 2)
@example([(("a", 10), 2, "x", True), (("a", 10), 2, "y", False)], 2)
@given(st.lists(STREAMED | CORRECTED, max_size=12, unique_by=lambda one: (one[0], one[1], one[2])), st.integers(1, 3))
def test_the_latest_version_has_the_greatest_as_of_then_is_a_correction_then_stands_last(versions, ranks) -> None:
    rows = rows_of(versions, ranks)
    latest: dict[tuple, dict] = {}
    for row in rows:
        best = latest.get(window(row))
        if best is None or (row["as_of"], row["corrected"]) >= (best["as_of"], best["corrected"]):
            latest[window(row)] = row
    stamp = ("as_of", "corrected", "interval")
    expected = [row for row in rows if all(row[name] == latest[window(row)][name] for name in stamp)]
    found = WINDOW.latest(pa.Table.from_pylist(rows, SCHEMA))
    assert found.to_pylist() == expected
    assert without_retracted(found).to_pylist() == [row for row in expected if not row["retracted"]]


@SOME
@given(st.lists(STREAMED, max_size=12), st.integers(1, 3))
def test_the_first_row_of_each_answer(versions, ranks) -> None:
    rows = rows_of(versions, ranks)
    first = {window(row): row for row in reversed(rows)}
    found = WINDOW.first_rows(pa.Table.from_pylist(rows, SCHEMA)).to_pylist()
    assert {window(row): row for row in found} == first
    assert len(found) == len(first)


def test_the_streams_answers_are_versions_of_no_interval_that_corrections_may_follow() -> None:
    results = pa.Table.from_pylist([{"key": "a", "window_end": 10, "as_of": 12}])
    streamed = as_streamed(results)
    assert streamed.to_pylist() == [
        {"key": "a", "window_end": 10, "as_of": 12, "corrected": False, "retracted": False, "interval": None}
    ]
    corrections = results.append_column("retracted", pa.array([True])).append_column("interval", pa.array(["x"]))
    both = pa.concat_tables([streamed, as_corrections(corrections)], promote_options="default")
    assert both["corrected"].to_pylist() == [False, True]
    assert WINDOW.latest(both).to_pylist() == both.slice(1).to_pylist()
