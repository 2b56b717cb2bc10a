"""Every type that a source can bring, in each place where a value is ordered, compared, counted, summed or answered.

The answers are DuckDB's over the same values, streamed and corrected, or the query is refused by the column's name.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import tailrace
from kit.suite.examples import drawn
from properties.source_types import TYPES, SourceType
from tailrace.ground.errors import Refused

START_MS = 1_714_521_600_000  # 2024-05-01
WINDOW_MS = 10_000
END_MS = 50_000
"""When a tuple of a later window has come, behind which the late ones come."""


@dataclass(frozen=True)
class Place:
    """A place of a query for the column `v`.

    Attributes
    ----------
    fits : callable
        Whether a type may stand there.
    shown : tuple of str
        The columns of answers that are compared.
    statement : str
        A SELECT of the columns in DuckDB, over the tuples `t` with the columns `v`, `w` (the window), `id`,
        `number` and `moment`.
    stream, fields : callable
        Fields of the stream, and of the query, given the type and the folder.
    """

    fits: Callable[[SourceType], bool]
    shown: tuple[str, ...]
    statement: str
    fields: Callable[[SourceType, Path], dict[str, Any]]
    stream: Callable[[SourceType, Path], dict[str, Any]] = field(default=lambda _, __: {})


WINDOWS = {"window": "10 s", "disorder": {"policy": "k_slack", "k": "0 s", "tick": "1 ms"}}


def aggregate(**section: Any) -> Callable[[SourceType, Path], dict[str, Any]]:
    return lambda *_: {"kind": "aggregate", "aggregate": {"n": {"function": "count"}} | section} | WINDOWS


def of(function: str, **more: Any) -> Callable[[SourceType, Path], dict[str, Any]]:
    return aggregate(x={"function": function, "column": "v"} | more)


def by(function: str, column: str, other: str) -> Callable[[SourceType, Path], dict[str, Any]]:
    return aggregate(x={"function": function, "column": column, "by": other})


def joint(column: str, other: str) -> Callable[[SourceType, Path], dict[str, Any]]:
    return aggregate(x={"function": "corr", "column": column, "other": other})


def ranking(score: str, **more: Any) -> Callable[[SourceType, Path], dict[str, Any]]:
    return lambda *_: {"kind": "topk", "topk": {"k": 2, "score": score} | more} | WINDOWS


def _in_square(_: SourceType, folder: Path) -> dict[str, Any]:
    square = shapely.to_wkb([shapely.box(-1, -1, 1.5, 1)])
    pq.write_table(pa.table({"id": ["square"], "geometry": pa.array(square, pa.binary())}), folder / "areas.parquet")
    section = {"join": "table", "crs": "planar", "relation": "within", "geometry": {"left": {"x": "v", "y": "zero"}}}
    return {"kind": "spatial_join", "spatial_join": section | {"table": {"path": str(folder / "areas.parquet")}}}


def _by_number(each: SourceType, folder: Path) -> dict[str, Any]:
    """A lookup that gives a value of the type for its number."""
    numbers = list(range(len(each.values)))
    pq.write_table(pa.table({"number": numbers, "v": each.column(each.values)}), folder / "values.parquet")
    return {"lookup": {"l": {"path": str(folder / "values.parquet"), "key": {"number": "number"}, "columns": ["v"]}}}


def _by_value(each: SourceType, folder: Path) -> dict[str, Any]:
    """A lookup that gives the number of a value of the type."""
    names = [f"number {number}" for number in range(len(each.values))]
    pq.write_table(pa.table({"v": each.column(each.values), "name": names}), folder / "names.parquet")
    return {"lookup": {"l": {"path": str(folder / "names.parquet"), "key": {"v": "v"}, "columns": ["name"]}}}


def number(each: SourceType) -> bool:
    return each.is_number and plain(each)


def boolean(each: SourceType) -> bool:
    return pa.types.is_boolean(each.dtype)


def coordinate(each: SourceType) -> bool:
    return each.is_number or pa.types.is_decimal256(each.dtype)


def plain(each: SourceType) -> bool:
    return each.is_plain and not pa.types.is_uint64(each.dtype)


def score(each: SourceType) -> bool:
    return each.is_plain


def exact(each: SourceType) -> bool:
    """Whether it may be a key: neither a float nor a decimal."""
    return meeting(each) and not pa.types.is_decimal(each.dtype)


def meeting(each: SourceType) -> bool:
    """Whether it may meet the key of a table."""
    return plain(each) and not pa.types.is_floating(each.dtype)


RANKED = "SELECT * FROM (SELECT w, row_number() OVER (PARTITION BY w ORDER BY {}) AS r, v FROM t WHERE {}) WHERE r <= 2"
GROUPED = "SELECT w, {} FROM t GROUP BY w"
_SQUARED = "abs(v::DOUBLE) <= 1e150"  # DuckDB refuses greater ones, and no correlation is known of them
CORRELATED = f"CASE WHEN count(v) > 1 AND bool_and({_SQUARED}) THEN corr(number, v::DOUBLE) FILTER ({_SQUARED}) END"
LISTED = "coalesce(list(DISTINCT v ORDER BY v) FILTER (v IS NOT NULL), [])"
IN_ORDER = "coalesce(list(v ORDER BY moment) FILTER (v IS NOT NULL), [])"
PLACES = {
    "key": Place(
        exact, ("key", "n"), "SELECT w, v, count(*) FROM t GROUP BY w, v", aggregate(), lambda *_: {"key": "v"}
    ),
    "list of keys": Place(
        exact,
        ("v", "number", "n"),
        "SELECT w, v, number, count(*) FROM t GROUP BY w, v, number",
        aggregate(),
        lambda *_: {"key": ["v", "number"]},
    ),
    "where": Place(
        plain,
        ("n",),
        "SELECT w, count(*) FROM t WHERE v > {literal} GROUP BY w",
        aggregate(),
        lambda each, _: {"where": f"v > {each.literal}"},
    ),
    "condition of an aggregate": Place(
        plain,
        ("n", "x"),
        "SELECT w, count(*), count(*) FILTER (v <= {literal}) FROM t GROUP BY w",
        lambda each, _: aggregate(x={"function": "count", "where": f"v <= {each.literal}"})(each, _),
    ),
    "count": Place(plain, ("x",), GROUPED.format("count(v)"), of("count")),
    "count_distinct": Place(plain, ("x",), GROUPED.format("count(DISTINCT v)"), of("count_distinct")),
    "min": Place(plain, ("x",), GROUPED.format("min(v)"), of("min")),
    "max": Place(plain, ("x",), GROUPED.format("max(v)"), of("max")),
    "first": Place(plain, ("x",), GROUPED.format("arg_min(v, moment) FILTER (v IS NOT NULL)"), of("first")),
    "last": Place(plain, ("x",), GROUPED.format("arg_max(v, moment) FILTER (v IS NOT NULL)"), of("last")),
    "any_value": Place(plain, ("x",), GROUPED.format("arg_min(v, moment) FILTER (v IS NOT NULL)"), of("any_value")),
    "max_by": Place(plain, ("x",), GROUPED.format("arg_max(number, v)"), by("max_by", "number", "v")),
    "min_by": Place(plain, ("x",), GROUPED.format("arg_min(number, v)"), by("min_by", "number", "v")),
    "value of max_by": Place(plain, ("x",), GROUPED.format("arg_max_null(v, moment)"), by("max_by", "v", "at")),
    "bool_and": Place(boolean, ("x",), GROUPED.format("bool_and(v)"), of("bool_and")),
    "bool_or": Place(boolean, ("x",), GROUPED.format("bool_or(v)"), of("bool_or")),
    "sum": Place(number, ("x",), GROUPED.format("sum(v)"), of("sum")),
    "avg": Place(number, ("x",), GROUPED.format("avg(v)"), of("avg")),
    "median": Place(number, ("x",), GROUPED.format("quantile_cont(v::DOUBLE, 0.5)"), of("median")),
    "quantile": Place(number, ("x",), GROUPED.format("quantile_cont(v::DOUBLE, 0.25)"), of("quantile", q=0.25)),
    "quantile_disc": Place(plain, ("x",), GROUPED.format("quantile_disc(v, 0.5)"), of("quantile_disc", q=0.5)),
    "collect_set": Place(plain, ("x",), GROUPED.format(LISTED), of("collect_set", limit=9)),
    "collect_list": Place(plain, ("x",), GROUPED.format(IN_ORDER), of("collect_list", limit=9)),
    "sum_distinct": Place(number, ("x",), GROUPED.format("sum(DISTINCT v)"), of("sum_distinct")),
    "corr": Place(number, ("x",), GROUPED.format(CORRELATED), joint("v", "number")),
    "other of corr": Place(number, ("x",), GROUPED.format(CORRELATED), joint("number", "v")),
    "score": Place(
        score,
        ("rank", "score"),
        RANKED.format("v DESC", "v IS NOT NULL"),
        ranking("v"),
    ),
    "smallest score": Place(
        score,
        ("rank", "score"),
        RANKED.format("v", "v IS NOT NULL"),
        ranking("v", order="ascending"),
    ),
    "select": Place(
        plain,
        ("rank", "v"),
        RANKED.format("number DESC", "true"),
        ranking("number", select=["v"]),
    ),
    "coordinate": Place(
        coordinate, ("left_id",), "SELECT NULL, id FROM t WHERE v::DOUBLE > -1 AND v::DOUBLE < 1.5", _in_square
    ),
    "looked-up column": Place(
        plain, ("x",), GROUPED.format("arg_max(v, moment) FILTER (v IS NOT NULL)"), of("last"), _by_number
    ),
    "key of a lookup": Place(
        meeting,
        ("x",),
        GROUPED.format("count(v)"),
        aggregate(x={"function": "count", "column": "name"}),
        _by_value,
    ),
}


@dataclass(frozen=True)
class Records:
    """n records: the number of the value of each or None, its event time in ms from the start, whether it is late."""

    values: list[int | None]
    at: list[int]
    late: list[bool]


@st.composite
def records(draw: st.DrawFn, each: SourceType) -> Records:
    """Records whose values are distinct in their window: equal ones have no order."""
    values, at = [], []
    for window in range(2):
        some = st.sampled_from(range(len(each.values)))
        of_window: list[int | None] = [
            *draw(st.lists(some, unique=True, max_size=4)),
            *draw(st.lists(st.none(), max_size=2)),
        ]
        of_window = draw(st.permutations(of_window))
        at += [window * WINDOW_MS + 100 * place for place in range(len(of_window))]
        values += of_window
    late = draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    return Records([*values, 0], [*at, END_MS], [*late, False])


def write(each: SourceType, rows: Records, path: Path, has_v: bool) -> None:
    arrival = [START_MS + (END_MS + 10 + at if late else at) for at, late in zip(rows.at, rows.late, strict=True)]
    order = sorted(range(len(arrival)), key=arrival.__getitem__)
    of_lookup = [None if number is None else number for number in rows.values]
    columns = {
        "id": pa.array(range(len(arrival))),
        "at": pa.array([START_MS + at for at in rows.at]),
        "came": pa.array(arrival),
        "number": pa.array([-1 if number is None else number for number in of_lookup], pa.int64()),
        "zero": pa.array([0.0] * len(arrival)),
    }
    if has_v:
        columns["v"] = each.column([None if number is None else each.values[number] for number in rows.values])
    pq.write_table(pa.table(columns).take(order), path)


def right(each: SourceType, rows: Records, statement: str, with_late: bool) -> list[tuple[Any, ...]]:
    values = pa.array([None if number is None else each.values[number] for number in rows.values], each.meaning)
    tuples = pa.table(
        {
            "v": values,
            "number": [-1 if number is None else number for number in rows.values],
            "moment": rows.at,
            "w": [at // WINDOW_MS for at in rows.at],
            "late": rows.late,
            "id": range(len(rows.at)),
        }
    )
    tuples = tuples if with_late else tuples.filter(pc.invert(tuples["late"]))
    with duckdb.connect() as connection:
        connection.register("t", tuples)
        found = connection.execute(statement.replace("{literal}", each.literal)).fetchall()
    if "sum(" not in statement:
        return found
    # DuckDB's sums are integers of any size; one beyond bigint is null here.
    return [(w, None if isinstance(x, int) and not -(2**63) <= x < 2**63 else x) for w, x in found]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(other, float) and one is not None:
        return bool(float(one) == pytest.approx(other, rel=1e-9, abs=1e-9))
    return bool(one == other)


def plainly(value: Any) -> Any:
    if isinstance(value, list):
        return [plainly(each) for each in value]
    return value.astimezone(dt.UTC).replace(tzinfo=None) if isinstance(value, dt.datetime) and value.tzinfo else value


def answered(answers: Any, place: Place) -> list[tuple[Any, ...]]:
    found = []
    for row in answers.dicts():
        window = None
        if "window_start" in row:
            window = (int(row["window_start"].timestamp() * 1000) - START_MS) // WINDOW_MS
        found.append((window, *(plainly(row[name]) for name in place.shown)))
    return found


def declared(name: str, each: SourceType, rows: Records, folder: Path) -> tailrace.Query:
    place = PLACES[name]
    stream = {"source": {"format": "parquet", "path": str(folder / "in.parquet")}, "event_time": "at"}
    stream |= {"arrival_time": "came", "id": "id", "bounds": {"ahead": "1 d"}} | place.stream(each, folder)
    write(each, rows, folder / "in.parquet", has_v=name != "looked-up column")
    return tailrace.query(streams={"left": stream}, **place.fields(each, folder))


def check(name: str, each: SourceType, rows: Records, folder: Path) -> None:
    place, query = PLACES[name], declared(name, each, rows, folder)
    if not place.fits(each):
        with pytest.raises(Refused, match=r"\bv\b|where: (at )?1:1: "):
            query.run(folder / "wh", engine="local")
        return
    run = query.run(folder / "wh", engine="local")
    streamed = answered(run.results("stream"), place)
    if name == "coordinate":  # a join with a table answers each tuple as it comes: none is late
        compared = [(streamed, True)]
    else:
        run.correct()
        compared = [(streamed, False), (answered(run.results(), place), True)]
    for answers, with_late in compared:
        left = list(right(each, rows, place.statement, with_late))
        for row in answers:
            match = next((one for one in left if all(map(same, row, one))), None)
            assert match is not None, (row, left)
            left.remove(match)
        assert left == []


@pytest.mark.parametrize("name", PLACES)
@drawn(30)
@given(data=st.data())
def test_a_type_is_right_in_a_place_or_refused_by_name(tmp_path_factory, name, data):
    each = TYPES[data.draw(st.sampled_from(sorted(TYPES)), label="type")]
    check(name, each, data.draw(records(each), label="records"), tmp_path_factory.mktemp("types"))
