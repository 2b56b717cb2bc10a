"""A stream is rebuilt on Spark from history, its source gone: another parallelism, then another window."""

from __future__ import annotations

from pathlib import Path

from kit.oracles.oracle import Settings, batch, stream
from kit.oracles.oracle_assertions import assert_close, assert_streamed
from kit.runs.json_stream import POISON, records_of, write_json
from kit.runs.warehouse import make_query, make_stream, rows_of, tables_of
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.spark import app
from tailrace.spark.app import rebuild
from tailrace.spark.distributed_correction import correct
from tailrace.storage.results import AnswerTables
from tailrace.stream.run_options import RunOptions

TUPLES = make_stream(150, seed=31)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
WIDER = Settings(900, 300, 100, "max", ("k_slack", 300))
FILE = Path("readings.yaml")


def test_a_rebuilt_stream_goes_on_with_the_answers_of_the_oracle(tmp_path, spark):
    warehouse = tmp_path / "wh"

    def query(settings: Settings, parallelism: int) -> Query:
        return make_query(tmp_path / "in", settings, parallelism, source="json")

    def read(number: int, declared: Query, flush: bool = False) -> None:
        tuples = TUPLES[50 * number : 50 * number + 50]
        for part in (0, 1):
            write_json([*records_of(tuples[25 * part : 25 * part + 25]), POISON], tmp_path / "in", 2 * number + part)
        app.run(declared, warehouse, RunOptions(26, flush=flush), spark=spark)
        for file in (tmp_path / "in").iterdir():
            file.unlink()

    def assert_as_the_oracle(settings: Settings, count: int, flush: bool = False) -> None:
        assert_streamed(rows_of(warehouse), stream(TUPLES[:count], settings, flush=flush))
        assert len(rows_of(warehouse, "quarantine")["quarantine"]) == count // 25

    read(0, query(SETTINGS, 2))
    before = {name: sorted(map(str, rows)) for name, rows in rows_of(warehouse).items()}
    done = rebuild(query(SETTINGS, 3), warehouse, FILE, spark=spark)
    assert (done.rows, done.stored_rows, done.batches) == (52, 52, 1)
    assert {name: sorted(map(str, rows)) for name, rows in rows_of(warehouse).items()} == before
    read(1, query(SETTINGS, 3))
    assert_as_the_oracle(SETTINGS, 100)
    rebuild(query(WIDER, 2), warehouse, FILE, spark=spark)
    assert_as_the_oracle(WIDER, 100)
    read(2, query(WIDER, 2), flush=True)
    assert_as_the_oracle(WIDER, 150, flush=True)
    correct(query(WIDER, 2), warehouse)
    answers = AnswerTables(tables_of(warehouse), build(query(WIDER, 2)).answers).latest().to_pylist()
    found = {(row["key"], row["window_start"], row["window_end"]): row["value"] for row in answers}
    expected = batch(TUPLES, WIDER)
    assert found.keys() == expected.keys()
    for window, version in expected.items():
        assert_close(found[window], version.value, version.sum_abs)
