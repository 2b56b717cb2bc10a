"""Segments: the JSON form."""

from __future__ import annotations

import json

from tailrace.sources.segments import Segment


def test_a_segment_survives_json() -> None:
    segment = Segment("file", 5, 10, 2, 100, None, 77, 15, 3, mtime_ns=1 << 60, block_start=1, block_end=2, block_row=4)
    assert Segment(**json.loads(json.dumps(segment.to_json()))) == segment
