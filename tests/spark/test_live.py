"""Live streams on Spark: what keeps coming, silence, drain and restart; the answers are the oracle's."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from kit.oracles.oracle import Settings, batch, stream
from kit.oracles.oracle_assertions import assert_close, assert_streamed
from kit.runs import kill_points
from kit.runs.kill_points import kill, write_input
from kit.runs.live_stream import live
from kit.runs.warehouse import TIME, even, make_query, make_stream, rows_of, silences_of, tables_of, write_files
from tailrace.answers.by_window import ByWindow
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.results import AnswerTables
from tailrace.storage.status import Status
from tailrace.stream import app
from tailrace.stream.run_options import RunOptions
from tailrace.stream.sink import Sink
from tailrace.windows.sliding import Sliding

TUPLES = make_stream(400, seed=23)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))


def has_read(rows: int):
    return lambda status, entry: entry.position.rows == rows


def quiet(status: Status, entry) -> bool:
    return entry.position.quiet and status.batches > entry.header.batch


def all_and_quiet(status: Status, entry) -> bool:
    """All tuples are read, and the silence after them is recorded: on a slow machine there is one before, too."""
    return entry.position.rows == len(TUPLES) and quiet(status, entry)


def test_files_that_keep_coming_a_drain_and_silence(tmp_path, spark):
    query, warehouse = make_query(tmp_path / "in", SETTINGS, idle="2 s"), tmp_path / "wh"
    bounds = even(len(TUPLES), 8)
    write_files(TUPLES, tmp_path / "in", bounds[:2])

    def first_half(beside):
        for number in range(1, 4):
            beside.until(has_read(bounds[number]))
            write_files(TUPLES, tmp_path / "in", bounds[number : number + 2], first=number)
        beside.until(lambda status, entry: entry.position.rows == bounds[4] and status.batches > entry.header.batch)

    live(query, warehouse, first_half)
    assert Status.read(Layout.for_query(warehouse, "readings")).state == "drained"
    half = TUPLES[: bounds[4]]
    assert_streamed(rows_of(warehouse), stream(half, SETTINGS, flush=False, passed=silences_of(warehouse)))
    write_files(TUPLES, tmp_path / "in", bounds[4:], first=4)
    live(query, warehouse, lambda beside: beside.until(all_and_quiet))
    passed = silences_of(warehouse)
    first, *later = [silence.quiet for silence in passed if silence.position == len(TUPLES)]
    assert first
    assert not any(later), "quiet once, then heartbeats as long as the machine takes to drain"
    assert_streamed(rows_of(warehouse), stream(TUPLES, SETTINGS, flush=False, passed=passed))
    assert sum(row["rows"] for row in rows_of(warehouse)["metrics"]) == len(TUPLES)
    (fact,) = [f for f in tables_of(warehouse).read("facts").to_pylist() if f["evidence"].startswith("quiet")][-1:]
    assert fact["version"] == 1
    correct(query, warehouse)
    assert_corrected(warehouse)


def assert_corrected(warehouse: Path) -> None:
    found = AnswerTables(tables_of(warehouse), ByWindow(Sliding(SETTINGS.size, SETTINGS.slide))).latest().to_pandas()
    truth = batch(TUPLES, SETTINGS)
    rows = {(row.key, row.window_start, row.window_end): row for row in found.itertuples()}
    assert rows.keys() == truth.keys()
    for window, true in truth.items():
        assert rows[window].tuples == true.tuples
        assert_close(rows[window].value, true.value, true.sum_abs)


def test_a_silent_stream_gives_its_last_windows_though_it_was_killed_in_between(tmp_path, spark):
    write_input(tmp_path)
    kill(tmp_path, "silent", 3, idle="20 s")
    assert not silences_of(tmp_path / "wh"), "it died too late"
    outcome = stream(kill_points.TUPLES, kill_points.SETTINGS)
    assert len(rows_of(tmp_path / "wh")["results"]) < len(outcome.answers)
    query = make_query(tmp_path / "in", kill_points.SETTINGS, idle="20 s")
    live(query, tmp_path / "wh", lambda beside: beside.until(quiet))
    assert_streamed(rows_of(tmp_path / "wh"), outcome)


def test_a_delta_table_that_grows_is_read_commit_by_commit(tmp_path, spark):
    source, warehouse, bounds = tmp_path / "in", tmp_path / "wh", even(len(TUPLES), 6)
    query = make_query(source, SETTINGS, source="delta", idle="2 s")

    def append(number: int) -> None:
        part = TUPLES[bounds[number] : bounds[number + 1]]
        columns = {name: pa.array([getattr(t, name) for t in part]) for name in ("id", "key", "value")}
        times = {n: pa.array([getattr(t, n) for t in part], TIME) for n in ("event_time", "arrival_time")}
        write_deltalake(source, pa.table(columns | times), mode="append")

    def grow(beside):
        for number in range(1, 6):
            beside.until(has_read(bounds[number]))
            append(number)
            if number == 3:
                DeltaTable(source).optimize.compact()  # moves rows, brings none
        beside.until(all_and_quiet)

    append(0)
    live(query, warehouse, grow)
    assert_streamed(rows_of(warehouse), stream(TUPLES, SETTINGS, flush=False, passed=silences_of(warehouse)))
    assert not (Layout.for_query(warehouse, "readings").home / "history").exists()  # the table is the history
    correct(query, warehouse)
    assert_corrected(warehouse)


def test_the_time_of_ingest_goes_on_in_silence(tmp_path, spark):
    # A silence is seen before the stream is quiet if a batch takes less than its `idle`, also on a slow machine.
    query = make_query(tmp_path / "in", SETTINGS, source="json", idle="15 s", arrival_time=None)
    warehouse, bounds = tmp_path / "wh", even(len(TUPLES), 3)

    def lines(number: int) -> None:
        part = [t._asdict() for t in TUPLES[bounds[number] : bounds[number + 1]]]
        new = tmp_path / f"part-{number}.json"
        new.write_text("".join(json.dumps(row) + "\n" for row in part))
        new.rename(tmp_path / "in" / new.name)

    def come(beside):
        for number in (1, 2):
            beside.until(has_read(bounds[number]))
            lines(number)
        beside.until(
            lambda status, entry: entry.position.rows == len(TUPLES) and entry.position.streams["readings"].heartbeat_ms
        )  # heartbeat
        beside.until(all_and_quiet)

    (tmp_path / "in").mkdir()
    lines(0)
    live(query, warehouse, come)
    segments = sorted(rows_of(warehouse)["segments"], key=lambda row: row["ordinal"])
    stamps = [row["ingested_ms"] for row in segments for _ in range(row["rows"])]
    came = [t._replace(arrival_time=stamp) for t, stamp in zip(TUPLES, stamps, strict=True)]
    passed = silences_of(warehouse)
    assert any(not silence.quiet for silence in passed)
    assert_streamed(rows_of(warehouse), stream(came, SETTINGS, flush=False, passed=passed))
    correct(query, warehouse)
    assert_corrected(warehouse)


def test_the_streams_own_tables_are_compacted(tmp_path, spark, monkeypatch):
    monkeypatch.setattr(app, "Sink", partial(Sink, compact_every=4))
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 14))
    run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh", RunOptions(29))
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS))
    for name in ("results", "metrics", "segments"):
        assert len(DeltaTable(tables_of(tmp_path / "wh").layout.table(name)).file_uris()) <= 4, name


def test_a_replay_goes_no_faster_than_its_rate(tmp_path, spark):
    write_files(TUPLES, tmp_path / "in", [0, len(TUPLES)])
    query = make_query(tmp_path / "in", SETTINGS, source="replay", idle="2 s")
    live(query, tmp_path / "wh", lambda beside: beside.until(all_and_quiet))
    rows = rows_of(tmp_path / "wh")
    assert_streamed(rows, stream(TUPLES, SETTINGS, flush=False, passed=silences_of(tmp_path / "wh")))
    journal = Journal(Layout.for_query(tmp_path / "wh", "readings").journal)
    heard = [journal[number].position for number in range(len(rows["metrics"]) // 2)]
    first, last = heard[0], next(standing for standing in heard if standing.rows == len(TUPLES))
    assert len(rows["segments"]) > 1
    assert (last.last_rows_ms - first.last_rows_ms) / 1000 >= (len(TUPLES) - first.rows) / 100 - 0.2
