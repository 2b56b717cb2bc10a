"""Segments: the JSON form, and the columns that their files are required to have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailrace.ground.errors import Refused
from tailrace.sources.columns import Columns
from tailrace.sources.segments import Segment, require


@pytest.mark.parametrize("part", ["event_time", "arrival_time", "id", "key", "value"])
def test_every_column_that_the_query_names_is_required(part: str) -> None:
    columns = Columns("e", "a", "i", "k", {"value": "v"}, 0, 0)
    name = columns.named()[part]
    with pytest.raises(Refused, match=f"no column '{name}', which the query names as {part}"):
        require(Path("file"), columns, [other for other in "eaikv" if other != name])


def test_optional_columns_that_the_query_does_not_name_are_not_required() -> None:
    require(Path("file"), Columns("e", None, "i", None, {}, 0, 0), ["e", "i"])


def test_a_segment_survives_json() -> None:
    segment = Segment("file", 5, 10, 2, 100, None, 77, 15, 3, mtime_ns=1 << 60, block_start=1, block_end=2, block_row=4)
    assert Segment(**json.loads(json.dumps(segment.to_json()))) == segment
