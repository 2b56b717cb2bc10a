"""What `spatial_join` with a table promises: the pairs of brute force, by the version in force, however it is run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import shapely
from hypothesis import Phase, given
from hypothesis import strategies as st
from pyproj import Geod

from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from kit.suite.examples import drawn
from tailrace.disorder.no_slack import NoSlack
from tailrace.engine.answer_files import AnswerFiles
from tailrace.query.declared import declared_query
from tailrace.query.disorder_section import Disorder
from tailrace.query.query import Query
from tailrace.storage.table_schemas import schemas
from tailrace.tables.every import in_ms

SOME = drawn(25, phases=[Phase.generate])
GEOD = Geod(ellps="WGS84")
START = 1_700_000_000_000

ROWS = {
    "holed": "POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0), (0.5 0.5, 1 0.5, 1 1, 0.5 1, 0.5 0.5))",
    "beside": "POLYGON ((2 0, 4 0, 4 4, 2 4, 2 0))",
    "line": "LINESTRING (1.5 1.5, 3.5 2.5)",
    "corner": "POINT (1 1)",
    "two": "MULTIPOLYGON (((-3 -3, -2 -3, -2 -2, -3 -2, -3 -3)), ((1 1, 3 1, 3 3, 1 3, 1 1)))",
    "nowhere": "POLYGON EMPTY",
    "east": "POLYGON ((179 -1, 180 -1, 180 1, 179 1, 179 -1))",
}
POINTS = ((1.0, 1.0), (0.75, 0.75), (2.0, 1.0), (1.5, 1.5), (9.0, 9.0), (-2.5, -2.5), (-180.0, 0.0), (0.0, 0.0))
SHAPES = (*ROWS.values(), *(f"POINT ({x} {y})" for x, y in POINTS))
RELATIONS = ("intersects", "within", "contains", "covers", "touches", "equals", "overlaps", "crosses", "covered_by")


class Tuple(NamedTuple):
    event_time: int
    arrival_time: int
    id: str
    geometry: str


class Batch(NamedTuple):
    """The number of tuples of each segment, and the rows of a new version of the table."""

    segments: tuple[int, ...]
    version: tuple[str, ...] | None


class Case(NamedTuple):
    """A stream in batches, and the condition by which it is joined."""

    tuples: list[Tuple]
    batches: list[Batch]
    section: dict
    tick_ms: int
    tasks: int
    as_points: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    relation = draw(st.sampled_from([*RELATIONS, "disjoint", "dwithin", "dwithin"]))
    as_points = draw(st.booleans())
    texts = SHAPES[len(ROWS) :] if as_points or relation == "dwithin" else SHAPES
    now, tuples = START, []
    for number in range(draw(st.integers(0, 25))):
        now += draw(st.sampled_from([0, 3, 40, 500, -30]))
        event = now - draw(st.sampled_from([0, 1, 90, 10**11, -200]))
        tuples.append(Tuple(event, now, f"t{number}", draw(st.sampled_from(texts))))
    batches, rest = [], len(tuples)
    while rest or not batches:
        segments = []
        for _ in range(draw(st.integers(0, 3))):
            segments.append(min(draw(st.integers(1, 8)), rest))
            rest -= segments[-1]
        rows = st.lists(st.sampled_from(sorted(ROWS)), unique=True).map(tuple)
        version = draw(rows if not batches else st.none() | rows)
        batches.append(Batch(tuple(filter(None, segments)), version))
        if len(batches) == 8:
            batches.append(Batch((rest,) if rest else (), None))
            break
    section = {"relation": relation} | ({"distance": "200 km"} if relation == "dwithin" else {})
    section |= {"select": ["left.note", *(["distance"] if relation == "dwithin" else []), "left.seen", "right.size"]}
    section |= {"method": draw(st.sampled_from(["indexed", "native", "external"]))}
    where = draw(st.sampled_from(list(WHERE)))
    section |= {} if where is None else {"where": where}
    tick = draw(st.sampled_from([0, 1, 100]))
    return Case(tuples, batches, section, tick, draw(st.integers(1, 3)), as_points)


WHERE: dict[str | None, Callable[[Tuple, str], bool]] = {
    None: lambda item, row: True,
    "left.id <> right.id and left.note is not null": lambda item, row: note_of(item.id) is not None,
    "right.id = 'corner' or right.size > 4": lambda item, row: row == "corner" or (size_of(row) or 0) > 4,
    "1 / (right.size - 6) > 0": lambda item, row: (size_of(row) or 0) > 6,
}
"""Conditions over pairs, and what they say; the last one fails for a row."""


def size_of(row: str) -> int | None:
    return len(row) if row != "line" else None


def write_version(directory: Path, rows: tuple[str, ...]) -> str:
    """Write a version of the table; returns its name."""
    features = [
        {
            "type": "Feature",
            "id": name,
            "properties": {"size": size_of(name)},
            "geometry": json.loads(shapely.to_geojson(shape)),
        }
        for name, shape in ((name, shapely.from_wkt(ROWS[name])) for name in rows)
    ]
    path = directory / f"{'-'.join(rows) or 'none'}.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path.name


def query_of(case: Case, directory: Path) -> Query:
    columns = {"x": "lon", "y": "lat"} if case.as_points else {"wkt": "geometry"}
    stream = {"source": {"format": "parquet", "path": "x"}, "event_time": "event_time", "id": "id"}
    table = {"path": str(directory / write_version(directory, tuple(ROWS)))}
    query = declared_query(
        {
            "name": "where",
            "kind": "spatial_join",
            "streams": {"left": stream | {"arrival_time": "arrival_time"}},
            "spatial_join": {"join": "table", "geometry": {"left": columns}, "table": table} | case.section,
            "parallelism": case.tasks,
        }
    )
    tick = timedelta(milliseconds=case.tick_ms)  # no file can state it
    return query.model_copy(update={"disorder": Disorder(tick=tick)})


def note_of(id_: str) -> str | None:
    """A column beside the geometry, which a third of the tuples has not."""
    return f"note of {id_}" if int(id_[1:]) % 3 else None


def table_of(tuples: list[Tuple]) -> pa.Table:
    shapes = shapely.from_wkt(np.array([item.geometry for item in tuples], object))
    columns = {name: pa.array([getattr(item, name) for item in tuples]) for name in Tuple._fields}
    columns |= {"lon": pa.array(shapely.get_x(shapes)), "lat": pa.array(shapely.get_y(shapes))}  # NaN of no point
    columns |= {"note": pa.array(map(note_of, columns["id"].to_pylist()), pa.string())}
    columns |= {"seen": pa.array([item.event_time for item in tuples], pa.timestamp("ms"))}
    types = {"event_time": pa.int64(), "arrival_time": pa.int64(), "id": pa.string(), "geometry": pa.string()}
    return pa.table({name: column.cast(types.get(name, column.type)) for name, column in columns.items()})


@contextmanager
def engine(case: Case) -> Iterator[tuple[LocalEngine, Path, list]]:
    """The query over the case's tuples in memory, its directory, and the segments of each batch."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        source = MemoryFormat({"all": table_of(case.tuples)})
        pipeline = pipeline_in_memory(query_of(case, directory), {"left": source})
        (directory / "results").mkdir()
        files = AnswerFiles(directory / "results", schemas(pipeline.kind)["results"], directory)
        lengths = [count for batch in case.batches for count in batch.segments]
        log = iter(source.segments("left", np.cumsum(lengths).tolist()))
        segments = [[next(log) for _ in batch.segments] for batch in case.batches]
        yield LocalEngine(replace(pipeline, answer_files=files)), directory, segments


def run(case: Case) -> tuple[list[dict], list[dict]]:
    """Run the case; returns the answers in the files that are to be committed, and the metrics."""
    metrics, paths = [], []
    with engine(case) as (local, directory, segments):
        for batch, mine in zip(case.batches, segments, strict=True):
            version = None if batch.version is None else write_version(directory, batch.version)
            rows = local.batch(NoSlack(policy="none"), mine, table=version)
            metrics += rows["metrics"].to_pylist()
            written = rows["results"].to_pylist() if "results" in rows else []
            for file in written:
                path = directory / "results" / file["path"]
                assert path.stat().st_size == file["size"]
                assert ds.dataset(path).count_rows() == file["rows"]
                paths.append(path)
        answers = [row for path in paths for row in in_ms(ds.dataset(path).to_table(), "results").to_pylist()]
        assert sum(row["answers"] for row in metrics) == len(answers)
        assert sum(row["rows"] for row in metrics) == len(case.tuples)
        assert not [row for name in ("late", "quarantine") if name in rows for row in rows[name].to_pylist()]
    return answers, metrics


def holds(section: dict, left: str, right: str) -> bool:
    a, b = shapely.from_wkt(left), shapely.from_wkt(right)
    if a.is_empty or b.is_empty:
        return False
    if section["relation"] != "dwithin":
        return bool(getattr(a, section["relation"])(b))
    return apart(a, b) <= 200_000


def apart(point: shapely.Point, shape: shapely.Geometry) -> float:
    """The least geodesic distance to a dense set of points of the shape; 0 inside."""
    if shape.intersects(point):
        return 0.0
    dense = shapely.get_coordinates(shapely.segmentize(shape, 0.001))
    return float(GEOD.inv(*np.broadcast_arrays(point.x, point.y, *dense.T))[2].min())


def expected(case: Case) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Each pair with its tuple's event time, its as_of, and the number of the version."""
    pairs, rest, version, rows = {}, iter(case.tuples), 0, ()
    for batch in case.batches:
        if batch.version is not None:
            version, rows = version + 1, batch.version
        for item in (next(rest) for _ in range(sum(batch.segments))):
            end = item.arrival_time // case.tick_ms * case.tick_ms + case.tick_ms if case.tick_ms else 0
            as_of = end or item.arrival_time + 1
            for row in rows:
                if holds(case.section, item.geometry, ROWS[row]) and WHERE[case.section.get("where")](item, row):
                    pairs[item.id, row] = (item.event_time, as_of, version)
    return pairs


@pytest.mark.filterwarnings("ignore:.*(invalid|divide).*:RuntimeWarning")
@SOME
@given(case=cases())
def test_the_pairs_are_those_of_brute_force(case: Case) -> None:
    answers, _ = run(case)
    found = {
        (row["left_id"], row["right_id"]): (row["left_time"], row["as_of"], row["facts_version"]) for row in answers
    }
    assert len(found) == len(answers), "a pair was answered twice"
    assert found == expected(case)
    for row in answers:
        assert row["right_size"] == size_of(row["right_id"])
        assert row["left_note"] == note_of(row["left_id"])
        assert row["left_seen"].timestamp() == pytest.approx(row["left_time"] / 1000)
    assert all(row["right_time"] is None and row["k_ms"] == 0 and row["tuples"] == 1 for row in answers)
    for row in answers:
        if "distance" in row:
            (geometry,) = (item.geometry for item in case.tuples if item.id == row["left_id"])
            shape = shapely.from_wkt(geometry)
            assert row["distance"] == pytest.approx(apart(shape, shapely.from_wkt(ROWS[row["right_id"]])), abs=2.0)


@SOME
@given(case=cases(), data=st.data())
def test_no_answer_depends_on_the_cut_into_batches(case: Case, data: st.DataObject) -> None:
    """One version: other segments, batches and tasks give the same answers with the same as_of."""
    whole = case._replace(batches=[Batch((len(case.tuples),) if case.tuples else (), tuple(ROWS))])
    lengths, rest = [], len(case.tuples)
    while rest:
        lengths.append(data.draw(st.integers(1, rest)))
        rest -= lengths[-1]
    cut = whole._replace(batches=[Batch((), tuple(ROWS)), *(Batch((count,), None) for count in lengths)], tasks=1)

    def listed(run_of: Case) -> list[tuple]:
        return sorted((row["left_id"], row["right_id"], row["left_time"], row["as_of"]) for row in run(run_of)[0])

    assert listed(whole) == listed(cut)


def test_a_batch_without_a_version_is_an_error() -> None:
    case = Case([Tuple(START, START, "t0", "POINT (1 1)")], [Batch((1,), None)], {"relation": "within"}, 100, 1, False)
    with pytest.raises(RuntimeError, match="the first version"):
        run(case)


def test_a_batch_has_one_row_of_metrics_whose_tuples_go_to_no_task() -> None:
    case = Case(
        [Tuple(START + n, START + 100 * n, f"t{n}", "POINT (1 1)") for n in range(40)],
        [Batch((40,), tuple(ROWS))],
        {"relation": "within"},
        100,
        2,
        True,
    )
    (row,) = run(case)[1]
    assert (row["task"], row["rows"], row["partials"], row["coverage"]) == (0, 40, 0, None)
    assert [row[name] for name in ("late", "buffered", "in_process", "expired")] == [0] * 4
    delays = [100 * (n + 1) - n for n in range(40)]
    assert row["latency_ms"] == sum(delays) / len(delays)
