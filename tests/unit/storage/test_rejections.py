"""Rejected records by reason."""

from __future__ import annotations

import pyarrow as pa

from tailrace.storage import rejections as module
from tailrace.storage.layout import Layout
from tailrace.storage.rejections import Rejections
from tailrace.storage.tables import Tables


def rows(*reasons: str, first: int = 0) -> pa.Table:
    return pa.table({"reason": list(reasons), "position": [f"in/a#{first + n}" for n in range(len(reasons))]})


def test_reasons_are_counted_without_what_each_record_has_of_its_own():
    found = Rejections()
    found.add(rows("v is no number: 'a'", "v is null", "broken JSON: Expecting value: line 1 column 5 (char 4)"))
    found.add(rows("v is no number: 'b'", "broken JSON: Expecting value: line 1 column 9 (char 8)", first=3))
    assert [*found.lines()] == [
        "2 × v is no number, as a, record 1",
        "2 × broken JSON: Expecting value, as a, record 3",
        "1 × v is null, as a, record 2",
    ]
    assert found.records == 5


def test_the_most_frequent_reasons_are_named_and_the_rest_is_counted():
    found = Rejections()
    found.add(rows("b", "a", "a", "c", "a", "c", "d"))
    assert [*found.lines(2)] == [
        "3 × a, as a, record 2",
        "2 × c, as a, record 4",
        "2 for 2 other reasons: see the table quarantine",
    ]


def test_reasons_without_end_take_no_room_without_end(monkeypatch):
    monkeypatch.setattr(module, "MOST_REASONS", 3)
    found = Rejections()
    for number in range(10):
        found.add(rows(f"reason {number}"))
    assert len(found.by_reason) == 4
    assert found.records == 10


def test_those_of_the_table_are_read(tmp_path):
    layout = Layout.for_query(tmp_path, "readings")
    assert not Rejections.read(layout).records
    schema = pa.schema([("reason", pa.string()), ("position", pa.string()), ("record", pa.string())])
    tables = Tables(layout)
    tables.create({"quarantine": schema})
    tables.append("quarantine", rows("v is null", "v is null").append_column("record", pa.array(["x", "y"])), "app", 0)
    assert [*Rejections.read(layout).lines()] == ["2 × v is null, as a, record 1"]
