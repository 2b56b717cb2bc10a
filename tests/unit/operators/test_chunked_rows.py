"""`ChunkedRows`: stored rows in immutable chunks, of which a batch writes few."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.operators import chunked_rows
from tailrace.operators.chunk import Chunk
from tailrace.operators.chunked_rows import FULL, ChunkedRows


def rows(times: list[int], first: int = 0) -> pa.RecordBatch:
    numbers = list(range(first, first + len(times)))
    return pa.record_batch({"event_time": pa.array(times, pa.int64()), "number": pa.array(numbers, pa.int64())})


def stored(state: ChunkedRows) -> ChunkedRows:
    """The state after a batch has been written: all chunks have names."""
    chunks = tuple(Chunk(chunk.rows, chunk.name or f"c{id(chunk)}") for chunk in state.chunks)
    return replace(state, chunks=chunks)


def new_rows(state: ChunkedRows) -> int:
    return sum(chunk.rows.num_rows for chunk in state.chunks if chunk.name is None)


BATCHES = st.lists(st.tuples(st.lists(st.integers(-9, 50), max_size=6), st.integers(0, 12)), max_size=20)


@given(BATCHES, st.sampled_from([None, 1, 7, 100]))
def test_every_living_row_is_stored_once_and_in_order_within_its_chunk(batches, bin_ms):
    state, bound, living, first = ChunkedRows((), bin_ms), 0, {}, 0
    for drawn, moved in batches:
        times, bound = sorted(drawn), bound + moved
        state = stored(state.append(rows(times, first), bound, "event_time"))
        living |= dict(enumerate(times, first))
        living = {number: time for number, time in living.items() if time >= bound}
        first += len(times)
        held = [row for chunk in state.chunks for row in chunk.rows.to_pylist()]
        assert len({row["number"] for row in held}) == len(held)
        assert {row["number"]: row["event_time"] for row in held}.items() >= living.items()
        assert len(held) <= 2 * len(living), "most of what a chunk holds is alive"
        for chunk in state.chunks:
            assert chunk.rows.num_rows
            assert bin_ms is None or len({time // bin_ms for time in chunk.rows.column("event_time").to_pylist()}) == 1
            assert (np.diff(chunk.rows.column("event_time")) >= 0).all()


@pytest.mark.parametrize("size", [10, 100, 1_000, FULL + 1])
@pytest.mark.parametrize("batches_in_window", [5, 60])
def test_a_batch_writes_what_it_brings_however_much_is_stored(monkeypatch, size, batches_in_window):
    monkeypatch.setattr(chunked_rows, "FULL_BYTES", 0)
    state, written, chunks = ChunkedRows(), [], []
    for batch in range(3 * batches_in_window):
        times = [batch * size + number for number in range(size)]
        state = state.append(rows(times), (batch - batches_in_window) * size, None)
        written.append(new_rows(state))
        chunks.append(len(state.chunks))
        state = stored(state)
    mean = sum(written) / len(written)
    most = 1 + np.log2(max(FULL / size, 1))
    assert mean <= most * size
    assert max(chunks) <= batches_in_window * size / (FULL / 2) + np.log2(FULL) + 2


@pytest.mark.parametrize(("width", "merged"), [(30, 60_000), (1000, FULL)])
def test_chunks_of_small_rows_grow_in_bytes_and_those_of_large_ones_in_rows(width, merged):
    """So there are few, and a row is rewritten as often as a batch doubles until then."""
    state, size, written = ChunkedRows(), 500, 0
    wide = pa.array([b"x" * width] * size)
    for batch in range(128):
        new = rows([batch] * size, batch * size).append_column("wide", wide)
        state = state.append(new, 0, None)
        written += new_rows(state)
        state = stored(state)
    assert max(chunk.rows.num_rows for chunk in state.chunks) <= merged * 2
    assert len(state.chunks) <= 128 * size / (merged / 2) + np.log2(merged / size) + 1
    assert written <= 128 * size * (1 + np.log2(2 * merged / size))


def test_one_tuple_of_the_far_future_does_not_keep_the_rows_beside_it():
    state = stored(ChunkedRows().append(rows([*range(100), 10**12]), 0, None))
    state = state.append(rows([]), 1_000, None)
    assert [chunk.rows.num_rows for chunk in state.chunks] == [1]


def test_an_expired_row_of_a_batch_is_not_stored():
    state = ChunkedRows().append(rows([1, 2, 50, 51, 52]), 40, None)
    assert state.chunks[0].rows.column("event_time").to_pylist() == [50, 51, 52]


def test_a_stored_chunk_that_mostly_lives_stays_as_it_is():
    before = stored(ChunkedRows().append(rows([1, 50, 51]), 0, None))
    after = before.append(rows([]), 10, None)
    assert after.chunks[0].rows is before.chunks[0].rows
    assert after.chunks[0].name == before.chunks[0].name


def test_bins_expire_as_a_whole_and_merge_only_within_themselves():
    state = ChunkedRows((), 100)
    for batch in range(6):
        state = stored(state.append(rows([10 * batch, 10 * batch + 150, 10 * batch + 300]), 0, "event_time"))
    times = [chunk.rows.column("event_time").to_pylist() for chunk in state.chunks]
    expected = sorted(10 * batch + start for batch in range(6) for start in (0, 150, 300))
    assert sorted(time for chunk in times for time in chunk) == expected
    assert len(times) < 12, "chunks of a bin are merged"
    state = state.append(rows([]), 200, "event_time")
    assert {time // 100 for chunk in state.chunks for time in chunk.rows.column("event_time").to_pylist()} == {2, 3}
