"""Which pairs a correction adds, takes back and leaves; over tuples of a few milliseconds."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest

from bench.local_engine import LocalEngine
from kit.fakes.toy_join import ToyJoin
from kit.oracles.pair_oracle import Item, Join
from kit.runs.harness import policy_of_oracle
from kit.runs.memory_pair_tables import MemoryPairTables
from tailrace.answers.by_pair import _is_known
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.arrow.sortable import to_sortable_text
from tailrace.storage.log import Log

JOIN = Join(reach=10, tick=10)
FAR = [Item(1000, 1000, "far", "z")]


def changes(rows) -> list[tuple]:
    names = ("left_id", "right_id", "left_time", "right_time", "tuples", "retracted", "as_of")
    return [tuple(row[name] for name in names) for row in rows.to_pylist()]


def test_a_missed_pair_is_added_and_a_known_one_keeps_its_version():
    left = [Item(1, 1, "a", "v"), Item(500, 500, "far", "z")]
    right = [Item(2, 2, "b", "v"), *FAR, Item(5, 1011, "c", "v")]
    desk = MemoryPairTables((left, right), JOIN)
    assert desk.latest() == {("a", "b"): (1, 2)}
    rows = desk.correct(0, 1020)
    assert changes(rows) == [("a", "c", 1, 5, 2, False, 1020)]
    assert rows.select(["k_ms", "facts_version"]).to_pylist() == [{"k_ms": None, "facts_version": None}]
    assert changes(desk.correct(0, 1020)) == changes(rows)  # it replaces itself
    assert desk.latest() == {("a", "b"): (1, 2), ("a", "c"): (1, 5)}
    assert not desk.correct(0, 2000).num_rows  # known by another correction


def test_the_same_id_twice_of_which_only_one_is_late():
    """a at 5000 is a repeat, which is late where F is 6000: the pair of a at 1 is right, and stays."""
    left = [Item(1, 1, "a", "v"), Item(6000, 6000, "f", "z"), Item(5000, 6010, "a", "v")]
    right = [Item(2, 2, "b", "v"), Item(6000, 6000, "f", "y")]
    desk = MemoryPairTables((left, right), JOIN)
    assert [one.item.event_time for one, _ in desk.late_tuples] == [5000]
    assert not desk.correct(0, desk.end).num_rows
    assert desk.latest() == {("a", "b"): (1, 2)}


REPEAT = [Item(1, 1, "a", "v"), Item(100, 100, "a", "w"), Item(200, 200, "f", "z")]


def test_what_only_a_repeat_of_an_id_had_brought_is_taken_back():
    right = [Item(100, 101, "b", "w"), Item(200, 200, "f", "y"), Item(99, 211, "b", "w")]
    desk = MemoryPairTables((REPEAT, right), JOIN)
    assert desk.latest() == {("a", "b"): (100, 100)}
    everything = desk.kind.answers.closed(CorrectionRange().bounds, 1 << 60)
    first = desk.revise(everything, desk.end, "all")
    assert changes(first) == [("a", "b", 100, 100, 0, True, desk.end)]
    assert first["k_ms"].to_pylist() == [0]
    assert desk.latest() == {}
    assert changes(desk.revise(everything, desk.end, "all")) == changes(first)
    assert not desk.revise(everything, desk.end, "again").num_rows  # it is taken back already


def test_a_pair_of_which_a_late_repeat_has_brought_another_is_made_right():
    """The first a and b lie far from their repeats, which are late, and met: what the first ones are is looked up."""
    left = [Item(1, 1, "a", "v"), Item(6000, 6000, "f", "z"), Item(5995, 6010, "a", "w")]
    right = [Item(2, 2, "b", "v"), Item(6000, 6000, "f", "y"), Item(5996, 6010, "b", "w")]
    desk = MemoryPairTables((left, right), JOIN, again=True)
    assert desk.latest() == {("a", "b"): (5995, 5996)}
    assert changes(desk.correct(6010, 6020)) == [("a", "b", 1, 2, 2, False, 6020)]
    desk = MemoryPairTables((left, [right[0]._replace(value="u"), *right[1:]]), JOIN, again=True)
    assert changes(desk.correct(6010, 6020)) == [("a", "b", 5995, 5996, 0, True, 6020)]


def test_a_right_pair_gets_a_row_where_a_later_version_may_stand_outside_of_what_is_read():
    left = [Item(1, 1, "a", "v"), Item(6000, 6000, "a", "w")]
    right = [Item(2, 2, "b", "v"), Item(6001, 6001, "b", "w")]
    desk = MemoryPairTables((left, right), JOIN, again=True)
    assert desk.latest() == {("a", "b"): (6000, 6001)}
    near = desk.kind.answers.closed((0, 10), 1 << 60)
    rows = desk.revise(near, desk.end, "near")
    assert changes(rows) == [("a", "b", 1, 2, 2, False, 6010)]
    assert desk.latest() == {("a", "b"): (1, 2)}
    assert changes(desk.revise(near, desk.end, "near")) == changes(rows)
    everything = desk.kind.answers.closed(CorrectionRange().bounds, 1 << 60)
    assert not desk.revise(everything, desk.end, "all").num_rows


def test_a_pair_is_taken_back_again_where_a_later_version_may_stand_outside_of_what_is_read():
    left = [Item(1, 1, "a", "u"), Item(100, 100, "a", "v"), Item(6000, 6000, "a", "w")]
    right = [Item(100, 100, "b", "v"), Item(6001, 6001, "b", "w")]
    desk = MemoryPairTables((left, right), JOIN, again=True)
    near = desk.kind.answers.closed((100, 101), 1 << 60)
    assert changes(desk.revise(near, 5000, "one")) == [("a", "b", 100, 100, 0, True, 5000)]
    assert desk.latest() == {("a", "b"): (6000, 6001)}
    assert changes(desk.revise(near, desk.end, "two")) == [("a", "b", 100, 100, 0, True, 6010)]
    assert desk.latest() == {}


def test_a_version_at_the_very_start_of_what_is_read_is_read():
    left = [Item(1000, 1000, "a", "v"), Item(989, 1011, "a", "w")]
    right = [Item(1000, 1000, "b", "v"), Item(989, 1012, "b", "w")]
    desk = MemoryPairTables((left, right), Join(reach=10, tick=10, k=50), again=True)
    assert desk.latest() == {("a", "b"): (989, 989)}
    rows = desk.revise(desk.kind.answers.closed((1000, 1010), 1 << 60), desk.end, "some")
    assert changes(rows) == [("a", "b", 1000, 1000, 2, False, 1020)]


def test_a_pair_that_came_after_the_cut_off_is_not_taken_back():
    left = [Item(1000, 1000, "f", "z"), Item(995, 1010, "a", "v")]
    right = [Item(1000, 1000, "f", "y"), Item(996, 1030, "b", "v")]
    desk = MemoryPairTables((left, right), JOIN)
    assert desk.latest() == {("a", "b"): (995, 996)}
    assert not desk.correct(1010, 1020).num_rows


def test_integer_ids_on_the_left_and_text_on_the_right():
    left = [Item(1, 1, -7, "v"), Item(500, 500, 12, "z"), Item(3, 510, 5, "v")]
    right = [Item(2, 2, "7", "v"), *FAR, Item(5, 1011, "12", "v")]
    desk = MemoryPairTables((left, right), JOIN, ([1], [1]))
    desk.correct(0, 1020)
    truth = {(-7, "7"): (1, 2), (-7, "12"): (1, 5), (5, "7"): (3, 2), (5, "12"): (3, 5)}
    assert desk.latest() == truth == desk.truth(desk.end)


@pytest.mark.parametrize("value", ["late", None])
def test_nothing_is_read_where_no_tuple_is_late_and_no_pair_known(value, monkeypatch):
    left = [Item(1, 1, "a", "v"), Item(500, 500, "far", "z")]
    right = [Item(2, 2, "b", "u"), *FAR, *([Item(5, 1011, "c", "v")] if value else [])]
    desk, read = MemoryPairTables((left, right), JOIN), []
    logs = Log.from_segments
    monkeypatch.setattr(Log, "from_segments", lambda *arguments: read.append(1) or logs(*arguments))
    desk.revise(desk.kind.answers.closed((0, 10), 100), 1020, "some")
    assert bool(read) == bool(value)


def test_a_right_version_of_a_correction_is_known_beside_the_streams_wrong_one():
    left = [Item(5990, 5990, "a", "v"), Item(6000, 6000, "f", "z"), Item(5995, 6010, "a", "w")]
    right = [Item(5991, 5991, "b", "v"), Item(6000, 6000, "f", "y"), Item(5996, 6030, "b", "w")]
    desk = MemoryPairTables((left, right), JOIN, again=True)
    assert desk.latest() == {("a", "b"): (5995, 5996)}
    assert changes(desk.correct(6030, 6040)) == [("a", "b", 5990, 5991, 2, False, 6040)]
    assert not desk.correct(6010, 6040).num_rows


@pytest.mark.parametrize("retracted", [False, True])
def test_a_pair_that_the_stream_gave_twice_at_once_gets_one_version(retracted):
    desk = MemoryPairTables((REPEAT, [Item(100, 101, "b", "w"), Item(200, 200, "f", "y")]), JOIN)
    if not retracted:
        desk = MemoryPairTables(([Item(1, 1, "a", "v")], [Item(2, 2, "b", "v")]), JOIN)
    desk.given[0] = pa.concat_tables([desk.given[0]] * 2)
    everything = desk.kind.answers.closed(CorrectionRange().bounds, 1 << 60)
    assert desk.revise(everything, desk.end, "all")["retracted"].to_pylist() == [retracted]
    assert len(desk.latest()) == int(not retracted)


def test_doubles_are_the_same_within_1e_9():
    kind = ToyJoin(5)
    answer = kind.answer.append(pa.field("distance", pa.float64()))
    values, others = [1.0, 1.0, None, 1e-10, None], [1 + 1e-12, 1.1, None, 5e-10, float("nan")]
    rows = [("a", f"b{number}", 1, 2, 2, value) for number, value in enumerate(values)]
    found = pa.Table.from_pylist([dict(zip(answer.names, row, strict=True)) for row in rows], answer)
    latest = found.set_column(5, "distance", pa.array(others))
    assert _is_known(kind.answers.identity, answer, found, latest).tolist() == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("kind", "value", "other"),
    [
        (pa.timestamp("us", "UTC"), 1, 2),
        (pa.date32(), 1, 2),
        (pa.decimal128(38, 2), Decimal("0.10"), Decimal("0.11")),
        (pa.bool_(), True, False),
        (pa.string(), "", "\0"),
        (pa.int8(), 1, 2),
        (pa.float32(), 0.1, 0.2),
    ],
    ids=str,
)
def test_a_pair_with_another_value_of_a_column_is_another_one(kind, value, other):
    toy = ToyJoin(5)
    answer = toy.answer.append(pa.field("more", kind))
    tables = []
    for values in ([value, value, None, None], [value, other, None, value]):
        rows = [("a", f"b{number}", 1, 2, 2) for number in range(4)]
        table = pa.Table.from_pylist([dict(zip(toy.answer.names, row, strict=True)) for row in rows], toy.answer)
        tables.append(table.append_column(answer.field("more"), pa.array(values, kind)))
    assert _is_known(toy.answers.identity, answer, *tables).tolist() == [True, False, True, False]


def test_the_event_time_of_an_id_is_that_of_its_first_tuple():
    desk = MemoryPairTables((REPEAT, []), JOIN, ([2], []))
    ids = pa.array(["a", "f", "never"])
    assert sorted(desk.past(desk.end).event_times(0, ids)) == [1, 200]
    assert desk.past(desk.end).event_times(1, ids).tolist() == []


def test_the_engine_stores_ids_of_two_types_as_text_that_sorts():
    desk = MemoryPairTables(([Item(1, 1, -7, "v"), Item(2, 2, 12, "v")], [Item(2, 2, "x", "v")]), JOIN)
    segments = [reader.format.segments(reader.name)[0] for reader in desk.pipeline.readers]
    segments[1] = replace(segments[1], ordinal=1)
    rows = LocalEngine(desk.pipeline).batch(policy_of_oracle("none"), segments)["segments"].to_pylist()
    text = [*map(to_sortable_text, (-7, 12))]
    assert [(row["min_id"], row["max_id"]) for row in rows] == [tuple(text), ("x", "x")]
