"""The experiments on spatial joins: their streams, the table index, joins in process, and the results page."""

from __future__ import annotations

import json
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from bench.page import markdown
from bench.report import Effort
from bench.spatial import (
    joins,
    latency,
    pair_latency,
    report,
    shapes,
    spark_joins,
    streams,
    table,
    table_on_spark,
    taxi_map,
)
from bench.spatial.balance import Balance
from bench.spatial.streams import empty_streams, meeting_query, taxi_batches, taxi_streams
from kit.oracles.spatial_oracle import GEOD
from tailrace.ground.errors import refuse

pytestmark = pytest.mark.slow

TUPLES = 600


def met(sides: dict[str, pa.Table], is_near) -> set[tuple[str, str]]:
    """The pairs of ids that are at most a kilometre apart, and near enough in time, by brute force."""
    left, right = (sides[name].to_pydict() for name in streams.SIDES)
    times = [np.array([time.timestamp() for time in side["event_time"]]) for side in (left, right)]
    found = set()
    for i, one in enumerate(left["id"]):
        for j in np.flatnonzero(is_near(times[0][i], times[1])):
            lons, lats = (left[name][i] - right[name][j] for name in ("lon", "lat"))
            if max(abs(lons), abs(lats)) < 0.02:
                places = left["lon"][i], left["lat"][i], right["lon"][j], right["lat"][j]
                found |= {(one, right["id"][j])} if GEOD.inv(*places)[2] <= streams.DISTANCE_M else set()
    return found


@pytest.fixture(scope="module")
def taxis() -> dict[str, pa.Table]:
    return taxi_streams(TUPLES)


def test_the_streams_are_two_fleets_of_so_many_tuples(taxis):
    assert [taxis[side].num_rows for side in streams.SIDES] == [TUPLES, TUPLES]
    left, right = (set(taxis[side]["taxi"].to_pylist()) for side in streams.SIDES)
    assert not left & right
    assert sum(batch.num_rows for batch in taxi_batches(20_000)) == 20_000


@pytest.mark.parametrize("method", joins.METHODS)
def test_pairs_by_interval_are_those_of_brute_force(taxis, method):
    row = joins.run(meeting_query("interval", 0.5, {"method": method}), taxis)
    expected = met(taxis, lambda time, others: abs(others - time) <= 15)
    assert row["pairs"] == len(expected) > 100


def test_an_interval_is_as_long_as_a_window():
    interval, window = (meeting_query(join, 2) for join in joins.JOINS)
    lower, upper = interval.spatial_join.interval.bounds_ms
    assert upper - lower == window.window.size.total_seconds() * 1000
    assert window.window.size == window.window.slide


def test_the_figures_of_a_run_are_consistent(monkeypatch):
    monkeypatch.setattr(joins, "BATCH_MS", 5000)
    taxis = taxi_streams(2500)
    one, two = (joins.run(meeting_query("interval", 0.1, parallelism=tasks), taxis) for tasks in joins.PARALLELISM)
    assert one["pairs"] == two["pairs"]
    assert one["copies/tuple"] == one["share of rows, largest task"] == one["share of pairs, largest task"] == 1
    assert 1 < two["copies/tuple"] < 2
    assert 0.5 <= two["share of rows, largest task"] < 1
    assert one["batches"] >= 3
    assert 0 < one["wait s"] <= 1.001  # the tick of a second


def test_shares_are_those_of_the_second_half_and_copies_of_all():
    balance = Balance()
    for rows, pairs in (([90, 10], [9, 0]), ([30, 30], [4, 6])):
        metrics = {"task": [1, 0], "partials": rows, "answers": pairs}
        balance.add(pa.table(metrics))
    assert balance.figures(80) == {
        "pairs": 19,
        "copies/tuple": 2.0,
        "share of rows, largest task": 0.5,
        "share of pairs, largest task": 0.6,
    }
    assert [batch[0].tolist() for batch in balance.batches] == [[10, 90], [30, 30]]


def test_pairs_in_windows_wait_for_the_window(taxis):
    waits = [joins.run(meeting_query(join, 0.1), taxis)["wait s"] for join in joins.JOINS]
    assert waits[0] < waits[1] <= 6


def test_empty_streams_make_as_many_batches_without_pairs():
    row = joins.run(meeting_query("interval", 2, parallelism=2), empty_streams(7, joins.BATCH_MS))
    assert (row["batches"], row["pairs"]) == (7, 0)


def test_every_setting_has_its_row_and_ratios(taxis, monkeypatch):
    monkeypatch.setattr(joins, "MINUTES", 0.5)
    rows, twice = joins.by_parallelism(taxis, 1, lambda line: None)
    assert len(rows) == 8
    assert [row["the same twice"] for row in twice] == ["join interval, tasks 1, method indexed"]
    assert len({json.dumps([row[name] for name in ("join", "tasks", "method")]) for row in rows}) == 8
    assert all((row["× native"] is None) == (row["method"] == "native") for row in rows)
    assert all((row["CPU × one task"] is None) == (row["tasks"] == 1) for row in rows)
    for join in joins.JOINS:
        assert len({row["pairs"] for row in rows if row["join"] == join}) == 1


def test_methods_that_find_other_pairs_are_no_page(taxis, monkeypatch):
    run = joins.run

    def wrong(query, sides):
        row = run(query, sides)
        return row | {"pairs": row["pairs"] + (query.spatial_join.method == "native")}

    monkeypatch.setattr(joins, "run", wrong)
    with pytest.raises(RuntimeError, match="pairs, but"):
        joins.by_parallelism(taxis, 1, lambda line: None)


def test_all_methods_of_the_table_index_are_measured_over_the_same_pairs():
    rows, twice = table.by_method(3000, 1, lambda line: None)
    assert [row["the same twice"] for row in twice] == ["raster"]
    assert [row["method"] for row in rows] == list(table.METHODS)
    assert len({row["pairs"] for row in rows}) == 1
    assert rows[0]["pairs"] > 2900
    assert next(row for row in rows if row["method"] == "native")["× native"] == 1


def test_an_engine_that_is_not_installed_takes_no_part(monkeypatch):
    def missing(shapes, condition):
        raise refuse("method: external", "DuckDB is not installed", "the extra")

    monkeypatch.setattr(table.ExternalSearch, "from_shapes", missing)
    told: list[str] = []
    rows, _ = table.by_method(100, 1, told.append)
    assert [row["method"] for row in rows] == ["raster", "edges", "rtree", "native"]
    assert any("external takes no part" in line and "DuckDB is not installed" in line for line in told)


def test_a_method_that_finds_other_pairs_is_refused(monkeypatch):
    build = table._Timed.build
    relations = {"native": "disjoint"}

    def other(rows, how):
        monkeypatch.setattr(table, "RELATION", relations.get(how, "within"))
        return build(rows, how)

    monkeypatch.setattr(table._Timed, "build", other)
    with pytest.raises(RuntimeError, match="native finds other pairs"):
        table.by_method(500, 1, lambda line: None)


def test_methods_that_find_other_pairs_on_spark_are_no_page(tmp_path, monkeypatch):
    def run(self, query, tuples):
        pairs = 5 if query.spatial_join.method == "native" else made
        return {"tuples/s": 6.0 - pairs, "warm tuples/s": 1.0, "pairs": pairs}

    monkeypatch.setattr(spark_joins.SparkJoins, "run", run)
    joined = spark_joins.SparkJoins(None, tmp_path, 10)
    made = 4
    with pytest.raises(RuntimeError, match="other numbers of pairs"):
        spark_joins.beside_native(joined, 2, lambda line: None)
    made = 5
    rows, twice = spark_joins.beside_native(joined, 2, lambda line: None)
    assert (len(rows), len(twice)) == (8, 4)


def test_one_task_twice_is_beside_the_cost_of_a_second_task(tmp_path, monkeypatch):
    def net(self, join, tasks):
        return {"warm tuples/s": 10.0 * tasks, "CPU µs/tuple": 3.0 * tasks}

    monkeypatch.setattr(spark_joins.SparkJoins, "net", net)
    rows, twice = spark_joins.by_parallelism(spark_joins.SparkJoins(None, tmp_path, 10), 2, lambda line: None)
    assert [(row["tasks"], row["warm × one task"], row["CPU × one task"]) for row in rows] == [(1, 1, 1), (2, 2, 2)] * 2
    assert {row["highest ×"] for row in twice} == {1.0}
    assert [row["measure"] for row in twice] == ["warm tuples/s", "CPU µs/tuple"] * 2


def test_without_a_peer_and_methods_nobody_takes_part(monkeypatch):
    monkeypatch.setattr(table_on_spark, "METHODS", ())
    assert table_on_spark.beside_sedona(100, 1, None, print) == ([], [])
    assert markdown([]) == "Nobody took part."


@pytest.mark.needs("long")
def test_the_report_has_all_experiments_of_the_paper(tmp_path, monkeypatch):
    monkeypatch.setattr(joins, "MINUTES", 0.5)
    monkeypatch.setattr(joins, "BATCH_MS", 10_000)
    monkeypatch.setattr(joins, "LENGTHS", (0.2, 0.5))
    monkeypatch.setattr(joins, "GRIDS", (1, 16))
    monkeypatch.setattr(joins, "BINS_S", (20, 60))
    monkeypatch.setattr(joins, "BIN_MINUTES", 0.5)
    monkeypatch.setattr(taxi_map, "MEETING", 300)
    monkeypatch.setattr(joins, "TASKS", (1, 4))
    on_spark = [
        {"join": join, "tasks": tasks, "method": method, "tuples/s": 1.0}
        for join in joins.JOINS
        for tasks in joins.PARALLELISM
        for method in joins.METHODS
    ]
    in_table = table.by_method(2000, 1, lambda line: None)
    of_shapes = shapes.by_condition(60, 1, lambda line: None)
    cpu = [{"join": "interval", "tasks": 1, "CPU µs/tuple": 1.0}]
    monkeypatch.setattr(table, "by_method", lambda *arguments: in_table)
    monkeypatch.setattr(shapes, "by_condition", lambda *arguments: of_shapes)
    monkeypatch.setattr(table_on_spark, "beside_sedona", lambda *arguments: ([], []))
    monkeypatch.setattr(latency, "beside_pass_through", lambda *arguments: ([], []))
    monkeypatch.setattr(pair_latency, "by_setting", lambda *arguments: ([], []))
    monkeypatch.setattr(spark_joins, "spark_joins", lambda tuples: nullcontext())
    monkeypatch.setattr(spark_joins, "beside_native", lambda *arguments: (on_spark, []))
    monkeypatch.setattr(spark_joins, "by_parallelism", lambda *arguments: (cpu, []))
    page = report.REPORT.write(tmp_path, Effort(500, 2, 1), lambda line: None)
    text, written = page.read_text(), json.loads((tmp_path / "003.json").read_text())
    assert "{" not in text
    of_spark = {"spark_table", "latency", "latency_joins", "spark", "spark_cpu"}
    compared = {"table", "shapes", "parallelism", "tasks", "lengths", "grids", "bins"} | of_spark
    assert set(written) == compared | {f"{name}_twice" for name in compared} | {"measured"}
    assert all(written[name] for name in compared - {"spark_table", "latency", "latency_joins"})
    assert all(f"{{{name}}}" in report.REPORT.template.read_text() for name in written if name != "measured")
    for name in ("map", "table", "parallelism", "length", "grid", "bin"):
        assert (tmp_path / f"003-{name}.png").stat().st_size > 10_000
        assert f"(003-{name}.png)" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for before, row in pairwise(rows):  # of a table each row has as many cells as its head
        assert row.count("|") == before.count("|") or "| ---" in rows[rows.index(row) + 1]
