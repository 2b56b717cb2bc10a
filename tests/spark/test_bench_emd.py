"""The speed of EMD joins on Spark, as the benchmark measures it, of short streams."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from bench.emd import spark_speed, speed


@pytest.fixture(autouse=True)
def _short(spark, monkeypatch):
    @contextmanager
    def shared(name, shuffle_partitions):
        spark.conf.set("spark.sql.shuffle.partitions", str(shuffle_partitions))
        yield spark

    monkeypatch.setattr(spark_speed, "session", shared)
    monkeypatch.setattr(speed, "RATE", 400)
    monkeypatch.setattr(speed, "WINDOW_S", 1)


def test_runs_by_threshold_are_measured(monkeypatch):
    monkeypatch.setattr(spark_speed, "SECONDS", 20)
    told: list[str] = []
    rows = spark_speed.by_threshold(10_000, 1, told.append)
    assert [row["θ levels"] for row in rows] == [each.threshold for each in spark_speed.SETTINGS]
    assert all(row["R-tuples/s"] > 0 for row in rows)
    assert rows[0]["pairs a tuple"] < rows[1]["pairs a tuple"], "more pairs are near by the greater θ"
    assert len(told) == 2 * len(rows), "one more round than counts"


def test_the_state_follows_the_window_and_what_a_batch_writes_does_not(monkeypatch):
    monkeypatch.setattr(spark_speed, "WINDOWS_S", (1, 3))
    monkeypatch.setattr(spark_speed, "MEASURED_S", 4)
    short, long = spark_speed.by_window(lambda line: None)
    assert short["batches"] >= long["batches"] >= 2
    assert 1.5 * short["state MB"] < long["state MB"] < 4 * short["state MB"]
    assert long["written MB"] < 1.5 * short["written MB"]
