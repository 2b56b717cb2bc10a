"""A segment becomes messages: each task its partials, all of them the statistics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.parts.source_mappings import with_uses
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.compiled_query import CompiledQuery, column_types_of
from tailrace.engine.messages import messages_of
from tailrace.engine.next_facts import DECLARED
from tailrace.engine.pipeline import Pipeline
from tailrace.ground.facts import stamp
from tailrace.kind.inputs import ColumnTypes
from tailrace.partition.by_key import task_of
from tailrace.query.declared import declared_query
from tailrace.query.loading import load
from tailrace.query.query import Query
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.segments import Segment

NOW = 1_577_836_800_000
RANGES = {"min_event": NOW, "max_event": NOW + 35, "min_id": 0, "max_id": 7, "distinct_ids": True}
PLAIN, SAMPLED = (
    BatchHeader(0, stamp((), "settings", settings, 0, DECLARED))
    for settings in ({"policy": "none"}, {"policy": "quantile", "error": 0.05, "risk": 0.05})
)
KEYS = ["a", "b", "c", "d", "a", "b", "c", "a"]


def declared(
    path: Path, format_name: str = "parquet", arrival: str | None = "came", key: str | None = "sensor"
) -> Query:
    stream = {"source": {"format": format_name, "path": str(path)}, "event_time": "event", "id": "name"}
    stream |= {"arrival_time": arrival} if arrival else {}
    stream |= {"key": key} if key else {}
    fields = {"name": "q", "kind": "aggregate", "streams": {"readings": stream}, "parallelism": 3}
    fields |= {"window": {"size": "1 s", "slide": "500 ms"}, "disorder": {"policy": "none", "tick": "10 ms"}}
    return declared_query(fields | {"aggregate": {"function": "sum", "column": "speed"}})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Eight tuples, 5 ms apart; the one in row 3 (the only one of key d) has no value."""
    speed = pa.array([1.0, 2.0, 4.0, float("nan"), 16.0, 32.0, 64.0, 128.0])
    came = pa.array([NOW + 5 * i for i in range(8)])
    table = {"event": came, "came": came, "name": list(range(8)), "sensor": KEYS, "speed": speed}
    pq.write_table(pa.table(table), tmp_path / "part.parquet")
    return tmp_path / "part.parquet"


def pipeline_of(query: Query, history: Path = Path("history")) -> Pipeline:
    source = query.stream[1].source
    types = FORMATS[source.file_format].types(source.path, CompiledQuery.declare(query).sources["readings"])
    assert types is not None
    return CompiledQuery.declare(query).bind({"readings": types}).pipeline({"readings": history})


def segment(path: Path, ordinal: int = 4, ingested_ms: int | None = None) -> Segment:
    (whole,) = FORMATS["parquet" if path.suffix == ".parquet" else "json"].split(path)
    return replace(whole, ordinal=ordinal, position=100, ingested_ms=ingested_ms, stream="readings")


def test_what_the_stream_must_bring() -> None:
    columns = CompiledQuery.declare(declared(Path("x"))).sources["readings"]
    assert (columns.named(), columns.earliest_ms, columns.ahead_ms, columns.skew_ms) == (
        {"event_time": "event", "arrival_time": "came", "id": "name", "key": "sensor", "value": "speed"},
        946_684_800_000,
        3_600_000,
        60_000,
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [("string", pa.string()), ("large_string", pa.string()), ("int64", pa.int64()), ("uint8", pa.int64())],
)
def test_keys_are_text_or_int64(found: str, expected: pa.DataType) -> None:
    columns = CompiledQuery.declare(declared(Path("x"))).sources["readings"]
    assert column_types_of(columns, {"sensor": found, "name": "string"}).key == expected


def test_without_a_key_column_it_is_text() -> None:
    columns = CompiledQuery.declare(declared(Path("x"), key=None)).sources["readings"]
    assert column_types_of(columns, {"name": "int64"}) == ColumnTypes(pa.string(), pa.int64())


def test_carried_columns_have_the_types_of_the_source() -> None:
    columns = with_uses(
        CompiledQuery.declare(declared(Path("x"))).sources["readings"], carried={"left_a": "a", "left_b": "b"}
    )
    types = {"sensor": "string", "name": "string", "a": "uint8", "b": "timestamp[ns, tz=Asia/Tokyo]"}
    carried = {"left_a": pa.int16(), "left_b": pa.timestamp("us", "UTC")}
    assert column_types_of(columns, types) == ColumnTypes(carried=carried)


def test_every_partial_goes_to_the_task_of_its_key_and_to_no_other(path: Path) -> None:
    rows = pipeline_of(declared(path)).prepare(segment(path), PLAIN).rows
    assert len(rows) == 3
    totals: dict[str, float] = {}
    for task, batch in enumerate(rows):
        for row in batch.to_pylist():
            assert task_of(pa.array([row["key"]]), 3).tolist() == [task]
            totals[row["key"]] = totals.get(row["key"], 0) + row["value:total"]
    assert totals == {"a": 1 + 16 + 128, "b": 2 + 32, "c": 4 + 64}


def test_no_task_is_sent_the_keys_of_another(path: Path) -> None:
    rows = pipeline_of(declared(path)).prepare(segment(path), PLAIN).rows
    keys = [key for batch in rows for key in batch.column("key").dictionary.to_pylist()]
    assert sorted(keys) == ["a", "b", "c"]


# arrival  0   5 | 10  (15) | 20  25 | 30  35      10 ms a tick; what came at 15 is in quarantine
def test_the_statistics_are_of_all_keys(path: Path) -> None:
    statistics = pipeline_of(declared(path)).prepare(segment(path), PLAIN).statistics
    assert statistics["ticks"].column("count").to_pylist() == [2, 1, 2, 2]
    assert statistics["ticks"].column("min_event").to_pylist() == [NOW, NOW + 10, NOW + 20, NOW + 30]
    assert statistics["counts"].to_pylist() == [
        {"tick": NOW // 10 + tick, "pane": NOW, "count": count} for tick, count in enumerate([2, 1, 2, 2])
    ]


def test_the_record_says_how_many_were_accepted_and_where_the_segment_stands(path: Path) -> None:
    place = segment(path)
    record = pipeline_of(declared(path)).prepare(place, PLAIN).record
    counts = {"accepted": 7, "quarantined": 1, "filtered": 0, "unmatched": 0}
    assert record == place.to_json() | counts | {"floored": None} | RANGES


def test_there_is_a_sample_where_one_is_wanted(path: Path) -> None:
    pipeline = pipeline_of(declared(path))
    plain, sampled = (pipeline.prepare(segment(path), header).statistics["sample"] for header in (PLAIN, SAMPLED))
    assert plain.num_rows == 0
    assert sum(sampled.column("tuples").to_pylist()) == 7
    assert sum(sampled.column("value:total").to_pylist()) == 247


def test_tuples_know_their_position_in_the_log_and_their_tick(path: Path) -> None:
    tuples = pipeline_of(declared(path)).readers[0].read(segment(path)).tuples
    assert tuples.column("position").to_pylist() == [100, 101, 102, 104, 105, 106, 107]
    assert (np.asarray(tuples.column("tick")) - NOW // 10).tolist() == [0, 0, 1, 2, 2, 3, 3]
    assert (np.asarray(tuples.column("end")) - NOW).tolist() == [10, 10, 20, 30, 30, 40, 40]


def test_rejects_go_to_quarantine_with_place_reason_and_record(path: Path) -> None:
    (row,) = pipeline_of(declared(path)).prepare(segment(path), PLAIN).tables["quarantine"].to_pylist()
    assert (row["stream"], row["position"], row["reason"]) == ("readings", f"{path}#3", "speed is NaN")
    assert json.loads(row["record"])["sensor"] == "d"


def test_broken_records_and_rejects_together_in_order(tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    good = json.dumps({"event": NOW, "name": "x", "sensor": "a", "speed": 1})
    late = json.dumps({"event": 5, "name": "x", "sensor": "a", "speed": 1})
    path.write_text("\n".join([good, "bad", late, good, "[]"]) + "\n")
    pipeline = pipeline_of(declared(path, "json", arrival=None))
    content = pipeline.readers[0].read(segment(path, ingested_ms=NOW))
    rows = content.quarantine.to_pylist()
    assert [(row["position"], row["record"]) for row in rows] == [
        (f"{path}#{i}", t) for i, t in ((1, "bad"), (2, late), (4, "[]"))
    ]
    assert {row["arrival_time"] for row in rows} == {NOW}
    assert content.tuples.column("position").to_pylist() == [100, 103]


def test_a_broken_record_has_no_arrival_time_where_records_bring_it(tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    good = {"event": NOW, "came": NOW, "name": "x", "sensor": "a", "speed": 1}
    path.write_text(f"{json.dumps(good)}\nbad\n")
    pipeline = pipeline_of(declared(path, "json"))
    (row,) = pipeline.readers[0].read(segment(path, ingested_ms=NOW)).quarantine.to_pylist()
    assert (row["record"], row["arrival_time"]) == ("bad", None)


def test_nothing_wrong_no_quarantine(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(4), path)
    assert not pipeline_of(declared(path)).prepare(segment(path), PLAIN).tables


def test_a_parquet_log_with_arrival_times_is_its_own_history(path: Path, tmp_path: Path) -> None:
    pipeline = pipeline_of(declared(path), tmp_path / "history")
    assert pipeline.readers[0].history is None
    assert "history" not in pipeline.prepare(segment(path), PLAIN).tables


def test_another_source_is_kept_in_history(path: Path, tmp_path: Path) -> None:
    pipeline = pipeline_of(declared(path, arrival=None), tmp_path / "history")
    (file,) = pipeline.prepare(segment(path, ingested_ms=NOW), PLAIN).tables["history"].to_pylist()
    assert file["rows"] == 7
    assert pq.ParquetFile(tmp_path / "history" / file["path"]).metadata.num_rows == 7


def test_all_in_quarantine_leaves_a_segment_without_partials(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(3, 1), path)
    prepared = pipeline_of(declared(path)).prepare(segment(path), PLAIN)
    assert [rows.num_rows for rows in prepared.rows] == [0, 0, 0]
    assert {name: batch.num_rows for name, batch in prepared.statistics.items()} == dict.fromkeys(
        ("ticks", "counts", "sample", "ids"), 0
    )
    assert (prepared.record["accepted"], prepared.record["quarantined"]) == (0, 1)
    assert {name: prepared.record[name] for name in RANGES} == dict.fromkeys(RANGES) | {"distinct_ids": True}


def test_ids_go_to_the_clock_only_if_repeats_are_to_be_dropped(tmp_path: Path) -> None:
    rows = 50_000
    times, names = pa.array([NOW] * rows), [f"name {i}" for i in range(rows)]
    table = {"event": times, "came": times, "name": names, "sensor": ["a"] * rows, "speed": [1.0] * rows}
    pq.write_table(pa.table(table), tmp_path / "part.parquet")
    for deduplicates, sent in ((False, 0), (True, rows)):
        pipeline = replace(pipeline_of(declared(tmp_path / "part.parquet")), deduplicates=deduplicates)
        prepared = pipeline.prepare(segment(tmp_path / "part.parquet"), PLAIN)
        assert prepared.statistics["ids"].num_rows == sent
        sizes = [len(data) for _, (_, data) in messages_of(prepared, 3)]
        assert deduplicates or max(sizes) < rows, "less than a byte a tuple: there is one key, pane and tick"


def test_reading_a_segment_twice_gives_the_same_bytes(path: Path) -> None:
    pipeline = pipeline_of(declared(path))
    first, second = (list(messages_of(pipeline.prepare(segment(path), PLAIN), 3)) for _ in range(2))
    assert first == second


def test_the_stage_of_the_declared_sample() -> None:
    sample = Path(__file__).parents[3] / "include" / "queries" / "flights.yaml"
    types = {"departures": {"carrier": "string", "flight": "string"}}
    pipeline = CompiledQuery.declare(load(sample)).bind(types).pipeline({"departures": Path("history")})
    (reader,) = pipeline.readers
    assert (reader.name, pipeline.tick_ms, pipeline.tasks, reader.history) == ("departures", 60_000, 2, None)
