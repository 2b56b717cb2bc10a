"""Streams in memory, as a simulated query reads them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from bench.simulate import RecordedStream
from bench.topk.paper_query import ADAPTIVE, generate_stream, query


def test_a_stream_that_a_query_would_reject_is_refused():
    rows = generate_stream(1_000, 2, 20, 3)
    wrong = rows.set_column(rows.column_names.index("value"), "value", pa.array([float("nan"), *[1.0] * 39]))
    with pytest.raises(ValueError, match="1 records are rejected, the first one because of: value is NaN"):
        RecordedStream.read(query(ADAPTIVE), wrong)


def test_the_first_tuples_of_a_stream_are_those_of_the_first_records():
    rows = generate_stream(1_000, 2, 20, 3)
    stream = RecordedStream.read(query(ADAPTIVE), rows)
    assert stream.first(7).tuples.equals(RecordedStream.read(query(ADAPTIVE), rows.slice(0, 7)).tuples)
    assert stream.first(7).arrival_ms.tolist() == stream.arrival_ms[:7].tolist()
