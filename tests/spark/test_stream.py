"""On Spark as in process: cut, resumed and spread in any way, the answers are the oracle's.

`properties/test_stream.py` draws the cuts, stops and tasks, in process.
"""

from __future__ import annotations

import random

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.warehouse import even, make_query, make_stream, rows_of, write_files
from tailrace.spark.app import run
from tailrace.spark.executor import spark_hash
from tailrace.stream.run_options import RunOptions

TUPLES = make_stream(600, seed=11)


def test_batches_and_parallelism_change_no_answer(tmp_path, spark):
    settings = Settings(700, 300, 100, "sum", ("k_slack", 400))
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 50))
    assert run(make_query(tmp_path / "in", settings, parallelism=3), tmp_path / "wh", RunOptions(96)) == 7
    rows = rows_of(tmp_path / "wh")
    assert_streamed(rows, stream(TUPLES, settings))
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES) == sum(row["rows"] for row in rows["segments"])


def test_stopped_and_resumed_anywhere_the_answers_are_the_same(tmp_path, spark):
    seed, settings = 2, Settings(1000, 300, 0, "avg", "mp_k_slack")
    draw = random.Random(seed)
    bounds = [0, *sorted(draw.sample(range(1, len(TUPLES)), 9)), len(TUPLES)]
    query, stops = make_query(tmp_path / "in", settings, draw.choice([1, 2, 3])), sorted(draw.sample(range(1, 10), 3))
    print(f"seed {seed}: files {bounds}, stopped after {stops}")
    for start, end in zip([0, *stops], [*stops, 10], strict=True):
        write_files(TUPLES, tmp_path / "in", bounds[start : end + 1], first=start)
        run(query, tmp_path / "wh", RunOptions(draw.choice([40, 100, 10**6]), flush=end >= 10))
        if end < 10:
            assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES[: bounds[end]], settings, flush=False))
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, settings))


def test_integers_hash_as_in_spark(spark):
    values = [*range(2_000), -1, -2_000, 2**31 - 1, -(2**31)]
    rows = spark.createDataFrame([(value,) for value in values], "value int").selectExpr("value", "hash(value) as hash")
    assert {row["value"]: row["hash"] for row in rows.collect()} == {value: spark_hash(value) for value in values}
