"""`spatial_join` with a table on Spark: killed and gone on, the answers are the oracle's by the table's versions."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from kill_points import arm, leave
from live_stream import live
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.errors import Damaged, Refused
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.spark.app import rebuild, run
from tailrace.spark.correct import correct
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.stream.run_options import RunOptions
from warehouse import EPOCH, TIME

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("table_join")]

COUNT, BATCH_ROWS, CHANGED_AFTER = 3000, 500, 1
POINTS = [("before states", 0), ("K4", 0), ("K2", 3), ("before note", 3)]
RANDOM = np.random.default_rng(7)
EVENTS = EPOCH + np.arange(COUNT) * 10
ARRIVALS = EVENTS + RANDOM.integers(0, 400, COUNT)
PLACES = RANDOM.uniform(0, 10, (COUNT, 2))
PLACES[::97] = 5.0  # on a corner of four zones
VERSIONS = (
    {"west": shapely.box(0, 0, 5, 10), "east": shapely.box(5, 0, 10, 10)},
    {"south": shapely.box(0, 0, 10, 5), "east": shapely.box(5, 0, 10, 10), "all": shapely.box(-1, -1, 11, 11)},
    {"late": shapely.box(0, 0, 10, 10)},
)


def write_table(path: Path, number: int) -> None:
    features = [
        {"type": "Feature", "id": name, "properties": {}, "geometry": json.loads(shapely.to_geojson(shape))}
        for name, shape in VERSIONS[number].items()
    ]
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    new.rename(path)


def write_stream(directory: Path, parts: int = 2) -> None:
    """The tuples in order of arrival, in files; one of them has no geometry."""
    for part in range(parts):
        write_part(directory, part, parts)


def write_part(directory: Path, part: int, parts: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    order = np.argsort(ARRIVALS, kind="stable")
    lon, lat = PLACES[order].T
    columns = {
        "event_time": pa.array(EVENTS[order]).cast(TIME),
        "arrival_time": pa.array(ARRIVALS[order]).cast(TIME),
        "id": [f"t{number}" for number in order],
        "lon": pa.array([None, *lon[1:]]),
        "lat": lat,
    }
    rows = COUNT // parts
    new = directory / f"{part}.new"
    pq.write_table(pa.table(columns).slice(part * rows, rows), new, row_group_size=300)
    new.rename(directory / f"{part}.parquet")


def make_query(directory: Path, table: Path | None = None, **more: object) -> Query:
    left = {name: name for name in ("event_time", "arrival_time", "id")}
    left |= {"source": {"format": "parquet", "path": str(directory / "in")}}
    section = {"join": "table", "geometry": {"left": {"x": "lon", "y": "lat"}}, "relation": "intersects"}
    section |= {"table": {"path": str(table or directory / "zones.geojson")}} | more
    return declared_query({"name": "where", "kind": "spatial_join", "streams": {"left": left}, "spatial_join": section})


def start(directory: Path, warehouse: Path, **more: object) -> None:
    """Run it from its checkpoint on; the table changes between two batches."""
    table = directory / "zones.geojson"

    def on_batch(batch: int, *_: object) -> None:
        if batch == CHANGED_AFTER:
            write_table(table, 1)

    run(make_query(directory), warehouse, RunOptions(BATCH_ROWS), on_batch, **more)


def expected(tables: Tables, versions: list[int], relation: str = "intersects") -> set[tuple[str, str, int]]:
    """The pairs by brute force: each tuple with the version that holds from its segment on."""
    facts = [fact for fact in tables.read("facts").to_pylist() if fact["about"] == "table"]
    since = {fact["from_segment"]: fact["version"] for fact in facts}
    assert sorted(since.values()) == list(range(1, len(versions) + 1))
    pairs: set[tuple[str, str, int]] = set()
    order = np.argsort(ARRIVALS, kind="stable")
    for segment in tables.read("segments").to_pylist():
        version = max(number for start, number in since.items() if start <= segment["ordinal"])
        for row in order[segment["position"] : segment["position"] + segment["rows"]]:
            if row == order[0]:
                continue  # in quarantine
            point = shapely.Point(*PLACES[row])
            shapes = VERSIONS[versions[version - 1]]
            pairs |= {(f"t{row}", name, version) for name, shape in shapes.items() if getattr(point, relation)(shape)}
    return pairs


def assert_answered(warehouse: Path, versions: list[int], relation: str = "intersects") -> Tables:
    tables = Tables(Layout.of(warehouse, "where"))
    rows = tables.read("results").to_pylist()
    found = {(row["left_id"], row["right_id"], row["facts_version"]) for row in rows}
    assert len(found) == len(rows), "a pair was answered twice"
    assert found == expected(tables, versions, relation)
    time_of = {f"t{number}": (int(EVENTS[number]), int(ARRIVALS[number])) for number in range(COUNT)}
    for row in rows:
        event, arrival = time_of[row["left_id"]]
        assert (row["left_time"], row["right_time"]) == (event, None)
        assert row["as_of"] == arrival // 100 * 100 + 100
    metrics = tables.read("metrics")
    assert sum(metrics["rows"].to_pylist()) == COUNT - 1
    assert sum(metrics["answers"].to_pylist()) == len(rows)
    assert tables.read("late").num_rows == 0
    assert tables.read("quarantine").num_rows == 1
    return tables


@pytest.fixture(scope="module")
def left(tmp_path_factory, _spark) -> Path:
    """What a kill leaves at each point, by its name; and the whole run as `end`."""
    home = tmp_path_factory.mktemp("where")
    write_stream(home / "in")
    write_table(home / "zones.geojson", 0)
    with pytest.MonkeyPatch.context() as patch:
        for point, batch in POINTS:
            arm(patch, point, batch, lambda to=f"{point}-{batch}": leave(home / "wh", home / to))
        start(home, home / "wh", spark=_spark)
    (home / "wh").rename(home / "end")
    return home


@pytest.fixture
def killed(left, tmp_path):
    def make(name: str) -> Path:
        shutil.copytree(left / name, tmp_path / "wh")
        return tmp_path / "wh"

    return make


def test_the_answers_of_a_run_are_those_of_the_oracle(left):
    tables = assert_answered(left / "end", [0, 1])
    assert {row["task"] for row in tables.read("metrics").to_pylist()} == {0}
    answers, columns = read_answers(make_query(left), left / "end", streamed=False)
    assert answers.num_rows == tables.read("results").num_rows
    assert columns[:4] == ["left_id", "right_id", "left_time", "right_time"]


@pytest.mark.parametrize(("point", "batch"), POINTS)
def test_the_next_run_goes_on_with_the_versions_of_the_journal(left, killed, spark, tmp_path, point, batch):
    """While nobody watched, the table has changed: what was planned before sees what it saw."""
    warehouse = killed(f"{point}-{batch}")
    write_table(tmp_path / "zones.geojson", 2)
    run(make_query(left, tmp_path / "zones.geojson"), warehouse, RunOptions(BATCH_ROWS))
    assert_answered(warehouse, [0, 2] if batch <= CHANGED_AFTER else [0, 1, 2])


def test_files_of_readers_whose_batch_was_not_committed_are_no_answers(left, killed, spark):
    """The readers have written their answers and died. The next start removes the files."""
    warehouse = killed("K2-3")
    tables = Tables(Layout.of(warehouse, "where"))
    results = tables.layout.table("results")
    named = {Path(file).name for file in _files_of(tables)}
    lost = {file.name for file in results.glob("*.parquet")} - named
    assert len(lost) > 1
    run(make_query(left), warehouse, RunOptions(BATCH_ROWS))
    assert_answered(warehouse, [0, 1])
    assert not lost & {file.name for file in results.glob("*.parquet")}
    for name in lost:
        (results / name).touch()
        os.utime(results / name, (0, 0))
    tables.compact(["results"])  # removes such files, too, once they are old
    assert not lost & {file.name for file in results.glob("*.parquet")}
    assert_answered(warehouse, [0, 1])


def _files_of(tables: Tables) -> list[str]:
    log = tables.layout.table("results") / "_delta_log"
    actions = (json.loads(line) for file in log.glob("*.json") for line in file.read_text().splitlines())
    return [action["add"]["path"] for action in actions if "add" in action]


def test_a_live_stream_sees_the_table_change_and_goes_on_while_it_is_broken(spark, tmp_path):
    table = tmp_path / "zones.geojson"
    write_table(table, 0)
    write_part(tmp_path / "in", 0, 3)

    def act(beside):
        beside.until(lambda status, entry: entry.position.rows == COUNT // 3 and status.rows == entry.position.rows - 1)
        table.write_text(table.read_text()[:100])
        write_part(tmp_path / "in", 1, 3)
        beside.until(lambda status, entry: status.rows == 2 * COUNT // 3 - 1 and "zones.geojson" in status.problem)
        write_table(table, 1)
        write_part(tmp_path / "in", 2, 3)
        beside.until(lambda status, entry: status.rows == COUNT - 1 and status.problem is None)

    live(make_query(tmp_path), tmp_path / "wh", act, RunOptions(BATCH_ROWS, pace_ms=100, live=True))
    assert_answered(tmp_path / "wh", [0, 1])


def test_a_lost_version_is_a_damage(left, killed, spark):
    warehouse = killed("K2-3")
    shutil.rmtree(Layout.of(warehouse, "where").table_versions)
    with pytest.raises(Damaged, match="this version of the dimension table is lost"):
        run(make_query(left), warehouse, RunOptions(BATCH_ROWS))


def test_native_gives_the_same_answers(left, spark, tmp_path):
    write_table(tmp_path / "zones.geojson", 1)
    run(make_query(left, tmp_path / "zones.geojson", method="native"), tmp_path / "wh")
    assert_answered(tmp_path / "wh", [1])


def test_there_is_nothing_to_correct(left):
    with pytest.raises(Refused, match="none is late"):
        correct(make_query(left), left / "end", CorrectionRange())


def test_it_is_rebuilt_for_other_tasks_and_for_another_relation(tmp_path, spark, left):
    warehouse = tmp_path / "wh"
    shutil.copytree(left / "end", warehouse)
    before = Tables(Layout.of(warehouse, "where")).read("results")
    done = rebuild(make_query(left).model_copy(update={"parallelism": 1}), warehouse, Path("where.yaml"), spark=spark)
    assert (done.rows, done.batches) == (COUNT, 2), "all under one version of the table are merged"
    assert Tables(Layout.of(warehouse, "where")).read("results").equals(before)
    rebuild(make_query(left, relation="within"), warehouse, Path("where.yaml"), spark=spark)
    assert_answered(warehouse, [0, 1], "within")
