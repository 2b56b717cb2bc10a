"""The rejects of a segment, as rows of the table `quarantine`."""

from __future__ import annotations

import pyarrow as pa

from tailrace.sources.check import Checked
from tailrace.sources.file_format import SegmentReader
from tailrace.sources.segments import RawSegment, Segment


def quarantined_rows(
    stream: str, reader: SegmentReader, segment: Segment, raw: RawSegment, checked: Checked, is_stamped: bool
) -> pa.RecordBatch:
    """Return the rejects: the place of each, when it came, why it was rejected, and the record as it came.

    `is_stamped`: records bring no arrival time, and get the one of their planning.
    """
    rejected = raw.row[checked.rejected].tolist()
    texts = reader.records(segment, rejected) if rejected else []
    rejects = [*zip(rejected, checked.arrivals, checked.reasons, texts, strict=True)]
    for fault in raw.malformed:
        stamp_ms = segment.ingested_ms if is_stamped else None
        arrival_ms = stamp_ms if fault.arrival_ms is None else fault.arrival_ms
        rejects.append((fault.row, arrival_ms, fault.reason, fault.record))
    rejects.sort(key=lambda reject: reject[0])
    return pa.RecordBatch.from_pydict(
        {
            "stream": pa.array([stream] * len(rejects), pa.string()),
            "position": pa.array([f"{segment.path}#{segment.first_row + r[0]}" for r in rejects], pa.string()),
            "arrival_time": pa.array([r[1] for r in rejects], pa.int64()),
            "reason": pa.array([r[2] for r in rejects], pa.string()),
            "record": pa.array([r[3] for r in rejects], pa.string()),
        }
    )
