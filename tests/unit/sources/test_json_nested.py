"""Objects and lists of JSON have types where expressions read their fields."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.oracles.oracle import Settings
from kit.runs.warehouse import make_query
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Refused
from tailrace.sources.formats.json_types import merged_types, nested_type
from tailrace.sources.formats.registry import FORMATS, merge_types
from tailrace.sources.formats.type_names import data_type

EPOCH = 1_577_836_800_000


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([{"a": 1}, {"b": "x", "a": 1.5}, None], "struct<a: double, b: string>"),
        ([{"a": {"b": [1, None]}}, {"a": {"b": []}}], "struct<a: struct<b: list<item: int64>>>"),
        ([{"a": [{"x": 1}, {"y": True}]}], "struct<a: list<item: struct<x: int64, y: bool>>>"),
        ([{"a": 1, "A": "x", "": 2, "b<, c: d": 3, "é": 4}], "struct<a: int64, é: int64>"),
        ([{"a": 1}, {"a": "x"}], "struct<a: int64>"),
        ([{}, [], {"a": None}], None),
    ],
)
def test_the_type_of_values_has_all_their_fields(values, dtype):
    merged = None
    for value in values:
        merged = merged_types(merged, nested_type(value))
    assert (None if merged is None else str(merged)) == dtype
    assert dtype is None or data_type(dtype) == merged


def query_of(path: Path, **stream: object):
    columns = {"value": "order.total + size(order.items)", "key": "order.buyer.name"}
    return make_query(path, Settings(100, 100, 10), source="json", columns=columns, **stream)


def record(number: int, order: object) -> str:
    return json.dumps(
        {"event_time": EPOCH + number, "arrival_time": EPOCH + number, "id": f"t{number}", "order": order}
    )


def test_expressions_read_fields_of_objects_and_a_record_that_does_not_fit_is_rejected_alone(tmp_path):
    orders = [
        {"total": 2, "items": [1, 2], "buyer": {"name": "ann"}},
        {"total": 2.5, "items": [], "buyer": {"name": "bob", "more": {"x": [1]}}, "other": 7},
        {"total": "2", "items": [], "buyer": {"name": "eve"}},
        {"total": 1, "items": [3]},
        "text",
        {"total": 4, "items": [3], "buyer": {"name": "ann"}},
    ]
    path = tmp_path / "part-0.json"
    path.write_text("".join(record(number, order) + "\n" for number, order in enumerate(orders)))
    query = query_of(tmp_path, where="order.total > 0")
    ((name, columns),) = CompiledQuery.declare(query).sources.items()
    types = FORMATS["json"].types(path, columns)
    assert types["order"].startswith("struct<total: double, items: list<item: int64>, buyer: struct<name: string")
    (reader,) = CompiledQuery.declare(query).bind({name: types}).readers({name: tmp_path})
    (segment,) = FORMATS["json"].split(path)
    content = reader.read(segment)
    assert content.tuples.select(["key", "value"]).to_pylist() == [
        {"key": "ann", "value": 4.0},
        {"key": "bob", "value": 2.5},
        {"key": None, "value": 2.0},
        {"key": "ann", "value": 5.0},
    ]
    assert [(row["position"][-1], row["reason"]) for row in content.quarantine.to_pylist()] == [
        ("2", "no record that could be read"),
        ("4", f"order is of the wrong type: str, not {types['order']}"),
    ]


def test_a_later_file_may_show_other_fields(tmp_path):
    (first, second) = (tmp_path / f"part-{number}.json" for number in range(2))
    first.write_text(record(0, {"total": 1, "items": [1], "buyer": {"name": "a"}}) + "\n")
    second.write_text(record(1, {"total": 1, "more": 1}) + "\n")
    (columns,) = CompiledQuery.declare(query_of(tmp_path)).sources.values()
    types = merge_types(first, "json", columns, {})
    assert merge_types(second, "json", columns, types) == types


def test_a_field_that_no_record_shows_is_refused(tmp_path):
    path = tmp_path / "part-0.json"
    path.write_text(record(0, {"total": 1}) + "\n")
    query = query_of(tmp_path)
    ((name, columns),) = CompiledQuery.declare(query).sources.items()
    with pytest.raises(Refused, match="there is no field items"):
        CompiledQuery.declare(query).bind({name: FORMATS["json"].types(path, columns)}).readers({name: tmp_path})
