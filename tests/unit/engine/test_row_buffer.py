"""The rows of a task, cut where ticks are complete."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.engine.row_buffer import Cut, RowBuffer

SCHEMA = pa.schema([("key", pa.dictionary(pa.int32(), pa.string())), ("tick", pa.int64())])


def rows(*of: tuple[str, int]) -> pa.RecordBatch:
    """(key, tick) of each row."""
    keys, ticks = (list(column) for column in zip(*of, strict=True)) if of else ([], [])
    return pa.RecordBatch.from_arrays(
        [pa.array(keys, pa.string()).dictionary_encode(), pa.array(ticks, pa.int64())], schema=SCHEMA
    )


NONE = RowBuffer.from_arrow(rows())


def values(table: pa.Table | RowBuffer) -> list[tuple[str, int]]:
    table = table.rows if isinstance(table, RowBuffer) else table
    return [(row["key"], row["tick"]) for row in table.to_pylist()]


def test_rows_belong_at_least_to_the_tick_that_their_segment_found() -> None:
    buffer = NONE.append([(rows(("a", 1), ("b", 3)), -9), (rows(("c", 2), ("d", 4)), 3)])
    assert values(buffer) == [("a", 1), ("b", 3), ("c", 3), ("d", 4)]


def test_rows_are_complete_before_the_cut() -> None:
    complete, rest = NONE.append([(rows(("a", 2), ("b", 1), ("c", 3)), 0)]).split(Cut(2))
    assert (values(complete), values(rest)) == ([("b", 1)], [("a", 2), ("c", 3)])


def test_without_a_bound_all_rows_are_complete() -> None:
    complete, rest = NONE.append([(rows(("a", 2), ("b", 1)), 0)]).split(Cut(None))
    assert (values(complete), values(rest)) == ([("a", 2), ("b", 1)], [])


def test_complete_rows_get_the_numbers_of_their_ticks_and_the_others_keep_theirs() -> None:
    cut = Cut(7, (np.array([1, 2, 5]), np.array([10, 11, 40])))
    complete, rest = NONE.append([(rows(("a", 5), ("b", 1), ("c", 7)), 0)]).split(cut)
    assert (values(complete), values(rest)) == ([("a", 40), ("b", 10)], [("c", 7)])


def test_only_keys_still_in_use_are_kept() -> None:
    _, rest = NONE.append([(rows(("a", 1), ("b", 2)), 0)]).split(Cut(2))
    packed = rest.to_arrow()
    assert packed.column("key").dictionary.to_pylist() == ["b"]
    assert values(RowBuffer.from_arrow(packed)) == [("b", 2)]


def test_no_rows_through_arrow_keep_their_schema() -> None:
    assert RowBuffer.from_arrow(NONE.to_arrow()).rows.schema == SCHEMA
