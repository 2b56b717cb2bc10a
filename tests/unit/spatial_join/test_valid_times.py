"""Joins with rows that are valid for a time, and with tuples that match none: equal to the outer join by SQL."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from tailrace.ground.arrow.times import EVENT_US
from tailrace.ground.errors import Refused
from tailrace.kind.inputs import ColumnTypes
from tailrace.kinds import build
from tailrace.query.declared import declared_query
from tailrace.sources.lookup.valid_times import valid_times
from tailrace.spatial_join.table.dimension_table import parse

TWENTY_YEARS = 20 * 365 * 86_400_000
NOW = 1_700_000_000_000
ALWAYS = np.iinfo(np.int64).min

BOXES = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(1, 4), st.integers(1, 4))
TIMES = st.none() | st.integers(0, 20)


@st.composite
def rows_of(draw):
    """Rows with validities cut from one line of time for each id, so that those of one id do not overlap."""
    rows = []
    for name in draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=4)):
        cuts = [None, *sorted(draw(st.sets(st.integers(0, 20), max_size=5))), None]
        for start, end in pairwise(cuts):
            if draw(st.booleans()):
                x, y, width, height = draw(BOXES)
                rows.append((name, shapely.box(x, y, x + width, y + height), start, end))
    return draw(st.permutations(rows))


TUPLES = st.lists(
    st.tuples(st.integers(-1, 21) | st.just(-TWENTY_YEARS), st.integers(0, 10), st.integers(0, 10)), max_size=30
)


def query_of(path: Path, on_no_match: str, method: str = "indexed", **more: object):
    table = {"path": str(path), "valid_from": "since", "valid_to": "until", "on_no_match": on_no_match}
    left = {"event_time": "t", "arrival_time": "a", "id": "id", "source": {"format": "parquet", "path": "in"}}
    section = {"join": "table", "geometry": {"left": {"x": "x", "y": "y"}}, "relation": "intersects", "crs": "planar"}
    section |= {"method": method, "table": table, "select": ["right.area", "distance"]} | more
    return declared_query({"name": "q", "kind": "spatial_join", "streams": {"left": left}, "spatial_join": section})


def write(path: Path, rows) -> pa.Table:
    us = [
        [None if end is None else (NOW + end) * 1000 for end in ends]
        for ends in ([r[2] for r in rows], [r[3] for r in rows])
    ]
    columns = {"id": pa.array([row[0] for row in rows], pa.string())}
    columns |= {"geometry": pa.array([shapely.to_wkb(row[1]) for row in rows], pa.binary())}
    columns |= {"area": pa.array([shapely.area(row[1]) for row in rows], pa.float64())}
    columns |= {
        name: pa.array(each, pa.timestamp("us", "UTC")) for name, each in zip(("since", "until"), us, strict=True)
    }
    pq.write_table(pa.table(columns), path)
    boxes = np.array([shapely.bounds(row[1]) for row in rows]).reshape(-1, 4).T
    bounds = {name: boxes[place] for place, name in enumerate(("x0", "y0", "x1", "y1"))}
    times = {f"{name}_us": pa.array(each, pa.int64()) for name, each in zip(("since", "until"), us, strict=True)}
    return pa.table(columns | bounds | times).drop_columns(["since", "until", "geometry"])


def tuples_of(records) -> pa.RecordBatch:
    times, x, y = (np.array([record[place] for record in records], np.int64) for place in range(3))
    columns = {"event_time": pa.array(NOW + times), "id": [f"t{number}" for number in range(len(records))]}
    names = {"x": x.astype(float), "y": y.astype(float), EVENT_US: np.zeros(len(times), np.int64)}
    return pa.RecordBatch.from_pydict({**columns, "id": pa.array(columns["id"], pa.string()), **names})


SQL = """
select left_id, right_id, area, case when right_id is null then null else 0.0 end
from (select tuples.id left_id, "rows".id right_id, area from tuples {join} join "rows"
      on x between x0 and x1 and y between y0 and y1 and event_time * 1000 >= coalesce(since_us, -9e18)
      and event_time * 1000 < coalesce(until_us, 9e18) {where})
"""


def by_sql(rows: pa.Table, tuples: pa.RecordBatch, on_no_match: str, where: str = "") -> list:
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.register("tuples", pa.Table.from_batches([tuples]))
        join = "left" if on_no_match == "null" else "inner"
        return sorted(connection.sql(SQL.format(join=join, where=where)).fetchall(), key=repr)


@pytest.mark.parametrize("on_no_match", ["null", "drop"])
@pytest.mark.parametrize("method", ["indexed", "native"])
@given(rows=rows_of(), records=TUPLES, limit=st.sampled_from([None, 6]))
def test_answers_are_those_of_the_join_by_sql(tmp_path_factory, on_no_match, method, rows, records, limit):
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    table, tuples = write(path, rows), tuples_of(records)
    more = {} if limit is None else {"where": f"right.area < {limit}"}
    query = query_of(path, on_no_match, method, **more)
    kind = build(query, [ColumnTypes(), ColumnTypes(carried={"right_area": pa.float64()})])
    answers = kind.answers_of(tuples, path)
    names = ("left_id", "right_id", "right_area", "distance")
    found = [tuple(row[name] for name in names) for row in answers.answers.to_pylist()]
    assert sorted(found, key=repr) == by_sql(table, tuples, on_no_match, f"and area < {limit}" if limit else "")
    assert [tuples.column("id")[row].as_py() for row in answers.row] == [row[0] for row in found]
    assert (np.diff(answers.row) >= 0).all()


def refusal(rows, **columns) -> str:
    sink = pa.BufferOutputStream()
    ids, since, until = zip(*rows, strict=True)
    shapes = pa.array([shapely.to_wkb(shapely.box(0, 0, 1, 1))] * len(rows), pa.binary())
    pq.write_table(pa.table({"id": ids, "geometry": shapes, "since": since, "until": until}), sink)
    with pytest.raises(Refused) as refused:
        parse(Path("t.parquet"), sink.getvalue().to_pybytes(), valid=("since", "until"), **columns)
    return str(refused.value)


def test_rows_of_one_id_that_are_valid_at_the_same_time_are_refused_by_their_numbers():
    text = refusal([("a", NOW + 5, None), ("b", NOW, NOW + 9), ("a", NOW, NOW + 6)])
    assert "rows 1 and 3 with the id a are valid at the same time" in text
    assert "that do not overlap" in text


def test_a_row_that_ends_before_it_starts_is_refused():
    assert "row 2 is valid to a time before the one from which it is valid" in refusal(
        [("a", NOW, NOW + 1), ("b", NOW + 3, NOW + 2)]
    )


def test_a_text_that_is_no_time_is_refused():
    assert "'soon' of row 2 is no time" in refusal([("a", "2024-01-01", None), ("b", "soon", None)])


def test_a_column_of_another_type_is_no_time():
    assert "since: it is of the type double" in refusal([("a", 0.5, None)])


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["1970-01-01T00:00:01Z", None]),
        pa.array([1, None], pa.timestamp("s")),
        pa.array([1000, None], pa.timestamp("ms", "UTC")),
        pa.array([1_000_000, None], pa.timestamp("us", "UTC")),
        pa.array([999_999_001, None], pa.timestamp("ns")),
        pa.array(["1970-01-01T00:00:01Z", ""]).dictionary_encode(),
    ],
    ids=str,
)
def test_a_bound_is_read_alike_from_each_type_and_holds_from_its_microsecond_on(column):
    sink = pa.BufferOutputStream()
    shapes = pa.array([shapely.to_wkb(shapely.box(0, 0, 1, 1))] * 2, pa.binary())
    pq.write_table(pa.table({"id": ["a", "b"], "geometry": shapes, "since": column}), sink)
    validity = parse(Path("t.parquet"), sink.getvalue().to_pybytes(), valid=("since", None)).validity
    rows, times = np.array([0, 0, 1]), np.array([999_999, 1_000_000, -TWENTY_YEARS])
    assert validity.holds(rows, times).tolist() == [False, True, True]


def starts_of(column: pa.Array) -> list[int]:
    """The bounds in milliseconds; without one, the least integer."""
    micros = valid_times("t", [column, None], ["since", None]).start.tolist()
    return [us if us == ALWAYS else us // 1000 for us in micros]


@pytest.mark.parametrize("dtype", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_texts_of_all_years_are_times_and_an_empty_one_is_no_bound(dtype):
    texts = pa.array(["9999-12-31", "2024-01-01T01:00:00+01:00", "", None, "0001-01-01"], pa.string()).cast(dtype)
    assert starts_of(texts) == [253_402_214_400_000, 1_704_067_200_000, ALWAYS, ALWAYS, -62_135_596_800_000]


def test_whole_doubles_and_integers_are_epoch_milliseconds():
    assert starts_of(pa.array([NOW, None, 0])) == [NOW, ALWAYS, 0]
    assert starts_of(pa.array([float(NOW), None, float("nan")])) == [NOW, ALWAYS, ALWAYS]


@pytest.mark.parametrize("value", [1_700_000_000, 20240101, 1.7e9, -5], ids=str)
def test_numbers_that_are_no_epoch_milliseconds_are_refused(value):
    with pytest.raises(Refused, match=r"(?s)of row 2 is a time about 1970 in milliseconds.*epoch seconds"):
        starts_of(pa.array([None, value]))
