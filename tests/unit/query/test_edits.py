"""Edits of what people write in a query: each is named by its field, and says what it takes."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from kit.runs.local_driver import Driver
from kit.runs.warehouse import even, make_stream, write_files
from tailrace.ground.errors import Refused
from tailrace.query.declared import declared_query
from tailrace.query.differences import differences
from tailrace.query.query import Query
from tailrace.storage import checkpoint
from tailrace.stream.rebuild import plan_rebuild

TUPLES = make_stream(400, seed=5)

AGGREGATE: dict[str, Any] = {
    "total": {"function": "sum", "column": "twice"},
    "high": {"function": "quantile", "column": "value", "q": 0.9},
    "some": {"function": "count", "where": "value > 10"},
    "users": {"function": "count_distinct", "column": "id"},
    "mean": {"expression": "total / some"},
}


def declare(directory: Path) -> dict[str, Any]:
    source = {"format": "parquet", "path": str(directory / "in")}
    stream: dict[str, Any] = {"source": source, "event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    stream |= {"columns": {"twice": "value * 2", "more": "value + 1", "sensor": "key"}}
    stream |= {"where": "value > -40", "key": ["sensor"]}
    fields = {"name": "readings", "kind": "aggregate", "streams": {"events": stream}}
    return fields | {"window": {"size": "1 min"}, "aggregate": AGGREGATE}


def set_to(path: str, value: Any):
    """Return an edit that sets a field, or removes it with None."""

    def edit(fields: dict[str, Any]) -> dict[str, Any]:
        edited = deepcopy(fields)
        *sections, name = path.split(".")
        section = edited
        for each in sections:
            section = section[each]
        if value is None:
            del section[name]
        else:
            section[name] = value
        return edited

    return edit


def reordered(path: str):
    """Return an edit that turns the names of a section round."""

    def edit(fields: dict[str, Any]) -> dict[str, Any]:
        section = fields
        for each in path.split("."):
            section = section[each]
        return set_to(path, dict(reversed(section.items())))(fields)

    return edit


EDITS: dict[str, Any] = {
    "aggregate.total.function": set_to("aggregate.total.function", "avg"),
    "aggregate.total.column": set_to("aggregate.total.column", "more"),
    "aggregate.high.q": set_to("aggregate.high.q", 0.5),
    "aggregate.some.where": set_to("aggregate.some.where", "value > 20"),
    "aggregate.users.approximate": set_to("aggregate.users.approximate", True),
    "aggregate.mean.expression": set_to("aggregate.mean.expression", "some / total"),
    "aggregate.order": reordered("aggregate"),
    "streams.events.columns.twice": set_to("streams.events.columns.twice", "value * 3"),
    "streams.events.where": set_to("streams.events.where", "value > 0"),
    "streams.events.key": set_to("streams.events.key", ["sensor", "id"]),
    "window.offset": set_to("window.offset", "20 s"),
}


def refusal(directory: Path, query: Query) -> list[tuple[str, str, str]]:
    with pytest.raises(Refused) as refused:
        checkpoint.resumable(Driver(query, directory / "wh").layout, query)
    return [(problem.where, problem.fault, problem.remedy) for problem in refused.value.problems]


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("edits")
    write_files(TUPLES, path / "in", even(len(TUPLES), 2))
    Driver(declared_query(declare(path)), path / "wh").run(flush=True)
    return path


@pytest.mark.parametrize("field", EDITS)
def test_an_edit_is_named_by_its_field_and_a_rebuild_answers_again(directory, field) -> None:
    fields = declare(directory)
    before, now = declared_query(fields), declared_query(EDITS[field](fields))
    assert [each.field for each in differences(before, now)] == [field]
    ((where, fault, remedy),) = refusal(directory, now)
    assert where == field
    assert "but the stream in" in fault
    assert remedy.startswith("the old value; or tailrace rebuild FILE --warehouse ")
    assert "it answers all of history again" in remedy
    planned = plan_rebuild(now, Driver(now, directory / "wh").layout, Path("readings.yaml"))
    assert [*planned.changed] == [field]
    assert planned.answers_anew


@pytest.mark.parametrize(
    ("edit", "fields"),
    [
        (
            set_to("aggregate.least", {"function": "min", "column": "value"}),
            {"aggregate.order", "aggregate.least.function", "aggregate.least.column"},
        ),
        (set_to("aggregate.high", None), {"aggregate.order", "aggregate.high.function", "aggregate.high.q"}),
        (set_to("streams.events.columns.less", "value - 1"), {"streams.events.columns.less"}),
        (reordered("streams.events.columns"), {"streams.events.column_order"}),
        (set_to("window", {"size": "1 d", "timezone": "Europe/Berlin"}), {"window.size", "window.timezone"}),
    ],
    ids=["added", "removed", "derived", "order of derived", "calendar"],
)
def test_what_comes_and_goes_is_named_too(directory, edit, fields) -> None:
    now = declared_query(edit(declare(directory)))
    ((where, fault, _),) = refusal(directory, now)
    named = {where, *re.findall(r"; ([\w.]+) is .+?, not ", fault)}
    assert fields <= named
    assert {field.split(".")[0] for field in named} == {next(iter(fields)).split(".")[0]}


def test_a_file_that_names_derived_columns_in_another_order_is_not_in_force(directory) -> None:
    fields = declare(directory)
    before, now = declared_query(fields), declared_query(reordered("streams.events.columns")(fields))
    assert [str(each) for each in differences(before, now)] == [
        "streams.events.columns.order: [twice, more, sensor] → [sensor, more, twice]"
    ]


def answers(driver: Driver, names: list[str]) -> list[dict[str, Any]]:
    rows = driver.tables.read("results").select(["key", "window_start", "window_end", "tuples", *names]).to_pylist()
    return sorted(rows, key=lambda row: (row["window_start"], row["key"]))


@pytest.mark.parametrize("field", ["aggregate.order", "aggregate.some.where", "streams.events.where", "window.offset"])
def test_a_rebuild_gives_what_a_new_stream_gives(tmp_path, field) -> None:
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 2))
    fields = declare(tmp_path)
    driver = Driver(declared_query(fields), tmp_path / "wh")
    driver.run(flush=True)
    now = declared_query(EDITS[field](fields))
    driver.rebuild(now)
    fresh = Driver(now, tmp_path / "new")
    fresh.run(flush=True)
    names = [*now.aggregate.each]
    assert answers(Driver(now, tmp_path / "wh"), names) == answers(fresh, names)
