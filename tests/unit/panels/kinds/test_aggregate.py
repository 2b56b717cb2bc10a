"""Aggregates as a panel: each column of answers with its function, its values and its type."""

from __future__ import annotations

from kit.oracles.oracle import Settings
from kit.runs.local_driver import Driver
from kit.runs.shown import shown, view_of
from kit.runs.warehouse import make_query, make_stream, write_files
from tailrace.panels.kind import PANEL
from tailrace.query.declared import declared_query

SETTINGS = Settings(1000, 500, 100, "avg", "none")
AGGREGATES = {
    "total": {"function": "sum", "column": "value", "where": "value > 0"},
    "number": {"function": "count"},
    "p90": {"function": "quantile", "column": "value", "q": 0.9},
    "users": {"function": "count_distinct", "column": "id", "approximate": True},
    "mean": {"expression": "total / number"},
}
SOURCE = {"source": {"format": "parquet", "path": "x"}, "event_time": "event_time", "arrival_time": "arrival_time"}
SOURCE |= {"id": "id"}
FIELDS = {"name": "readings", "kind": "aggregate", "streams": {"readings": SOURCE}, "window": {"size": "1 s"}}


def named(directory):
    section = declared_query(FIELDS | {"aggregate": AGGREGATES}).aggregate
    return make_query(directory / "in", SETTINGS).model_copy(update={"aggregate": section})


def test_each_column_has_its_function_and_the_type_of_the_table(tmp_path):
    write_files(make_stream(200, seed=1), tmp_path / "in", [0, 200])
    query = named(tmp_path)
    before = shown(PANEL, view_of(tmp_path / "wh", query))
    assert {each["type"] for each in before["aggregates"]} == {None}
    assert "answered nothing yet" in before["note"]
    Driver(query, tmp_path / "wh").run()
    view = view_of(tmp_path / "wh", query)
    answer = shown(PANEL, view)
    fields = ("name", "function", "of", "where", "parameters")
    assert [tuple(each[name] for name in fields) for each in answer["aggregates"]] == [
        ("total", "sum", "value", "value > 0", {}),
        ("number", "count", None, None, {}),
        ("p90", "quantile", "value", None, {"q": 0.9}),
        ("users", "count_distinct", "id", None, {"approximate": True}),
        ("mean", None, "total / number", None, {}),
    ]
    types = {field.name: str(field.type) for field in view.tables.schema("results")}
    assert [each["type"] for each in answer["aggregates"]] == [types[name] for name in AGGREGATES]
    assert answer["windows"] == "panes of 500 ms, 2 to a window"
    assert (answer["note"], answer["calibration"], answer["kind"]) == (None, None, "aggregate")


def test_one_without_a_name_is_the_column_value(tmp_path):
    (one,) = shown(PANEL, view_of(tmp_path, make_query(tmp_path / "in", SETTINGS)))["aggregates"]
    assert one == {"name": "value", "function": "avg", "of": "value", "where": None, "parameters": {}, "type": None}
