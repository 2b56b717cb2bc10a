"""The journal of a rebuild: what the old one says of the times of reading stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracle import Settings
from tailrace.engine.batch_header import BatchHeader
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, LogPosition
from tailrace.stream.restated_journal import restated
from warehouse import make_query


@pytest.mark.parametrize(
    ("arrival_time", "ingested_ms", "expected"),
    [("arrival_time", 5, 5), (None, 5, 5), ("arrival_time", None, None), (None, None, 7)],
)
def test_a_segment_keeps_the_time_of_its_reading(
    arrival_time: str | None, ingested_ms: int | None, expected: int | None
) -> None:
    query = make_query(Path("in"), Settings(500, 100, 100, "sum", "none"), source="json", arrival_time=arrival_time)
    segment = Segment("in/0", 0, 3, stream="readings", ingested_ms=ingested_ms)
    entry = BatchRecord(BatchHeader(0, ()), (segment,), LogPosition(planned_ms=7))
    assert [part.ingested_ms for one in restated(query, [entry]) for part in one.segments] == [expected]
