"""Equal rows by some of their columns: against dictionaries of Python values."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.ground.arrow.matching import find, first_indices, last_indices, number_rows, select

SOME = drawn(100)
KEYS = [None, "", "a", "a\0", "a\0b", "\0", "b", "ä"]
FAR = 10**15  # numbers so far apart that no table of all pairs would fit
ROWS = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from([0, 1, -FAR, FAR, None])), max_size=30)
SCHEMA = pa.schema([("key", pa.string()), ("end", pa.int64())])


def table(rows: list[tuple]) -> pa.Table:
    """Rows in two chunks, as tables are read."""
    half = len(rows) // 2
    parts = [pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in part], SCHEMA)
             for part in (rows[:half], rows[half:])]  # fmt: skip
    return pa.concat_tables(parts)


@SOME
@example([], [])
@example([], [("a", 0)])
@example([("a", 0), ("a\0b", 0), (None, 0), (None, None), ("", 0)], [("a\0", 0), (None, 0), (None, None)])
@given(ROWS, ROWS)
def test_numbers_are_equal_where_rows_are(mine: list[tuple], others: list[tuple]) -> None:
    numbers = number_rows([table(mine), table(others)], SCHEMA.names)
    assert [len(number) for number in numbers] == [len(mine), len(others)]
    flat, rows = [int(one) for number in numbers for one in number], [*mine, *others]
    assert len(set(zip(flat, rows, strict=True))) == len(set(flat)) == len(set(rows))
    assert all(0 <= one <= 4 * len(rows) + 1024 for one in flat)


@SOME
@given(ROWS, ROWS)
def test_a_row_is_found_at_its_first_place_among_others(mine: list[tuple], others: list[tuple]) -> None:
    found = find(*number_rows([table(mine), table(others)], SCHEMA.names))
    assert found.tolist() == [others.index(row) if row in others else -1 for row in mine]


@SOME
@given(ROWS)
def test_the_first_and_the_last_of_equal_rows(rows: list[tuple]) -> None:
    (number,) = number_rows([table(rows)], SCHEMA.names)
    first = {row: place for place, row in reversed(list(enumerate(rows)))}
    last = {row: place for place, row in enumerate(rows)}
    assert first_indices(number).tolist() == sorted(first.values())
    assert last_indices(number).tolist() == sorted(last.values())


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
def test_keys_that_are_all_null_are_one_group(kind: pa.DataType) -> None:
    rows = pa.table({"key": pa.nulls(3, kind), "end": [1, 2, 1]})
    first, second, third = number_rows([rows], SCHEMA.names)[0].tolist()
    assert first == third != second


def test_batches_and_tables_are_numbered_alike() -> None:
    rows = table([("a", 1), (None, 2)])
    (batch,) = rows.combine_chunks().to_batches()
    assert find(*number_rows([batch, rows], SCHEMA.names)).tolist() == [0, 1]


def test_where_all_rows_are_selected_nothing_is_copied() -> None:
    rows = table([("a", 1), (None, 2)])
    (number,) = number_rows([rows], SCHEMA.names)
    assert select(rows, number >= 0) is rows
    assert select(rows, number > 0).to_pylist() == [{"key": None, "end": 2}]


def test_lists_are_equal_where_all_their_values_are():
    lists = [["a", None], ["a"], [], None, ["a", None], ["a, None"]]
    one, other = (pa.table({"v": pa.array(part, pa.list_(pa.string()))}) for part in (lists, lists[::-1]))
    number, others = number_rows([one, other], ["v"])
    assert len({*number.tolist()}) == 5
    assert number.tolist() == others.tolist()[::-1]
