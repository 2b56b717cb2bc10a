"""The table as it is declared: its checked versions, the types of selected columns, and one index for a version."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from kit.draws.table_shapes import areas, by_geos, hard_points, listed, mixed_rows
from kit.fakes.memory_bucket import memory_bucket
from tailrace.ground.errors import Refused
from tailrace.spatial_join.geometry.geometries import Points, Shaped
from tailrace.spatial_join.geometry.metrics import Planar
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pairs import ordered
from tailrace.spatial_join.table import table_lookup
from tailrace.spatial_join.table.table_lookup import TableLookup, TableSource

SECONDS = pa.array([0, 1], pa.timestamp("s"))
METHODS = ("indexed", "native", "external")


def write(path, shapes, **columns):
    ids = pa.array(range(len(shapes)))
    pq.write_table(pa.table({"id": ids, "geometry": pa.array(shapely.to_wkb(shapes), pa.binary()), **columns}), path)
    return path


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("relation", ["within", "intersects", "disjoint", "dwithin", "near and disjoint"])
@pytest.mark.parametrize("as_points", [True, False])
def test_every_method_finds_the_rows_of_unprepared_geos(tmp_path, method, relation, as_points):
    shapes = mixed_rows(31)
    path = write(tmp_path / "t.parquet", shapes)
    is_near, relation = relation in ("dwithin", "near and disjoint"), relation.rsplit(" ")[-1]
    condition = Condition(relation, 0.1 if is_near else None, Planar())
    left = hard_points(np.random.default_rng(32), shapes[1:4], 10) if as_points else Shaped(mixed_rows(33))
    table, search = TableLookup(TableSource(path, degrees=False), condition, method).read(path)
    assert table.ids.to_pylist() == list(range(len(shapes)))
    expected = (
        by_geos(relation, left, shapes)
        if relation != "dwithin"
        else [(i, j) for i in range(len(left)) for j in range(len(shapes))]
    )
    if is_near:
        with np.errstate(over="ignore"):
            expected = [(i, j) for i, j in expected if shapely.distance(left.shapes[i], shapes[j]) <= 0.1]
    assert listed(ordered(search.matches(left))) == expected


def test_a_version_is_indexed_once(tmp_path, monkeypatch):
    path = write(tmp_path / "t.parquet", areas(1, "tiles"))
    reads, parse = [], table_lookup.dimension_table.parse
    monkeypatch.setattr(table_lookup.dimension_table, "parse", lambda *more: (reads.append(1), parse(*more))[1])
    lookups = [TableLookup(TableSource(path, degrees=False), Condition("within", None, Planar())) for _ in range(3)]
    assert len({id(lookup.indexed(path)) for lookup in lookups}) == 1
    assert len(reads) == 1


def test_selected_columns_have_the_types_of_answers(tmp_path):
    days = [datetime.date(2020, 1, 1), None]
    columns = {
        "name": ["a", None],
        "size": pa.array([1, 2], pa.uint16()),
        "day": days,
        "at": pa.array([0, 1], pa.timestamp("s")),
    }
    path = write(tmp_path / "t.parquet", areas(1, "tiles")[:2], **columns)
    selected = tuple((f"right_{name}", name) for name in columns)
    source = TableSource(path, degrees=False, columns=selected)
    types = source.check(path.read_bytes()).types
    assert types.id == pa.int64()
    assert types.carried == {
        "right_name": pa.string(),
        "right_size": pa.int32(),
        "right_day": pa.date32(),
        "right_at": pa.timestamp("us", "UTC"),
    }
    assert source.read(path, path.read_bytes()).columns["right_day"].to_pylist() == days


def test_columns_with_times_finer_than_microseconds_are_told(tmp_path):
    times = pa.array([1_001, None], pa.timestamp("ns"))
    path = write(tmp_path / "t.parquet", areas(1, "tiles")[:2], at=times, other=times)
    told = "2 rows; at of the table has times finer than microseconds, which were floored to these"
    assert TableSource(path, degrees=False, columns=(("right_at", "at"),)).check(path.read_bytes()).rows == told


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        (pa.array([[1], [2]]), "its type is list"),
        (pa.array([0, 10**15], pa.timestamp("s")), "row 2 is out of bounds"),
    ],
)
def test_columns_that_answers_can_not_have_are_refused(tmp_path, column, wrong):
    path = write(tmp_path / "t.parquet", areas(1, "tiles")[:2], more=column)
    with pytest.raises(Refused, match=wrong) as refused:
        TableSource(path, degrees=False, columns=(("right_more", "more"),)).check(path.read_bytes())
    assert refused.value.problems[0].where == f"{path}: more"


def test_a_later_integer_that_a_double_has_not_is_refused_before_it_is_a_version(tmp_path):
    path = write(tmp_path / "t.parquet", areas(1, "tiles")[:2], more=pa.array([1.5, 2.5]))
    table = TableSource(path, degrees=False, columns=(("right_more", "more"),))
    first = table.check(path.read_bytes()).types
    write(path, areas(1, "tiles")[:2], more=pa.array([1, 2**53]))
    assert table.check(path.read_bytes(), None, first).rows == "2 rows"
    write(path, areas(1, "tiles")[:2], more=pa.array([1, 2**53 + 1]))
    with pytest.raises(Refused, match="in versions before double, which has not all values") as refused:
        table.check(path.read_bytes(), None, first)
    assert refused.value.problems[0].where == f"{path}: more"


def test_points_of_a_table_are_searched_as_points(tmp_path):
    path = write(tmp_path / "t.parquet", shapely.points([[0, 0], [1, 1]]))
    lookup = TableLookup(TableSource(path, degrees=False), Condition("dwithin", 1.0, Planar()))
    assert listed(lookup.read(path).search.matches(Points(np.array([0.5, 3.0]), np.array([0.5, 3.0])))) == [
        (0, 0),
        (0, 1),
    ]


def test_rows_that_are_skipped_are_told(tmp_path):
    bow = shapely.from_wkt("POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))")
    path = write(tmp_path / "t.parquet", np.array([shapely.box(0, 0, 1, 1), bow], object))
    rows = TableSource(path, on_invalid="skip", degrees=False).check(path.read_bytes()).rows
    assert rows.startswith("1 row, and 1 skipped, first ")
    assert "row 2 (id 1): its geometry is not valid" in rows


BROKEN = {
    "t.geojson": b'{"type": "FeatureCollection", "features": [{"id": 1, "properties": "x", "geometry": null}]}',
    "u.geojson": b'{"type": "FeatureCollection", "features": [{"id": "\\ud800", "geometry": null}]}',
    "t.csv": b"id,geometry,\xe4\n1,POINT (1 1),2\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refused_however_it_breaks(tmp_path, name):
    (tmp_path / name).write_bytes(BROKEN[name])
    with pytest.raises(Refused) as refused:
        TableSource(tmp_path / name).check(BROKEN[name])
    assert str(tmp_path / name) in refused.value.problems[0].where


def test_a_damaged_page_is_refused(tmp_path):
    path = write(tmp_path / "t.parquet", areas(1, "tiles"))
    content = bytearray(path.read_bytes())
    content[4:60] = bytes(56)
    with pytest.raises(Refused) as refused:
        TableSource(path, degrees=False).check(bytes(content))
    assert str(path) in refused.value.problems[0].where


@pytest.mark.parametrize("name", ["t.geojson", "t.csv", "t.parquet", "t.txt"])
def test_a_version_in_an_object_store_is_named_by_its_url(monkeypatch, name):
    version = memory_bucket(monkeypatch) / name
    version.write_bytes(BROKEN["t.csv"])
    with pytest.raises(Refused) as refused:
        TableLookup(TableSource(Path(name)), Condition("within", None, Planar())).read(version)
    assert refused.value.problems[0].where.startswith(f"s3://lake/of/tests/{name}")
