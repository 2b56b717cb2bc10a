"""Queries of the Python API: declared in code, from files and as SQL text; run, corrected and read."""

from __future__ import annotations

import gc
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tailrace
from kit.oracles.oracle import Settings, batch
from kit.oracles.oracle_assertions import assert_close
from kit.runs.warehouse import even, make_stream, write_files
from tailrace import testing
from tailrace.api.stored_rows import FOLDER, storing
from tailrace.storage.layout import Layout

TUPLES = make_stream(200, seed=5)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 100))
FILE = """
name: readings
kind: aggregate
streams:
  readings:
    {source: {format: parquet, path: in}, event_time: event_time, arrival_time: arrival_time, id: id, key: key}
window: {size: 500 ms, slide: 100 ms}
disorder: {policy: k_slack, k: 100 ms, tick: 100 ms}
aggregate: {function: sum, column: value}
"""
START = 1_577_836_800_000  # 2020-01-01T00:00:00Z


def rows(number: int = 20, **columns: list) -> dict[str, list]:
    """Rows a second apart, each two seconds late."""
    times = [datetime.fromtimestamp(START // 1000 + n, UTC) for n in range(number)]
    came = [time + timedelta(seconds=2) for time in times]
    return {"at": times, "came": came, "id": list(range(number)), "value": [float(n) for n in range(number)]} | columns


def stream(number: int = 20, **columns: list) -> tailrace.Stream:
    return tailrace.Stream(rows(number, **columns), event_time="at", arrival_time="came", id="id")


def query(source: tailrace.Stream | None = None, **fields: object) -> tailrace.Query:
    declared = {"window": "5 s", "aggregate": {"total": {"function": "sum", "column": "value"}}} | fields
    return tailrace.query("aggregate", streams={"rows": source or stream()}, **declared)


TOTALS = [10.0, 35.0, 60.0, 85.0]


def test_a_file_runs_is_corrected_and_answers_as_the_oracle(tmp_path):
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 4))
    (tmp_path / "readings.yaml").write_text(FILE)
    loaded = tailrace.load(tmp_path / "readings.yaml", warehouse=tmp_path / "wh")
    batches = []
    run = loaded.run(batch_rows=60, on_batch=lambda batch, rows_left, written: batches.append(batch))
    assert run.batches == len(batches) > 1
    assert run.summary.late == sum(run.late().arrow()["tuples"].to_pylist()) > 0
    report = run.correct(start="2000-01-01", end=datetime(2100, 1, 1))
    assert report.late == run.summary.late
    expected = batch(TUPLES, SETTINGS)
    answers = loaded.results().arrow()
    assert answers.num_rows == len(expected)
    for row in answers.to_pylist():
        window = tuple(int(row[name].timestamp() * 1000 + 0.5) for name in ("window_start", "window_end"))
        version = expected[row["key"], *window]
        assert_close(row["value"], version.value, version.sum_abs)
        assert row["tuples"] == version.tuples
    assert len(loaded.results("stream")) <= len(expected)
    assert loaded.quality().arrow()["answers"].to_pylist()
    assert loaded.status().state == "ended"
    again = loaded.run()
    assert again.lines() == ["nothing new to read"]


def test_a_part_of_the_answers_is_read_by_time_and_key():
    keyed = stream(key=["a", "b"] * 10)
    run = query(tailrace.Stream(keyed.table, "at", "came", "id", key="key")).run()
    part = run.results(start="2020-01-01T00:00:05Z", end=START + 10_000, key="a")
    assert [(row["key"], row["total"]) for row in part] == [("a", 6.0 + 8.0)]
    with pytest.raises(tailrace.Refused, match=r"start, end: .* is not after"):
        run.results(start="2020-01-02", end="2020-01-01")
    with pytest.raises(tailrace.Refused, match=r"^end: 'noon' is no time"):
        run.results(end="noon")
    with pytest.raises(tailrace.Refused, match=r"^as_of: there are no answers as of 'tomorrow'"):
        run.results("tomorrow")


def test_sql_text_is_declared_over_streams_in_memory_and_over_a_file_of_streams(tmp_path):
    source = "TUMBLE(TABLE rows, DESCRIPTOR(at), INTERVAL '5' SECOND)"
    columns = "window_start, window_end"
    text = f"SELECT {columns}, sum(value) AS total FROM {source} GROUP BY {columns}"
    asked = tailrace.sql(text, {"rows": stream()}, disorder={"policy": "k_slack", "k": timedelta(seconds=1)})
    assert asked.run().results().arrow()["total"].to_pylist() == TOTALS
    assert asked.explain()["policy"].startswith("k_slack")
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps({"at": f"2020-01-01T00:00:0{n}Z", "id": n, "value": n}) + "\n" for n in range(5))
    )
    (tmp_path / "streams.yaml").write_text(
        "streams: {rows: {source: {format: json, path: rows.jsonl}, event_time: at, id: id}}"
    )
    of_file = tailrace.sql(text, tmp_path / "streams.yaml", warehouse=tmp_path / "wh", name="totals")
    assert of_file.run().results().arrow()["total"].to_pylist() == [10]
    with pytest.raises(tailrace.Refused, match=r"^sql:1:21: there are no windows"):
        tailrace.sql("SELECT 1 + FROM rows", {"rows": stream()})


def test_every_fault_of_a_declaration_in_code_is_named_by_its_field():
    with pytest.raises(tailrace.Refused) as refused:
        query(window="5 parsecs", disorder={"policy": "k_slack"}, colour="red")
    places = [problem.where for problem in refused.value.problems]
    assert sorted(places) == ["query aggregate: colour", "query aggregate: disorder.k", "query aggregate: window.size"]
    assert all(problem.remedy for problem in refused.value.problems)
    with pytest.raises(tailrace.Refused, match=r"query aggregate: kind|'aggregat' is no kind here"):
        tailrace.query("aggregat", streams={})
    with pytest.raises(tailrace.Refused, match=r"streams: a stream has a name"):
        tailrace.query("aggregate", streams=stream())


def test_rows_in_memory_leave_nothing_behind_and_are_kept_in_a_warehouse_that_is_named(tmp_path):
    asked = query()
    run = asked.run()
    temporary = Path(asked.warehouse)
    assert run.results().arrow()["total"].to_pylist() == TOTALS
    assert (temporary / FOLDER).exists()
    answers = run.results()
    del asked, run
    gc.collect()
    assert not temporary.parent.exists()
    assert len(answers) == 4
    named = query().run(tmp_path / "wh")
    assert named.correct().answers == 4
    assert query().at(tmp_path / "wh").run().lines() == ["nothing new to read"], "the same rows are not read again"
    (stored,) = (tmp_path / "wh" / FOLDER / "aggregate" / "rows").iterdir()
    assert pa.parquet.read_table(stored).num_rows == 20


def test_rows_that_are_new_are_read_beside_those_that_a_warehouse_has(tmp_path):
    query().run(tmp_path / "wh", keep_open=True)
    later = {name: values[20:] for name, values in rows(30).items()}
    run = query(tailrace.Stream(later, "at", "came", "id")).run(tmp_path / "wh")
    assert run.summary.accepted == 10
    assert run.results().arrow()["total"].to_pylist() == [*TOTALS, 110.0, 135.0]


def test_rows_of_a_run_that_is_refused_are_not_stored(tmp_path):
    wrong = query(stream(value=["a word"] * 20)).at(tmp_path / "wh")
    for refused in (wrong.run, wrong.correct, wrong.results, wrong.calibrate):
        with pytest.raises(tailrace.Refused):
            refused()
        assert not (tmp_path / "wh").exists()
    run = query().run(tmp_path / "wh", keep_open=True)
    with pytest.raises(tailrace.Refused, match="value"):
        wrong.run()
    later = {name: values[20:] for name, values in rows(30).items()}
    assert query(tailrace.Stream(later, "at", "came", "id")).run(tmp_path / "wh").summary.accepted == 10
    assert run.results().arrow()["total"].to_pylist() == [*TOTALS, 110.0, 135.0]


def test_seconds_that_milliseconds_can_not_hold_are_refused_and_no_stream_is_stored(tmp_path):
    far = pa.array([START // 1000] * 19 + [1 << 62]).cast(pa.timestamp("s", "UTC"))
    fault = r"rows of rows: Parquet can't hold them: Integer overflow .*\n.* times that fit into milliseconds"
    with pytest.raises(tailrace.Refused, match=fault):
        query(stream(came=far)).run(tmp_path / "wh")
    streams = {"left": stream().table, "right": stream(came=far).table}
    with pytest.raises(tailrace.Refused, match="rows of right"), storing(streams, Layout(tmp_path / "wh" / "q")):
        pass
    assert not (tmp_path / "wh").exists()


def test_a_declaration_that_does_not_fit_its_warehouse_is_refused_before_rows_are_stored(tmp_path):
    query().run(tmp_path / "wh")
    with pytest.raises(tailrace.Refused, match=r"window\.size"):
        query(stream(30), window="6 s").run(tmp_path / "wh")
    assert len(list((tmp_path / "wh").rglob(f"{FOLDER}/**/*.parquet"))) == 1
    with pytest.raises(tailrace.Refused, match=r"window.size: it is '6 s', but the stream in .* was begun with '5 s'"):
        query(window="6 s").run(tmp_path / "wh")
    rebuilt = query(parallelism=3).at(tmp_path / "wh")
    assert rebuilt.rebuild(dry_run=True).changed == {"parallelism": (2, 3)}
    assert "all answers and corrections stay as they are" in str(rebuilt.rebuild())
    assert rebuilt.results().arrow()["total"].to_pylist() == TOTALS


def test_a_run_that_accepts_nothing_has_failed_with_its_reasons():
    nothing = query(stream(value=[np.nan] * 20))
    with pytest.raises(tailrace.Failed, match=r"read 20 records: 0 accepted, 20 rejected\n.*value is NaN") as failed:
        nothing.run()
    assert len(failed.value.run.quarantine()) == 20
    assert nothing.run(strict=False).lines() == ["nothing new to read"]


def test_no_rows_are_no_fault():
    run = query(stream(0, value=pa.array([], pa.float64()), at=pa.array([], pa.timestamp("ms", "UTC")))).run(
        correct=True
    )
    assert run.lines() == ["the input has no rows: there is nothing to answer, nor to correct"]


def test_arguments_that_do_not_fit_are_refused_in_the_words_of_python():
    with pytest.raises(tailrace.Refused, match=r"^keep_open: without bounded the stream goes on"):
        query().run(bounded=False, keep_open=True)
    with pytest.raises(tailrace.Refused, match=r"^engine: there is no engine 'flink'"):
        query().run(engine="flink")
    with pytest.raises(tailrace.Refused, match=r"^arrived_from, arrived_to: an interval of arrival has two ends"):
        query().correct(arrived_from=0)


def test_an_engine_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("TAILRACE_ENGINE", "flink")
    with pytest.raises(tailrace.Refused, match=r"TAILRACE_ENGINE: there is no engine 'flink'"):
        query().run()


def test_the_warehouse_of_a_query_over_files_is_the_environments_or_a_folder_here(tmp_path, monkeypatch):
    monkeypatch.delenv("TAILRACE_WAREHOUSE", raising=False)
    (tmp_path / "readings.yaml").write_text(FILE)
    loaded = tailrace.load(tmp_path / "readings.yaml")
    assert loaded.warehouse == Path("warehouse")
    monkeypatch.setenv("TAILRACE_WAREHOUSE", "elsewhere")
    assert loaded.warehouse == "elsewhere"
    assert loaded.at("here").warehouse == "here"


def test_a_query_file_is_tested_over_rows_in_memory(tmp_path):
    (tmp_path / "readings.yaml").write_text(FILE)
    loaded = tailrace.load(tmp_path / "readings.yaml")
    table = {"event_time": [START, START + 7], "arrival_time": [START, START + 9], "id": ["a", "b"], "key": ["k", "k"]}
    testing.assert_right(loaded, readings=table | {"value": [1.0, 2.0]})
    with pytest.raises(tailrace.Refused, match=r"query readings: it has no stream reading\n.*readings"):
        loaded.over(reading=table)
    with pytest.raises(tailrace.Refused, match=r"no column named value|value"):
        loaded.over(readings=table).run()


def test_a_query_over_rows_in_memory_leaves_its_warehouse_alone_and_sends_its_answers_nowhere(tmp_path):
    sent = "answers: {kafka: {servers: 'nowhere.invalid:9092', topic: answers}}"
    (tmp_path / "readings.yaml").write_text(f"{FILE}{sent}\n")
    loaded = tailrace.load(tmp_path / "readings.yaml", warehouse=tmp_path / "wh")
    assert loaded.declared.answers.kafka is not None
    table = {"event_time": [START], "arrival_time": [START], "id": ["a"], "key": ["k"], "value": [1.0]}
    run = loaded.over(readings=table).run()
    assert [row["value"] for row in run.results()] == [1.0] * 5
    assert run.declared.answers.kafka is None
    assert not (tmp_path / "wh").exists()


def test_a_policy_that_takes_proposals_is_calibrated():
    waits = {"policy": "cache_duration", "initial": "1 s", "durations": 3, "queries": 2, "accuracy": 0.5}
    run = query(stream(200), disorder=waits).run()
    assert run.calibrate(dry_run=True).proposed is False
    assert run.calibrate().proposed


def test_a_query_that_reads_its_own_answers_is_refused():
    with pytest.raises(tailrace.Refused):
        tailrace.query(
            "aggregate",
            name="loop",
            streams={"a": {"source": {"format": "answers", "query": "loop"}, "event_time": "window_end"}},
            window="5 s",
            aggregate={"function": "count"},
            disorder={"deduplicate": True},
        )
