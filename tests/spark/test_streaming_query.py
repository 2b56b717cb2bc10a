"""A live stream as people see it in Spark: a streaming query of its name, and jobs that say what they run."""

from __future__ import annotations

import re

import pytest

from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.kill_points import BATCH_ROWS, SETTINGS, TUPLES, write_input
from kit.runs.live_stream import live
from kit.runs.warehouse import make_query, rows_of, silences_of
from kit.suite.waiting import until
from tailrace.spark.app import run
from tailrace.spark.executor import SparkExecutor
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.stream.run_options import RunOptions

LIVE = RunOptions(BATCH_ROWS, pace_ms=100, live=True)


def descriptions(spark) -> list[str]:
    """The descriptions of the jobs of this session so far, as Spark's UI has them, in no order."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = (jobs.apply(number).description() for number in range(jobs.size()))
    return [description.get() for description in found if description.isDefined()]


def of_batches(texts: list[str], name: str) -> dict[int, int]:
    """The rows of each batch of a query that has a job."""
    found = (re.fullmatch(rf"{name}: batch (\d+), ([\d,]+) rows", text) for text in texts)
    return {int(match[1]): int(match[2].replace(",", "")) for match in found if match}


def named(query, name: str):
    return query.model_copy(update={"name": name})


@pytest.mark.parametrize("options", [RunOptions(BATCH_ROWS), LIVE], ids=["bounded", "live"])
def test_jobs_say_query_batch_and_rows(tmp_path, spark, options):
    write_input(tmp_path)
    name = "live_jobs" if options.live else "bounded_jobs"
    query = named(make_query(tmp_path / "in", SETTINGS), name)
    if options.live:
        live(query, tmp_path / "wh", lambda beside: beside.until(lambda status, _: status.rows == len(TUPLES)), options)
    else:
        run(query, tmp_path / "wh", options)
    rows = of_batches(descriptions(spark), name)
    assert [rows[batch] for batch in range(6)] == [100] * 6


def test_a_live_stream_is_a_streaming_query_of_its_name_and_ends_with_it(tmp_path, spark):
    write_input(tmp_path)
    query, names, progress = named(make_query(tmp_path / "in", SETTINGS), "seen"), [], []

    def look(beside):
        beside.until(lambda status, _: status.rows == len(TUPLES))
        names.extend(one.name for one in spark.streams.active)
        progress.append(until(lambda: spark.streams.active[0].lastProgress))

    live(query, tmp_path / "wh", look, LIVE)
    assert names == ["seen"]
    assert progress[0].name == "seen"
    assert not spark.streams.active
    assert Status.read(Layout.for_query(tmp_path / "wh", "seen")).state == "drained"


def test_what_fails_in_the_streaming_query_reaches_the_user_in_one_line_and_ends_it(tmp_path, spark, monkeypatch):
    """Spark overflows the stack of a stream's thread on a long text, and prints a thousand lines of that."""
    write_input(tmp_path)
    statuses = []

    def fail(self, *batch):
        statuses.extend(one.exception() for one in spark.streams.active)
        raise ValueError("long " * 20_000)

    monkeypatch.setattr(SparkExecutor, "run", fail)
    with pytest.raises(RuntimeError, match=r"the stream failed: .*long long") as error_info:
        run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh", LIVE)
    assert len(str(error_info.value).splitlines()) == 1
    assert statuses == [None]
    assert not spark.streams.active


def test_a_streaming_query_that_somebody_stops_fails_the_run_which_the_next_one_goes_on_from(tmp_path, spark):
    write_input(tmp_path)
    query = make_query(tmp_path / "in", SETTINGS)

    def stop(batch, rows_left, rows):
        if batch == 2:
            spark.streams.active[0].stop()

    with pytest.raises(RuntimeError, match="Spark has stopped the stream"):
        run(query, tmp_path / "wh", LIVE, stop)
    assert len(rows_of(tmp_path / "wh")["metrics"]) == 2 * 3
    live(query, tmp_path / "wh", lambda beside: beside.until(lambda status, _: status.rows == len(TUPLES)), LIVE)
    passed = silences_of(tmp_path / "wh")
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS, flush=False, passed=passed))
