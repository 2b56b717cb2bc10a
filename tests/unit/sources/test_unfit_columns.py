"""A source whose records don't show the types is refused by the column that has no fitting value, with one of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from kit.parts.source_mappings import source_mapping, with_uses
from tailrace.api.declaration import load
from tailrace.ground.errors import Problem, Refused
from tailrace.query.sections import Source
from tailrace.sources.columns import SourceMapping
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.feed import Feed
from tailrace.sources.formats.required_columns import UnknownTypes

COLUMNS = source_mapping("t", "t", "id", "k", {"value": "v"}, stream="s")
GOOD = {"t": 1, "id": "a", "k": "b", "v": 2}


def write_json(path: Path, *records: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_csv(path: Path, *records: dict[str, Any]) -> None:
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in ([*GOOD], *(each.values() for each in records))))


def problems(feed: Feed) -> tuple[Problem, ...]:
    with pytest.raises(UnknownTypes) as refused:
        feed.fresh()
    return tuple(refused.value.problems)


def of_directory(path: Path, format_name: str, columns: SourceMapping = COLUMNS) -> tuple[Problem, ...]:
    return problems(FileFeed(path, format_name, columns, {}, ()))


@pytest.mark.parametrize(
    ("wrong", "field", "words"),
    [
        (
            {"k": {}},
            "streams.s.key: ",
            "k: {} is an object, and a key is a text, an integer or a boolean",
        ),
        ({"id": 1.5}, "streams.s.id: ", "id: 1.5 is a number with decimals, and an id is a text or an integer"),
        ({"id": False}, "streams.s.id: ", "id: false is a boolean, and an id is a text or an integer"),
        ({"k": ["x"]}, "streams.s.key: ", 'k: ["x"] is a list, and a key is a text, an integer or a boolean'),
        ({"t": {"ms": 1}}, "streams.s.event_time: ", 't: {"ms": 1} is an object, and this one is a time'),
        ({"v": "N/A"}, "", 'v: "N/A" is a text, and this one is a number'),
    ],
)
def test_json_names_the_one_column_and_a_value_of_it(tmp_path, wrong, field, words):
    write_json(tmp_path / "a.json", GOOD | wrong, GOOD | wrong)
    problem = of_directory(tmp_path, "json")[0]
    assert problem.where == f"{field}{tmp_path}"
    assert problem.fault == f"no record has a value of a fitting type in {words}"
    assert problem.remedy


@pytest.mark.parametrize(("wrong", "words"), [({"t": "soon"}, 't: "soon"'), ({"v": "N/A"}, 'v: "N/A"')])
def test_csv_names_the_one_column_and_a_text_of_it(tmp_path, wrong, words):
    write_csv(tmp_path / "a.csv", GOOD | wrong)
    assert words in of_directory(tmp_path, "csv")[0].fault


def test_a_column_that_fits_in_another_file_is_not_named(tmp_path):
    write_json(tmp_path / "a.json", GOOD | {"v": "N/A"})
    write_json(tmp_path / "b.json", GOOD | {"k": 1.5})
    (problem,) = of_directory(tmp_path, "json")
    assert problem.fault == "no record has a value of a fitting type in each of t, id, k, v"


def test_a_column_without_any_value_is_not_named(tmp_path):
    write_json(tmp_path / "a.json", GOOD | {"v": None})
    (problem,) = of_directory(tmp_path, "json")
    assert "in each of t, id, k, v" in problem.fault


def test_columns_that_only_expressions_read_are_not_named(tmp_path):
    write_json(tmp_path / "a.json", GOOD | {"k": 1.5})
    (problem,) = of_directory(tmp_path, "json", with_uses(COLUMNS, carried={"flag": "k", "more": "v"}, key="k"))
    assert "in k: 1.5" in problem.fault


def text_problems(path: Path, values: list[Any], name: str = "w", **options: str) -> list[Problem]:
    """What is said of a column of texts, beside a column of numbers."""
    columns = with_uses(COLUMNS, key=None, carried={"more": name})
    sign = options.get("delimiter", ",")
    rows = [["t", "id", "v", name], *([number, number, 1, value] for number, value in enumerate(values))]
    (path / "a.csv").write_text("".join(sign.join(map(str, row)) + "\n" for row in rows))
    source = TypeAdapter(Source).validate_python({"format": "csv", "path": str(path)} | options)
    return source.text_problems(columns, {"t": "int64", "id": "string", "v": "double", name: "string"})


def test_a_text_in_a_column_of_numbers_is_named_with_its_line_and_the_remedy(tmp_path):
    (problem,) = text_problems(tmp_path, [1.5, "", "N/A", 2, "none", 7])
    assert problem.where == "a.csv, line 4"
    assert problem.fault == "w is 'N/A', so that the column is text; most of its values are numbers"
    assert "try_cast(w as double)" in problem.remedy
    (problem,) = text_problems(tmp_path, ["N/A", 2, 3], name="w h")
    assert "try_cast(`w h` as double)" in problem.remedy
    (problem,) = text_problems(tmp_path, ["1,5", "1.5", "2,5", 3], delimiter=";", decimal=",")
    assert problem.fault.startswith("w is '1.5', ")


@pytest.mark.parametrize("values", [["a", "b", 1], ["a", 1], [1, 2], ["", ""], []])
def test_a_column_of_texts_names_none(tmp_path, values):
    assert text_problems(tmp_path, values) == []


@pytest.mark.parametrize(
    ("columns", "aggregate"),
    [("{}", "{function: sum, column: w}"), ("{u: w * 2}", "{function: sum, column: u}")],
    ids=["a function", "an expression"],
)
def test_a_query_over_such_a_column_is_refused_with_the_cause(tmp_path, columns, aggregate):
    text_problems(tmp_path, [1.5, "N/A", 2])
    (tmp_path / "query.yaml").write_text(
        "name: q\nkind: aggregate\nstreams:\n  s:\n    source: {format: csv, path: a.csv}\n"
        f"    event_time: t\n    arrival_time: t\n    id: id\n    columns: {columns}\n"
        f"window: 1 min\naggregate:\n  n: {{function: count}}\n  s: {aggregate}\n"
    )
    with pytest.raises(Refused) as refused:
        load(tmp_path / "query.yaml").run(tmp_path / "warehouse", engine="local")
    cause, fault = refused.value.problems
    assert "string" in fault.fault
    assert "w is 'N/A'" in cause.fault
    assert not (tmp_path / "warehouse").exists()
