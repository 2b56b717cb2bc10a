"""Partials: one row for each key, pane and tick; where values are kept one for each tuple."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kit.draws.aggregates import partials_of
from tailrace.windows.sliding import Sliding

TENS = Sliding(20, 10)  # panes of 10 ms


def tuples(*rows: tuple[str | int | None, int, int, float], key_type: pa.DataType | None = None) -> pa.RecordBatch:
    """A batch of (key, event time, tick, value) each."""
    key, event, tick, value = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array(key, key_type or pa.string()),
            "event_time": pa.array(event, pa.int64()),
            "tick": pa.array(tick, pa.int64()),
            "value": pa.array(value, pa.float64()),
        }
    )


def combine_to_dict(
    batch: pa.RecordBatch, windows: Sliding = TENS, function: str = "sum"
) -> dict[tuple, tuple[int, float]]:
    rows = partials_of(windows, function, batch).to_pylist()
    partials_by_place = {(row["key"], row["pane"], row["tick"]): (row["tuples"], row["total"]) for row in rows}
    assert len(partials_by_place) == len(rows), "a key, pane and tick came twice"
    return partials_by_place


# event   0    9 | 10     pane 0 holds both 0 and 9
def test_tuples_of_one_key_pane_and_tick_add_up() -> None:
    batch = tuples(("a", 0, 1, 1.5), ("a", 9, 1, 2.0), ("a", 10, 1, 4.0))
    assert combine_to_dict(batch) == {("a", 0, 1): (2, 3.5), ("a", 10, 1): (1, 4.0)}


@pytest.mark.parametrize(("function", "total"), [("min", -2.0), ("max", 1.5)])
def test_the_minimum_or_maximum_stands_for_all_tuples(function: str, total: float) -> None:
    batch = tuples(("a", 0, 1, 1.5), ("a", 9, 1, -2.0), ("a", 3, 1, 0.5), ("a", 10, 1, 4.0))
    assert combine_to_dict(batch, function=function) == {("a", 0, 1): (3, total), ("a", 10, 1): (1, 4.0)}


def test_where_values_are_kept_each_tuple_is_a_row() -> None:
    batch = tuples(("a", 9, 1, 1.5), ("b", 0, 1, 2.0), ("a", 3, 1, 1.5))
    rows = partials_of(TENS, "median", batch)
    assert rows.to_pylist() == [
        {"key": key, "pane": 0, "tick": 1, "tuples": 1, "total": value}
        for key, value in (("a", 1.5), ("b", 2.0), ("a", 1.5))
    ]
    assert rows.schema == partials_of(TENS, "sum", batch).schema


def test_different_keys_panes_and_ticks_do_not_merge() -> None:
    batch = tuples(("a", 0, 1, 1.0), ("b", 0, 1, 2.0), ("a", 0, 2, 3.0), ("a", 30, 1, 4.0))
    assert len(combine_to_dict(batch)) == 4


def test_null_is_a_key() -> None:
    batch = tuples((None, 0, 1, 1.0), ("", 0, 1, 2.0), (None, 0, 1, 3.0))
    assert combine_to_dict(batch) == {(None, 0, 1): (2, 4.0), ("", 0, 1): (1, 2.0)}


def test_keys_may_be_integers() -> None:
    batch = tuples((7, 0, 1, 1.0), (-7, 0, 1, 2.0), key_type=pa.int64())
    assert combine_to_dict(batch) == {(7, 0, 1): (1, 1.0), (-7, 0, 1): (1, 2.0)}


def test_negative_times_are_in_the_pane_below() -> None:
    assert combine_to_dict(tuples(("a", -1, 1, 1.0))) == {("a", -10, 1): (1, 1.0)}


def test_ticks_may_come_in_any_order() -> None:
    batch = tuples(("a", 0, 9, 1.0), ("a", 0, 2, 2.0), ("a", 0, 9, 4.0))
    assert combine_to_dict(batch) == {("a", 0, 9): (2, 5.0), ("a", 0, 2): (1, 2.0)}


def test_tuples_are_counted_without_a_value() -> None:
    batch = tuples(("a", 0, 1, 5.0), ("a", 0, 1, 5.0)).drop_columns(["value"])
    (row,) = partials_of(TENS, "count", batch).to_pylist()
    assert row == {"key": "a", "pane": 0, "tick": 1, "tuples": 2}


def test_of_a_group_without_a_value_the_total_is_0() -> None:
    batch = tuples(("a", 0, 1, None), ("a", 0, 1, None))
    assert combine_to_dict(batch) == {("a", 0, 1): (2, 0.0)}


@pytest.mark.parametrize("far", [40, 25 * 365 * 86_400_000], ids=["near", "25 years apart"])
def test_a_huge_value_in_another_pane_does_not_change_a_sum(far: int) -> None:
    batch = tuples(("a", 0, 1, 1e300), ("a", far, 1, 1e-9), ("a", 0, 1, -1e300), ("a", far, 1, 1e-9))
    assert combine_to_dict(batch)["a", far // 10 * 10, 1] == (2, 2e-9)


@pytest.mark.parametrize("function", ["sum", "min", "max", "median"])
def test_no_tuples_give_no_partials_with_the_same_columns(function: str) -> None:
    empty, nonempty = (partials_of(TENS, function, batch) for batch in (tuples(), tuples(("a", 0, 1, 1.0))))
    assert (empty.num_rows, empty.schema) == (0, nonempty.schema)


def test_a_very_old_tuple_among_many_keys_and_ticks() -> None:
    """Each tuple has a tick and a key of its own; the first has the oldest event time within the default bounds."""
    many, old, now = 4000, 946_684_800_000, 1_767_225_600_000
    rows = [(f"k{i}", old if i == 0 else now, i, 1.0) for i in range(many)]
    assert {pane for _, pane, _ in combine_to_dict(tuples(*rows), Sliding(101, 100))} == {old, now}
