"""The Python API on Spark: rows in memory run and are corrected there, and answers come as a Spark data frame."""

from __future__ import annotations

import pytest

import tailrace
from tailrace import testing
from tailrace.spark import data_frame


def test_rows_in_memory_run_on_spark_and_answers_come_as_a_data_frame(spark, monkeypatch):
    clock = testing.Clock("2024-05-01")
    rows = [{"at": clock.advance("1 s"), "id": number, "key": "ab"[number % 2]} for number in range(30)]
    late = testing.late(rows, event_time="at", share=0.4, delay="9 s", seed=3)
    stream = tailrace.Stream(late, event_time="at", arrival_time="arrival_time", id="id", key="key")
    query = tailrace.query("aggregate", streams={"rows": stream}, window="5 s", aggregate={"n": {"function": "count"}})
    run = testing.assert_right(query, engine="spark")
    assert run.summary.late
    expected = testing.batch_answers(query)
    for frame in (run.results().spark(spark), run.results().spark()):
        assert frame.count() == len(expected)
        assert frame.agg({"n": "sum"}).collect()[0][0] == 30
        assert dict(frame.dtypes)["window_end"] == "timestamp"
    monkeypatch.setattr(data_frame.SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(tailrace.Refused, match="no Spark session is active"):
        run.results().spark()
