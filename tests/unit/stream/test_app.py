"""What a run takes up from the one before it, refuses, and quarantines; on the local engine, as on any."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.local_driver import correct_here
from kit.runs.warehouse import even, make_query, make_stream, rows_of, tables_of, write_files
from tailrace.api.stream_state import WarehouseStream
from tailrace.engine.local_executor import LocalExecutor
from tailrace.ground.errors import Busy, Refused, SourceChanged
from tailrace.query.answers_section import AnswersSection
from tailrace.sources.lookup.postgres_table import PostgresTable
from tailrace.storage.layout import Layout
from tailrace.stream import opening
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions

TUPLES = make_stream(400, seed=21)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
BOUNDS = even(len(TUPLES), 8)


def test_new_settings_hold_from_the_next_tick(tmp_path):
    source, warehouse = tmp_path / "in", tmp_path / "wh"
    policies = [("k_slack", 300), "none", "mp_k_slack"]
    for number, policy in enumerate(policies):
        write_files(TUPLES, source, BOUNDS[number * 3 : number * 3 + 4], first=number * 3)
        query = make_query(source, dataclasses.replace(SETTINGS, policy=policy))
        run(query, warehouse, RunOptions(flush=number >= 2))
    facts = sorted(rows_of(warehouse, "facts")["facts"], key=lambda fact: fact["version"])
    assert [fact["version"] for fact in facts] == [1, 2, 3]
    changes = tuple((fact["from_tick"], policy) for fact, policy in zip(facts[1:], policies[1:], strict=True))
    last = [max(t.arrival_time for t in TUPLES[: BOUNDS[end]]) // 100 for end in (3, 6)]
    assert [tick for tick, _ in changes] == [tick + 1 for tick in last]
    assert_streamed(rows_of(warehouse), stream(TUPLES, dataclasses.replace(SETTINGS, changes=changes)))


def test_a_run_that_fails_says_so_at_once(tmp_path):
    write_files(TUPLES, tmp_path / "in", BOUNDS)

    def fail(*of_batch: object) -> None:
        raise ValueError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh", RunOptions(), fail)
    found = WarehouseStream.read(Layout.for_query(tmp_path / "wh", "readings"))
    assert (found.state, found.reported.state) == ("not running", "failed")


def test_the_status_after_a_refused_run_says_why(tmp_path):
    write_files(TUPLES, tmp_path / "in", BOUNDS[:3])
    query, layout = make_query(tmp_path / "in", SETTINGS), Layout.for_query(tmp_path / "wh", "readings")
    run(query, tmp_path / "wh", RunOptions(flush=False))
    write_files(TUPLES, tmp_path / "in", [0, 70])
    with pytest.raises(SourceChanged) as refused:
        run(query, tmp_path / "wh")
    found = WarehouseStream.read(layout)
    assert (found.reported.state, found.reported.problem) == ("failed", str(refused.value))
    lines = list(found.lines())
    reason = str(refused.value).partition("\n")[0]
    assert lines[0].startswith(f"WARNING: {reason}\n    right would be: ")
    assert lines[2].startswith("failed, ")
    assert lines[2].endswith(f" s ago: {reason}")


def test_batches_grow_where_their_rows_come_to_little(tmp_path):
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 16))
    query = make_query(tmp_path / "in", Settings(60_000, 60_000, 60_000, "sum", "none"))
    run(query, tmp_path / "wh", RunOptions(batch_answers=100))
    rows = Counter[int]()
    for row in rows_of(tmp_path / "wh", "metrics")["metrics"]:
        rows[row["batch"]] += row["rows"]
    assert rows == {0: 100, 1: 200, 2: 100}


def test_another_query_is_refused_and_a_stream_that_ended_has_nothing_to_read(tmp_path):
    write_files(TUPLES, tmp_path / "in", BOUNDS)
    query = make_query(tmp_path / "in", SETTINGS)
    assert run(query, tmp_path / "open", RunOptions(flush=False)) == 1
    assert run(query, tmp_path / "open", RunOptions(flush=False)) == 0
    with pytest.raises(Refused, match=r"window.size.*'700 ms'.*'500 ms'"):
        run(make_query(tmp_path / "in", dataclasses.replace(SETTINGS, size=700)), tmp_path / "open")
    assert run(make_query(tmp_path / "in", SETTINGS, parallelism=3), tmp_path / "open", RunOptions(flush=False)) == 1
    assert run(query, tmp_path / "open") == 1
    assert run(query, tmp_path / "open") == 0
    assert_streamed(rows_of(tmp_path / "open"), stream(TUPLES, SETTINGS))


def test_a_lost_checkpoint_is_made_again_from_the_journal(tmp_path):
    write_files(TUPLES, tmp_path / "in", BOUNDS[:6])
    query = make_query(tmp_path / "in", SETTINGS)
    assert run(query, tmp_path / "wh", RunOptions(100, flush=False)) == 3
    shutil.rmtree(Layout.for_query(tmp_path / "wh", "readings").checkpoint)
    write_files(TUPLES, tmp_path / "in", BOUNDS[5:], first=5)
    run(query, tmp_path / "wh", RunOptions(100))
    rows = rows_of(tmp_path / "wh")
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES)


def test_an_input_without_rows_is_no_fault(tmp_path):
    (tmp_path / "in").mkdir()
    query = make_query(tmp_path / "in", SETTINGS)
    assert run(query, tmp_path / "wh", RunOptions(flush=False)) == 0  # nothing tells the types of what may come
    assert not (tmp_path / "wh").exists()
    write_files(TUPLES[:0], tmp_path / "in", [0, 0])
    assert run(query, tmp_path / "wh", RunOptions(flush=False)) == 1
    write_files(TUPLES, tmp_path / "in", BOUNDS, first=1)
    run(query, tmp_path / "wh")
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS))


def test_what_does_not_fit_what_was_read_before_is_refused(tmp_path):
    write_files(TUPLES, tmp_path / "in", BOUNDS[:3])
    query, warehouse = make_query(tmp_path / "in", SETTINGS), tmp_path / "wh"
    run(query, warehouse, RunOptions(flush=False))
    before = rows_of(warehouse)
    write_files(TUPLES, tmp_path / "elsewhere", BOUNDS[:3])
    with pytest.raises(Refused, match="would count twice"):
        run(make_query(tmp_path / "elsewhere", SETTINGS), warehouse)
    shutil.copytree(tmp_path / "in", tmp_path / "kept")
    write_files(TUPLES, tmp_path / "in", [0, 70])  # part-00000 has grown
    with pytest.raises(SourceChanged, match="bytes; here are"):
        run(query, warehouse)
    write_files(TUPLES, tmp_path / "in", BOUNDS[:2])  # the same bytes, written again
    with pytest.raises(SourceChanged, match="bytes; here are"):
        run(query, warehouse)
    shutil.copytree(tmp_path / "kept", tmp_path / "in", dirs_exist_ok=True)  # as they were, times and all
    odd = pq.read_table(tmp_path / "in" / "part-00000.parquet")
    pq.write_table(odd.set_column(3, "key", pa.array([1] * odd.num_rows)), tmp_path / "in" / "part-00002.parquet")
    with pytest.raises(Refused, match="column key: its type is int64"):
        run(query, warehouse)
    (tmp_path / "in" / "part-00002.parquet").unlink()
    shutil.move(Layout.for_query(warehouse, "readings").stream, tmp_path / "lost")
    with pytest.raises(Refused, match="it is lost"):
        run(query, warehouse)
    assert rows_of(warehouse) == before


def test_a_source_of_wrong_records_only_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "part-0.json").write_text(
        '{"event_time": 1, "arrival_time": 1, "id": 1, "key": 1, "value": "x"}\n'
    )
    with pytest.raises(Refused, match="no record has a value of a fitting type"):
        run(make_query(tmp_path / "in", SETTINGS, source="json"), tmp_path / "wh")
    assert not (tmp_path / "wh").exists()


def test_a_checkpoint_that_another_process_began_meanwhile_is_kept(tmp_path, monkeypatch):
    write_files(TUPLES, tmp_path / "in", BOUNDS)
    query, layout = make_query(tmp_path / "in", SETTINGS), Layout.for_query(tmp_path / "wh", "readings")
    opened, begun = opening.open_feeds, []

    def begin_meanwhile(*arguments):
        feeds = opened(*arguments)
        if not begun:
            feeds["readings"].fresh()
            types = {"readings": feeds["readings"].types}
            begun.append(layout.create_checkpoint(query.structure(), types, {}))
        return opened(*arguments)

    monkeypatch.setattr(opening, "open_feeds", begin_meanwhile)
    run(query, tmp_path / "wh")
    assert layout.manifest() == begun[0]


def test_two_writers_are_one_too_many(tmp_path):
    write_files(TUPLES, tmp_path / "in", BOUNDS)
    query, layout = make_query(tmp_path / "in", SETTINGS), Layout.for_query(tmp_path / "wh", "readings")
    with layout.lock("stream"), pytest.raises(Busy, match="another process runs this query's driver"):
        run(query, tmp_path / "wh")
    run(query, tmp_path / "wh")
    with layout.lock("correction"), pytest.raises(Busy, match="another process corrects this query"):
        correct_here(query, tmp_path / "wh")


def test_a_batch_that_does_not_balance_is_not_written(tmp_path, monkeypatch):
    write_files(TUPLES, tmp_path / "in", BOUNDS)
    execute = LocalExecutor.run

    def lose_one(self, *batch):
        rows = execute(self, *batch)
        metrics = rows["metrics"].to_pandas()
        metrics.loc[0, "rows"] -= 1
        return rows | {"metrics": pa.Table.from_pandas(metrics, rows["metrics"].schema, preserve_index=False)}

    monkeypatch.setattr(LocalExecutor, "run", lose_one)
    with pytest.raises(RuntimeError, match="does not balance"):
        run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh")
    assert not rows_of(tmp_path / "wh")["results"]


def test_poisoned_records_are_quarantined_and_the_rest_answered(tmp_path):
    poison = [
        TUPLES[10]._replace(event_time=None, id="p0"),
        TUPLES[10]._replace(event_time=TUPLES[10].arrival_time + 86_400_001, id="p1"),
        TUPLES[10]._replace(arrival_time=None, id="p2"),
        TUPLES[10]._replace(value=float("nan"), id="p3"),
        TUPLES[10]._replace(value=float("inf"), id="p4"),
        TUPLES[10]._replace(event_time=0, id="p5"),
    ]
    with_poison = [*TUPLES[:100], *poison, *TUPLES[100:]]
    write_files(with_poison, tmp_path / "in", even(len(with_poison), 3))
    run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh")
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS))
    quarantine = tables_of(tmp_path / "wh").read("quarantine").to_pylist()
    assert {json.loads(row["record"])["id"] for row in quarantine} == {f"p{i}" for i in range(6)}
    assert len({row["reason"] for row in quarantine}) == 6
    read = rows_of(tmp_path / "wh", "segments")["segments"]
    assert sum(row["rows"] for row in read) == len(with_poison) == len(TUPLES) + len(quarantine)


def test_a_place_that_is_not_fit_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_REPORTS", raising=False)
    write_files(TUPLES, tmp_path / "in", BOUNDS)
    answers = AnswersSection(postgres=PostgresTable(connection="reports", table="sums"))
    query = make_query(tmp_path / "in", SETTINGS).model_copy(update={"answers": answers})
    with pytest.raises(Refused, match="AIRFLOW_CONN_REPORTS"):
        run(query, tmp_path / "wh")
    assert not (tmp_path / "wh").exists()
