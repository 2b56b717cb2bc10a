"""After corrections on Spark the answers are the batch answers: run twice, and with repeats in the stream.

The streams before them run on the local engine: tables are the same. `properties/test_corrections.py` has intervals in
any order.
"""

from __future__ import annotations

import json

import pytest

from kit.oracles.oracle import Settings, batch, stream
from kit.oracles.oracle_assertions import assert_answers, assert_close, assert_streamed
from kit.runs.warehouse import EPOCH, even, make_query, make_stream, read_windows, rows_of, tables_of, write_files
from tailrace.correction import history_scan
from tailrace.correction.bucketed_scan import BucketedScan
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.duration import format_time
from tailrace.ground.errors import Refused
from tailrace.spark.distributed_correction import correct
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions

TUPLES = make_stream(500, seed=3, duplicates=25)
SETTINGS = Settings(700, 300, 100, "sum", ("k_slack", 200))


BOUNDED = RunOptions()


@pytest.fixture(autouse=True)
def all_on_spark(monkeypatch):
    """However little is to be read; unit/correction/test_correct.py has what is done without."""
    monkeypatch.setattr(history_scan, "AT_ONCE", 0)


def streamed(tmp_path, settings=SETTINGS, tuples=TUPLES, plan=BOUNDED):
    write_files(tuples, tmp_path / "in", even(len(tuples), 7))
    query = make_query(tmp_path / "in", settings)
    run(query, tmp_path / "wh", plan)
    return query


def test_all_of_it_twice_is_the_batch_answer(tmp_path, spark):
    query = streamed(tmp_path)
    truth = batch(TUPLES, SETTINGS)
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS))
    before = read_windows(tmp_path / "wh", SETTINGS)
    assert any(window not in truth or abs(before[window][0] - truth[window].value) > 1e-6 for window in before)
    first = correct(query, tmp_path / "wh")
    assert_answers(read_windows(tmp_path / "wh", SETTINGS), truth)
    once = tables_of(tmp_path / "wh").read("corrections").to_pandas()
    assert correct(query, tmp_path / "wh") == first
    assert len(tables_of(tmp_path / "wh").read("corrections")) == len(once)
    assert_answers(read_windows(tmp_path / "wh", SETTINGS), truth)
    retracted = {(r.key, r.window_start, r.window_end) for r in once[once["retracted"]].itertuples()}
    assert retracted == before.keys() - truth.keys()
    with pytest.raises(Refused, match="its end is not after its start"):
        correct(query, tmp_path / "wh", CorrectionRange(EPOCH + 10, EPOCH))
    assert len(tables_of(tmp_path / "wh").read("correction_runs")) == 2
    assert all(
        answer[2] == stream(TUPLES, SETTINGS).as_of for answer in read_windows(tmp_path / "wh", SETTINGS).values()
    )


def test_what_is_read_by_the_process_alone_or_in_part_is_what_spark_reads(tmp_path, spark, monkeypatch):
    """The newest windows lie in a few of the seven files; tuples with their ids may be in all."""
    query, found, asked = streamed(tmp_path), [], []
    find = BucketedScan.find
    monkeypatch.setattr(BucketedScan, "find", lambda *about: asked.append(about) or find(*about))
    for at_once in (0, 3 * 72, 500):
        monkeypatch.setattr(history_scan, "AT_ONCE", at_once)
        for span in (CorrectionRange(), CorrectionRange(EPOCH + 9500)):
            correct(query, tmp_path / "wh", span)
        assert bool(asked) == (at_once > 0)
        rows = tables_of(tmp_path / "wh").read("corrections").to_pylist()
        found.append(
            sorted((r["interval"], str(r["key"]), r["window_end"], r["tuples"], round(r["value"], 6)) for r in rows)
        )
    assert len({row[0] for row in found[0]}) == 2
    assert found[0] == found[1] == found[2]


def test_a_range_of_event_time_covers_what_overlaps_it_and_has_closed(tmp_path, spark):
    query = streamed(tmp_path, plan=RunOptions(flush=False))
    outcome = stream(TUPLES, SETTINGS, flush=False)
    start, end = EPOCH + 2000, EPOCH + 4000
    correct(query, tmp_path / "wh", CorrectionRange(start, end))
    truth = batch(TUPLES, SETTINGS, before=outcome.as_of)
    expected = {w for w in truth if outcome.closed(w[2]) and w[2] > start and w[1] < end}
    rows = tables_of(tmp_path / "wh").read("corrections").to_pylist()
    given = {(r["key"], r["window_start"], r["window_end"]): r for r in rows if not r["retracted"]}
    assert given.keys() == expected
    for window, row in given.items():
        assert_close(row["value"], truth[window].value, truth[window].sum_abs)


def test_an_interval_waits_for_the_stream(tmp_path, spark):
    query = streamed(tmp_path, plan=RunOptions(flush=False))
    until = stream(TUPLES, SETTINGS, flush=False).committed
    with pytest.raises(Refused, match="committed up to"):
        correct(query, tmp_path / "wh", CorrectionRange(EPOCH, until + 100, arrival=True))
    with pytest.raises(Refused, match="no multiple of the tick"):
        correct(query, tmp_path / "wh", CorrectionRange(EPOCH, until - 50, arrival=True))
    assert not (tmp_path / "wh" / "readings" / "corrections").exists()
    assert correct(query, tmp_path / "wh", CorrectionRange(EPOCH, EPOCH + 100, arrival=True)).answers == 0
    assert len(tables_of(tmp_path / "wh").read("correction_runs")) == 1  # an empty run is in the ledger too


def json_lines(records: list[dict]) -> list[str]:
    broken = ['{"event_time": "2020-', '{"event_time": null, "id": "x", "key": "k", "value": 1.0}']
    return [json.dumps(record) for record in records] + broken


def csv_lines(records: list[dict]) -> list[str]:
    lines = [",".join(str(value) for value in record.values()) for record in records]
    return [",".join(records[0]), *lines, '2020-"', ",x,k,1.0"]


@pytest.mark.parametrize(("source", "lines"), [("json", json_lines), ("csv", csv_lines)])
def test_text_without_arrival_times_is_stored_as_history(tmp_path, spark, source, lines):
    """Arrival is the time of ingest: a batch is a tick or two, and what later batches bring may be late."""
    directory, settings = tmp_path / "with a space", Settings(500, 100, 100, "sum", "none")
    query = make_query(directory / "in", settings, source=source, arrival_time=None)
    (directory / "in").mkdir(parents=True)
    for number, (start, end) in enumerate([(0, 200), (200, 400), (400, 500)]):
        records = [
            {"event_time": format_time(t.event_time), "id": t.id, "key": t.key, "value": t.value}
            for t in TUPLES[start:end]
        ]
        (directory / "in" / f"part-{number}.{source}").write_text("\n".join(lines(records)) + "\n")
        run(query, directory / "wh", RunOptions(flush=number >= 2))
    assert_answers_of_history(directory, query, settings, source)


def assert_answers_of_history(tmp_path, query, settings, source) -> None:
    tables: Tables = tables_of(tmp_path / "wh")
    history, quarantine = tables.read("history"), tables.read("quarantine").to_pylist()
    assert sorted(history["id"].to_pylist()) == sorted(t.id for t in TUPLES)
    assert len(quarantine) == 6
    positions = {row["position"].rsplit("/", 1)[1] for row in quarantine}
    assert positions >= {f"part-0.{source}#200", f"part-2.{source}#101"}
    arrivals = dict(zip(history["position"].to_pylist(), history["arrival_time"].to_pylist(), strict=True))
    in_order = [arrivals[position] for position in sorted(arrivals)]
    assert len(set(in_order)) == 3
    as_it_came = [t._replace(arrival_time=arrival) for t, arrival in zip(TUPLES, in_order, strict=True)]
    assert_streamed(rows_of(tmp_path / "wh"), stream(as_it_came, settings))
    correct(query, tmp_path / "wh")
    assert_answers(read_windows(tmp_path / "wh", settings), batch(as_it_came, settings))
    answers, columns = read_answers(query, tmp_path / "wh", streamed=False)
    assert columns == ["key", "window_start", "window_end", "value", "tuples", "coverage", "k_ms", "as_of"]
    assert set(answers["coverage"].to_pylist()) == {1.0}


def test_coverage_is_what_had_come_of_all_that_came(tmp_path, spark):
    tuples = make_stream(500, seed=4)
    query, outcome = streamed(tmp_path, tuples=tuples), stream(tuples, SETTINGS)
    answers, _ = read_answers(query, tmp_path / "wh", streamed=True)
    missed: dict[tuple, int] = {}
    for late in outcome.late_tuples:
        for start, end in late.windows:
            missed[late.tuple.key, start, end] = missed.get((late.tuple.key, start, end), 0) + 1
    assert missed
    for row in answers.to_pandas().itertuples():
        gone = missed.get((row.key, row.window_start, row.window_end), 0)
        assert row.coverage == pytest.approx(row.tuples / (row.tuples + gone))
