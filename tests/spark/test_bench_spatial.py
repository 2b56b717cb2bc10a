"""Spatial joins on Spark, as the benchmark measures them, of short streams."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager

import pytest

from bench.spatial import latency, spark_joins, table_on_spark
from bench.spatial.joins import JOINS, METHODS, PARALLELISM


@pytest.fixture
def joins(spark, monkeypatch):
    """Short joins over 6,000 tuples of either stream, in the tests' own session: more than a batch."""

    @contextmanager
    def shared(name, shuffle_partitions):
        yield spark

    monkeypatch.setattr(spark_joins, "session", shared)
    monkeypatch.setattr(spark_joins, "MINUTES", 0.5)
    with spark_joins.spark_joins(6000) as made:
        yield made


def test_both_methods_are_measured_over_the_same_pairs(joins, monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(spark_joins, "JOINS", JOINS[:1])
    rows, twice = spark_joins.beside_native(joins, 1, told.append)
    settings = [(tasks, name) for tasks in PARALLELISM for name in METHODS]
    assert [(row["tasks"], row["method"]) for row in rows] == settings
    assert len({row["pairs"] for row in rows}) == 1
    assert rows[0]["pairs"] > 10_000
    assert all(row["batches"] > 1 for row in rows)
    assert all(row["tuples/s"] > 0 and row["warm tuples/s"] > 0 for row in rows)
    assert all(row["× native"] == 1 for row in rows if row["method"] == "native")
    assert sum("dropped" in line for line in told) == len(rows) + len(twice)
    assert all(row["lowest ×"] == row["highest ×"] > 0 for row in twice)


def test_the_cost_of_a_tuple_is_less_that_of_as_many_empty_batches(joins):
    row = joins.net("window", 2)
    assert row["batches of none"] == row["batches"]
    assert row["CPU µs/tuple"] == pytest.approx(1e6 * (row["CPU s"] - row["CPU s of none"]) / 12_000)
    assert 1 <= row["copies/tuple"] < 2


def test_the_cost_of_a_second_task_is_a_ratio_to_one(joins, monkeypatch):
    monkeypatch.setattr(spark_joins, "JOINS", JOINS[1:])
    spent = iter([5.0, 5.0, 5.0, 10.0, 12.0, 11.0])

    def net(self, join, tasks):
        cost = next(spent)
        return {"CPU µs/tuple": cost, "warm tuples/s": 1 / cost}

    monkeypatch.setattr(type(joins), "net", net)
    rows, twice = spark_joins.by_parallelism(joins, 1, lambda line: None)
    assert [row["CPU × one task"] for row in rows] == [1, 1.2]
    assert [row["median ×"] for row in twice if row["measure"] == "CPU µs/tuple"] == [1.1]


def test_the_join_with_a_table_finds_the_pairs_of_the_index(spark, monkeypatch):
    @contextmanager
    def shared(name, shuffle_partitions):
        spark.conf.set("spark.sql.shuffle.partitions", str(shuffle_partitions))
        yield spark

    monkeypatch.setattr(table_on_spark, "session", shared)
    told: list[str] = []
    rows, twice = table_on_spark.beside_sedona(2000, 1, None, told.append)
    assert [row["measure"] for row in twice] == ["points/s", "warm points/s"]
    assert [row["contestant"] for row in rows] == list(table_on_spark.METHODS)
    assert all(row["pairs"] > 1900 and row["warm points/s"] > 0 and row["warm s"] > 0 for row in rows)
    assert [row["warm × native"] for row in rows if row["contestant"] == "native"] == [1]
    assert all(row["warm × Sedona"] is None and row["start s"] is None for row in rows)


def test_latency_is_that_of_every_file_after_the_start(spark, monkeypatch):
    @contextmanager
    def shared(name, shuffle_partitions):
        spark.conf.set("spark.sql.shuffle.partitions", str(shuffle_partitions))
        yield spark

    class Peer(ExitStack):
        """A peer in this session, in place of a Spark of its own."""

        def call(self, function, *arguments):
            return function(spark, *json.loads(json.dumps(arguments)))

    monkeypatch.setattr(latency, "session", shared)
    monkeypatch.setattr(latency, "SparkPeer", lambda name, directory, cores: Peer())
    monkeypatch.setattr(latency, "START_S", 0.4)
    rows, twice = latency.beside_pass_through(1, lambda line: None, 2.0)
    assert [row["contestant"] for row in rows] == ["pass-through", "join with a table", "join with a table, native"]
    assert [row["the same twice"] for row in twice] == ["join with a table"]
    assert all(row["files"] == 3 for row in rows), "of four files, one comes before the start"
    assert all(0 < row["p50 s"] <= row["p95 s"] < 60 for row in rows)
    assert rows[0]["× pass-through"] == 1
