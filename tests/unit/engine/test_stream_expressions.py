"""A reader derives columns and leaves records out, between reading and checking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from kit.oracles.oracle import Settings
from kit.runs.json_stream import write_json
from kit.runs.local_driver import Driver, correct_here
from kit.runs.warehouse import make_query, rows_of
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Refused
from tailrace.query.query import Query
from tailrace.sources.segments import Segment
from tailrace.storage.manifest import changes

EPOCH = 1_577_836_800_000
SETTINGS = Settings(100, 100, 10)


class Unshown(MemoryFormat):
    """A format whose records can't be shown as texts."""

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        return [""] * len(rows)


def query_of(path: Path = Path("in"), settings: Settings = SETTINGS, **stream: object) -> Query:
    return make_query(path, settings, **stream)


def table(rows: int, **columns: object) -> pa.Table:
    numbers = np.arange(rows)
    plain = {"event_time": EPOCH + numbers, "arrival_time": EPOCH + numbers, "id": [f"t{n}" for n in range(rows)]}
    return pa.table(plain | {"key": ["k"] * rows, "value": np.ones(rows)} | columns)


def read(query: Query, raw: pa.Table):
    (reader,) = pipeline_in_memory(query, {"readings": MemoryFormat({"a": raw})}).readers
    segment = Segment("a", 0, raw.num_rows, stream="readings")
    return reader, reader.read(segment)


def test_the_source_s_columns_are_those_that_expressions_and_parts_of_tuples_need():
    columns = {"value": "net * rate", "net": "gross - tax", "key": "lower(label)", "unused": "more"}
    query = query_of(columns={"net": "gross - tax", **columns}, where="status = 'paid' and value > 0")
    parts = CompiledQuery.declare(query).sources["readings"]
    assert set(parts.named().values()) == {
        *("event_time", "arrival_time", "id", "gross", "tax", "rate", "label", "more", "status")
    }
    assert set(parts.pruned().named().values()) == set(parts.named().values()) - {"more"}


def test_a_record_is_accepted_filtered_or_quarantined_and_shown_as_it_came():
    amounts, quantities = [4.0, 3.0, 2.0, None, 8.0], [2, 0, 0, 1, 4]
    raw = table(5, amount=amounts, quantity=pa.array(quantities, pa.int64()))
    _, content = read(query_of(columns={"value": "amount / quantity"}, where="amount <> 2"), raw)
    assert content.tuples.column("value").to_pylist() == [2.0, 2.0]
    assert content.tuples.column("position").to_pylist() == [0, 4]
    assert content.filtered == 2
    (reject,) = content.quarantine.to_pylist()
    assert reject["reason"] == "expression value: division by zero"
    assert reject["record"] == str(raw.slice(1, 1).to_pylist()[0])


def test_a_filtered_record_moves_ticks_if_its_times_are_sound_and_is_no_reject_else():
    raw = table(6, keep=[True, False, False, True, False, None])
    raw = raw.set_column(0, "event_time", pa.array([EPOCH, EPOCH + 500, None, EPOCH + 3, 5, EPOCH + 900], pa.int64()))
    _, content = read(query_of(where="keep"), raw)
    assert (content.tuples.num_rows, content.filtered, content.quarantine.num_rows) == (2, 4, 0)
    assert content.ticks.max_event.max() == EPOCH + 900
    assert content.ticks.count.sum() == 4  # 5 ms after 1970 is before the earliest, and one time is null
    assert content.ranges()["max_event"] == EPOCH + 3


def test_ticks_of_tuples_follow_those_of_filtered_records_before_them():
    """Arrival goes backwards behind a filtered record: a tuple's tick is the largest so far, its record or not."""
    raw = table(3, keep=[True, False, True])
    raw = raw.set_column(1, "arrival_time", pa.array([EPOCH, EPOCH + 95, EPOCH + 20], pa.int64()))
    _, content = read(query_of(where="keep"), raw)
    assert content.tuples.column("tick").to_pylist() == [EPOCH // 10, EPOCH // 10 + 9]


def test_a_filter_that_keeps_one_record_in_a_hundred_thousand_holds_no_window_open():
    rows = 100_001
    raw = table(rows, rare=np.arange(rows) % 100_000 == 0)
    engine = LocalEngine(pipeline_in_memory(query_of(where="rare"), {"readings": MemoryFormat({"a": raw})}))
    first, second = (
        Segment("a", start, rows - 1 if not start else 1, number, start, stream="readings")
        for number, start in enumerate((0, rows - 1))
    )
    answered = engine.batch(query_of().policy, [first])["results"].to_pylist()
    assert [(row["window_start"], row["tuples"]) for row in answered] == [(EPOCH, 1)]
    more = engine.batch(query_of().policy, [second], closes=True, ends=True)["results"].to_pylist()
    assert [(row["window_start"] - EPOCH, row["tuples"]) for row in more] == [(100_000, 1)]


def test_without_values_the_same_records_are_left_out():
    raw = table(4, amount=[1.0, -1.0, 2.0, 3.0], name=["a", "b", "c", "d"])
    query = query_of(columns={"net": "amount * 2", "value": "net + 1", "id": "upper(name)"}, where="net > 2")
    reader, content = read(query, raw)
    bare = reader.without_values()
    assert bare.read(Segment("a", 0, 4, stream="readings")).tuples.column("id").to_pylist() == ["C", "D"]
    assert content.tuples.column("id").to_pylist() == ["C", "D"]
    assert dict(bare.columns.projection.columns).keys() == {"net", "id"}
    assert set(bare.types) == {"event_time", "arrival_time", "key", "amount", "name"}


def test_a_record_that_is_no_utf_8_is_rejected_and_not_left_out():
    bad = pa.array([b"ok", b"\xff"]).view(pa.string())
    reader, _ = read(query_of(where="label = 'ok'"), table(2, label=["ok", "ok"]))
    format_ = Unshown({"a": table(2, label=bad)})
    content = replace(reader, format=format_).read(Segment("a", 0, 2, stream="readings"))
    assert (content.tuples.num_rows, content.filtered) == (1, 0)
    assert [row["reason"] for row in content.quarantine.to_pylist()] == ["label is no UTF-8"]


def test_columns_and_where_are_structure_and_so_is_their_order(tmp_path):
    raw = [{"event_time": EPOCH, "arrival_time": EPOCH, "id": "a", "key": "k", "value": 1.0, "x": 1.0}]
    (tmp_path / "in").mkdir()
    write_json(raw, tmp_path / "in", 0)
    plain = query_of(tmp_path / "in", source="json")
    driver = Driver(
        query_of(tmp_path / "in", source="json", columns={"value": "x", "y": "x"}, where="x > 0"), tmp_path / "wh"
    )
    driver.run()
    manifest = driver.layout.manifest()
    assert changes(manifest, driver.query) == {}
    other = query_of(tmp_path / "in", source="json", columns={"y": "x", "value": "x + 1"}, where="x > 1")
    name = "streams.readings."
    assert changes(manifest, other) == {
        f"{name}columns.value": ("x", "x + 1"),
        f"{name}where": ("x > 0", "x > 1"),
        f"{name}column_order": (["value", "y"], ["y", "value"]),
    }
    assert changes(manifest, plain).keys() == {
        f"{name}columns.value",
        f"{name}columns.y",
        f"{name}where",
        f"{name}column_order",
    }


@pytest.mark.parametrize("where", ["value % 5 = 0", "value % 2 = 0", None])
def test_a_rebuild_reads_the_source_again_and_is_refused_where_that_is_gone(tmp_path, where):
    """History has no record that where left out: it moves the clock, and another where may keep it."""
    rows = [
        {"event_time": EPOCH + 40 * n, "arrival_time": EPOCH + 40 * n, "id": f"t{n}", "key": "k", "value": float(n)}
        for n in range(20)
    ]
    (tmp_path / "in").mkdir()
    write_json(rows, tmp_path / "in", 0)
    before = query_of(tmp_path / "in", source="json", where="value % 5 = 0")
    driver = Driver(before, tmp_path / "wh")
    driver.run(7)
    answers = rows_of(tmp_path / "wh", "results")["results"]
    after = query_of(tmp_path / "in", source="json", where=where)
    driver.rebuild(after)
    rebuilt = rows_of(tmp_path / "wh", "results")["results"]
    if after == before:
        assert rebuilt == answers
    else:
        fresh = Driver(after, tmp_path / "fresh")
        fresh.run(100)
        columns = ("key", "window_start", "value", "tuples", "as_of")
        ours, true = (
            [[row[c] for c in columns] for row in each]
            for each in (rebuilt, rows_of(tmp_path / "fresh", "results")["results"])
        )
        assert ours == true
    correct_here(driver.query, tmp_path / "wh")
    next((tmp_path / "in").iterdir()).unlink()
    with pytest.raises(Refused, match="the stream has read it"):
        driver.rebuild(replace_where(driver.query))


def replace_where(query: Query) -> Query:
    ((name, stream),) = query.streams.items()
    return query.model_copy(update={"streams": {name: stream.model_copy(update={"where": "value > 3"})}})
