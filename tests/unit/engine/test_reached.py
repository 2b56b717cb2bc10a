"""The arrival time that each stream has reached, by which a bounded run reads streams in step."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.disorder.clock import StreamClock
from tailrace.disorder.error_model import SAMPLE
from tailrace.disorder.tick_statistics import COUNTS
from tailrace.disorder.ticks import Ticks, number, summarise
from tailrace.disorder.total_coverage import TotalCoverage
from tailrace.engine import output_tables
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.tick_buffer import TickBuffer
from tailrace.ground.arrow.wire import Batches
from tailrace.tables.stream import METRICS


def segment(tick_ms: int, *arrival: int) -> Batches:
    tick, end = number(np.array(arrival), np.arange(len(arrival)), tick_ms)
    ticks: Ticks = summarise(tick, end, np.array(arrival))
    ids = TickBuffer.empty(0, [pa.string()], SAMPLE).streams[0].ids.schema
    schemas = {"counts": COUNTS, "sample": SAMPLE, "ids": ids}
    empty = {name: pa.RecordBatch.from_pylist([], schema) for name, schema in schemas.items()}
    return {"ticks": ticks.to_arrow(), **empty}


@pytest.mark.parametrize(("tick_ms", "left", "right"), [(100, 1_200, 700), (0, 1_234, 777)])
def test_each_stream_has_reached_the_beginning_of_its_newest_tick(tick_ms, left, right):
    buffer = TickBuffer.empty(tick_ms, [pa.string()] * 2, SAMPLE)
    assert buffer.reached == [None, None]
    buffer, _ = buffer.append([(0, segment(tick_ms, 1_050, 1_234))])
    assert buffer.reached == [left, None]
    buffer, _ = buffer.append([(1, segment(tick_ms, 777))])
    assert buffer.reached == [left, right]
    measured = dict.fromkeys(METRICS.columns) | output_tables.clock_columns(StreamClock(), TotalCoverage(), buffer)
    (row,) = output_tables.metrics(BatchHeader(0, ()), 0, measured).to_pylist()
    assert row["reached"] == [left, right]
    assert row["committed"] == right
