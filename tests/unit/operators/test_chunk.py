"""Rows taken of chunks: those that `Table.take` gives, at the cost of what is taken."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.operators import chunk
from tailrace.operators.chunk import take


@pytest.mark.parametrize("wide", [False, True])
@given(sizes=st.lists(st.integers(0, 9), max_size=8), data=st.data())
def test_rows_are_taken_in_the_order_of_the_index_whatever_chunks_hold_them(wide, sizes, data):
    count, schema = sum(sizes), pa.schema([("number", pa.int64()), ("text", pa.string())])
    ends = np.cumsum([0, *sizes]).tolist()
    parts = [
        pa.record_batch([pa.array(range(start, end)), pa.array(list(map(str, range(start, end))))], schema=schema)
        for start, end in pairwise(ends)
    ]
    rows = pa.Table.from_batches(parts, schema)
    index = data.draw(st.lists(st.integers(0, count - 1), max_size=3 * count // 4)) if count else []
    with pytest.MonkeyPatch.context() as patch:
        for cost in ("_ROW_BYTES", "_BATCH_BYTES"):
            patch.setattr(chunk, cost, 0 if wide else 1000)
        taken = take(rows, np.array(index, np.int64))
    assert taken.schema == schema
    assert taken.to_pylist() == [{"number": number, "text": str(number)} for number in index]


@pytest.mark.needs("quiet")
def test_a_few_rows_are_taken_without_a_copy_of_all():
    wide = pa.Table.from_batches([pa.record_batch({"text": ["x" * 1000] * 1000}) for _ in range(20)])
    before = pa.default_memory_pool().total_bytes_allocated()
    assert take(wide, np.array([19_999, 0, 5_000, 0])).num_rows == 4
    assert pa.default_memory_pool().total_bytes_allocated() - before < 100_000 < wide.nbytes / 100
