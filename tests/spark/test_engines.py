"""A stream goes from one engine to the other between two batches, killed in between: the answers are the oracle's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kit.draws.drawn_queries import Drawn, richest, write_records
from kit.oracles.drawn_truth import by_one_statement, by_window, differences, over_all
from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.deaths import deaths
from kit.runs.kill_points import BATCH_ROWS, SETTINGS, TUPLES, kill
from kit.runs.local_driver import correct_here
from kit.runs.warehouse import even, make_query, rows_of, write_files
from tailrace.query.loading import load
from tailrace.spark.app import run as on_spark
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.layout import Layout
from tailrace.stream.local_stream import run as locally
from tailrace.stream.run_options import RunOptions

BOUNDS = even(len(TUPLES), 12)


def test_local_then_spark_then_local_with_a_kill_at_each_change(tmp_path, spark, monkeypatch):
    """Each engine dies amid a batch, and the other one runs that batch again, from the states it has left."""
    query, warehouse, options = make_query(tmp_path / "in", SETTINGS), tmp_path / "wh", RunOptions(BATCH_ROWS)
    layout = Layout.for_query(warehouse, query.name)
    write_files(TUPLES, tmp_path / "in", BOUNDS[:4])
    with monkeypatch.context() as patch, deaths(patch).at("append segments", 2):
        locally(query, warehouse, RunOptions(BATCH_ROWS, flush=False))
    assert committed_batches(layout) == 1, "it died amid batch 1"

    write_files(TUPLES, tmp_path / "in", BOUNDS[3:9], first=3)
    kill(tmp_path, "between states", 3)  # on Spark, of what is there, as batch 1 was planned
    assert committed_batches(layout) == 3, "Spark ran batches 1 and 2, and died amid batch 3"
    assert sorted(file.name for file in layout.states.glob("[0-9]*/00000003.state")) == ["00000003.state"]

    locally(query, warehouse, RunOptions(BATCH_ROWS, flush=False))
    spark_began = committed_batches(layout)
    write_files(TUPLES, tmp_path / "in", BOUNDS[8:11], first=8)
    assert on_spark(query, warehouse, RunOptions(BATCH_ROWS, flush=False)) == 1
    assert committed_batches(layout) == spark_began + 1
    write_files(TUPLES, tmp_path / "in", BOUNDS[10:], first=10)
    assert locally(query, warehouse, options) > 0
    rows = rows_of(warehouse)
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert sum(row["rows"] for row in rows["metrics"]) == sum(row["rows"] for row in rows["segments"]) == len(TUPLES)


def with_null_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | ({"country": None} if number % 3 else {"paid": None}) for number, row in enumerate(rows)]


def by_two_keys(drawn: Drawn) -> Drawn:
    return replace(drawn, null_key=None, keys=("country", "paid"), is_list=True)


def test_a_drawn_query_has_the_same_answers_on_spark_and_in_this_process(tmp_path, spark):
    """Columns, conditions, a list of keys, several aggregates, expressions over them and a condition of answers."""
    cases = [(with_null_keys(rows), by_two_keys(query)) for rows, query in richest(45)]
    rows, drawn = next((rows, query) for rows, query in cases if len(over_all(query, rows)) > 2)
    (tmp_path / "drawn.yaml").write_text(drawn.sections("in"))
    query = load(tmp_path / "drawn.yaml")
    write_records(rows, tmp_path / "in", 0, even(len(rows), 2))
    streamed, sizes = [], over_all(drawn, rows)
    for engine, warehouse in ((locally, tmp_path / "local"), (on_spark, tmp_path / "spark")):
        engine(query, warehouse, RunOptions(len(rows) // 2))
        correct_here(query, warehouse)
        streamed.append(by_window(drawn, query, warehouse, streamed=True))
        corrected, right = by_window(drawn, query, warehouse, streamed=False), by_one_statement(drawn, rows)
        assert corrected.keys() == right.keys() == sizes.keys() != set()
        assert any(None in window[:-2] for window in right), "no key is null"
        for window, answer in right.items():
            assert differences(drawn, corrected[window], answer, sizes[window]) == [], window
    assert streamed[1] == streamed[0]
