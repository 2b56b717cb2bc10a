"""Sessions against Spark's own `session_window`, and on Spark as in this process."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

import tailrace
from kit.draws.aggregates import kind_of
from tailrace import testing
from tailrace.windows.sessions import Sessions

START = 1_577_836_800_000  # 2020-01-01T00:00:00Z


def rows_of(seed: int) -> pa.Table:
    """Rows at whole seconds, so that many come exactly the gap of 5 s after another; some keys are null."""
    draws = np.random.default_rng(seed)
    at = START + 1000 * draws.integers(0, 600, 300)
    return pa.table({"at": at, "id": np.arange(300), "key": draws.choice(["a", "b", None], 300).tolist()})


@pytest.mark.parametrize("seed", range(3))
def test_sessions_are_those_of_spark(spark, seed):
    rows = rows_of(seed)
    kind = kind_of(Sessions(5000), "count", id_type=pa.int64())
    tuples = rows.rename_columns(["event_time", "id", "key"]).to_batches()[0]
    found = {
        (row["key"], row["window_start"], row["window_end"], row["tuples"]) for row in kind.evaluate(tuples).to_pylist()
    }
    spark.createDataFrame(rows.to_pylist(), "at long, id long, key string").createOrReplaceTempView("rows")
    query = "SELECT key, session_window(timestamp_millis(at), '5 seconds') AS w, count(*) AS n FROM rows GROUP BY 1, 2"
    theirs = spark.sql(f"SELECT key, unix_millis(w.start), unix_millis(w.end), n FROM ({query})").collect()
    assert found == {tuple(row) for row in theirs}
    assert any(end - start > 20_000 for _, start, end, _ in found)


def test_a_query_on_spark_streams_and_corrects_as_in_this_process(spark, tmp_path):
    rows = testing.late(rows_of(7).sort_by("at"), event_time="at", share=0.4, delay="30 s", seed=7)
    stream = tailrace.Stream(rows, event_time="at", arrival_time="arrival_time", id="id", key="key")
    n = {"n": {"function": "count"}, "last": {"function": "max", "column": "id"}}
    query = tailrace.query("aggregate", streams={"rows": stream}, window={"session": "5 s"}, aggregate=n)
    answers = []
    for engine in ("local", "spark"):
        run = query.run(tmp_path / engine, engine=engine)
        streamed = run.results().arrow()
        run.correct()
        answers.append((streamed, run.results().arrow()))
    assert answers[0] == answers[1]
    assert answers[0][0] != answers[0][1]
    assert datetime(2020, 1, 1, tzinfo=UTC) <= answers[0][1]["window_start"][0].as_py()
