"""Times without a zone: taken as the first record has them, or as is declared, and asked for beside others with one."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Unfit
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.sources.local_times import are_shown_again, localised
from tailrace.sources.time_zones import has_zone
from tailrace.storage.manifest import CheckpointManifest
from tailrace.stream import local_stream as app
from tailrace.stream import rebuild
from tailrace.stream.run_options import RunOptions
from tailrace.stream.source_sample import sample_sources

NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z
HOUR = 3_600_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Pacific/Apia",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Africa/Casablanca",
]


def query_of(path: Path, file_format: str = "json", timezone: str | None = None, arrival: bool = False) -> Query:
    stream = {"source": {"format": file_format, "path": str(path)}, "event_time": "at", "id": "id"}
    stream |= {"arrival_time": "came"} if arrival else {}
    stream |= {} if timezone is None else {"timezone": timezone}
    shared = {"name": "q", "kind": "aggregate", "window": {"size": "1 s"}, "aggregate": {"function": "count"}}
    return declared_query(shared | {"streams": {"s": stream}})


def read(query: Query) -> tuple[list[int], list[str]]:
    """The event times of accepted tuples, and the reasons against the others."""
    samples = sample_sources(query)
    (reader,) = CompiledQuery.declare(query).bind({name: sample.types for name, sample in samples.items()}).readers()
    content = reader.read(replace(samples["s"].segments[0], ingested_ms=NOON + 400 * 24 * HOUR))
    return content.tuples["event_time"].to_pylist(), content.quarantine["reason"].to_pylist()


def write(path: Path, file_format: str, *times: str) -> Path:
    path.mkdir()
    if file_format == "csv":
        lines = ["at,id", *(f"{time},{number}" for number, time in enumerate(times))]
    else:
        lines = [json.dumps({"at": time, "id": str(number)}) for number, time in enumerate(times)]
    (path / f"a.{file_format}").write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2026-01-01T12:00:00Z", True),
        ("2026-01-01 12:00:00.123+08:00", True),
        ("2026-01-01T12-0530", True),
        ("2026-01-01T12:00:00", False),
        ("2026-01-01", False),
        ("20260101T120000z", True),
        (None, False),
    ],
)
def test_a_text_states_its_zone_by_an_offset_or_a_z(text: str | None, zone: bool) -> None:
    assert has_zone(pa.array([text, "2026-01-01"], pa.string())).tolist() == [zone, False]
    assert has_zone(pa.array([text], pa.string())).tolist() == [zone]


@pytest.mark.parametrize("file_format", ["json", "csv"])
def test_the_first_record_decides_whether_times_state_their_zone(tmp_path: Path, file_format: str) -> None:
    mixed = "2026-01-01T12:00:00Z", "2026-01-01T20:00:00", "2026-01-01T20:00:00+08:00"
    times, (reason,) = read(query_of(write(tmp_path / "zoned", file_format, *mixed), file_format))
    assert times == [NOON, NOON]
    assert reason == "at has no zone, and the first record has one: timezone says what times without one mean"
    times, (reason,) = read(
        query_of(write(tmp_path / "local", file_format, "2026-01-01T12:00:00", mixed[0]), file_format)
    )
    assert times == [NOON]
    assert reason.startswith("at has a zone, and the first record has none")


@pytest.mark.parametrize("file_format", ["json", "csv"])
def test_with_a_timezone_times_without_a_zone_are_local_there(tmp_path: Path, file_format: str) -> None:
    path = write(tmp_path / "in", file_format, "2026-01-01T20:00:00", "2026-01-01T12:00:00Z", "2026-01-01T20:00:00")
    assert read(query_of(path, file_format, "Asia/Shanghai")) == ([NOON] * 3, [])


def test_with_a_timezone_timestamps_without_a_zone_are_local_there(tmp_path: Path) -> None:
    for name, kind in (("local", pa.timestamp("ms")), ("zoned", pa.timestamp("ms", "UTC"))):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"at": pa.array([NOON], kind), "id": ["a"]}), tmp_path / name / "a.parquet")
    assert read(query_of(tmp_path / "local", "parquet", "Asia/Shanghai")) == ([NOON - 8 * HOUR], [])
    assert read(query_of(tmp_path / "zoned", "parquet", "Asia/Shanghai")) == ([NOON], [])
    assert read(query_of(tmp_path / "local", "parquet")) == ([NOON], [])


def test_a_local_time_that_never_was_is_rejected_and_one_that_was_twice_is_the_first(tmp_path: Path) -> None:
    path = write(tmp_path / "in", "json", "2026-03-29T02:30:00", "2026-10-25T02:30:00", "2026-10-25T03:30:00")
    times, (reason,) = read(query_of(path, timezone="Europe/Berlin").model_copy())
    assert reason == "at is no time in Europe/Berlin: clocks went forward then"
    assert np.diff(times).tolist() == [2 * HOUR]


def test_instants_of_the_first_of_two_hours_are_shown_again() -> None:
    first = 1_792_886_400_000  # 2026-10-25 02:00 in Berlin, for the first time
    times = np.array([first - 1, first, first + HOUR - 1, first + HOUR, first + 2 * HOUR, NOON, first])
    assert are_shown_again(times, "Europe/Berlin").tolist() == [False, True, True, False, False, False, True]
    assert not are_shown_again(times, "UTC").any()
    assert not are_shown_again(times[:0], "Europe/Berlin").any()


@pytest.mark.parametrize(("timezone", "is_read"), [(None, True), ("Asia/Shanghai", False)])
def test_a_rebuild_under_another_timezone_reads_no_history(tmp_path: Path, timezone: str | None, is_read: bool) -> None:
    before = query_of(tmp_path)
    manifest = CheckpointManifest.new(before.structure(), {}, {}, {"s": {"event_time": "at"}})
    columns = rebuild._history_columns(query_of(tmp_path, timezone=timezone), manifest)
    assert (columns == {"s": {"event_time": "at"}}) is is_read


def test_times_beyond_the_calendar_are_no_fault_of_a_time_zone() -> None:
    times, gap = localised(np.array([-(10**15), 0, 10**15]), "Asia/Shanghai")
    assert (times.tolist()[1], gap.any()) == (-8 * HOUR, False)


def alone(local_ms: int, zone: ZoneInfo) -> tuple[int, bool]:
    """Localise one time by the standard library; clocks skipped a time that comes back as another."""
    local = datetime(1970, 1, 1) + timedelta(milliseconds=local_ms)
    instant = local.replace(tzinfo=zone).astimezone(UTC)
    is_gap = instant.astimezone(zone).replace(tzinfo=None) != local
    return (local_ms if is_gap else (instant - EPOCH) // timedelta(milliseconds=1)), is_gap


_CHANGES = (
    "2011-12-30",
    "2026-03-29",
    "2026-10-25",
    "2026-04-05",
    "2026-10-04",
    "2050-03-27",
    "1945-05-24",
    "1901-01-01",
)
_NEAR = st.tuples(st.sampled_from(_CHANGES).map(date.fromisoformat), st.integers(-2 * 24 * HOUR, 3 * 24 * HOUR))
_LOCAL_MS = _NEAR.map(lambda at: (at[0] - date(1970, 1, 1)).days * 24 * HOUR + at[1])


@given(st.sampled_from(ZONES), st.lists(_LOCAL_MS | st.integers(-2_200_000_000_000, 7_200_000_000_000), max_size=8))
def test_each_time_is_localised_as_if_it_were_alone(timezone: str, times: list[int]) -> None:
    utc, gap = localised(np.array(times, np.int64), timezone)
    assert [*zip(utc.tolist(), gap.tolist(), strict=True)] == [alone(time, ZoneInfo(timezone)) for time in times]


@pytest.mark.parametrize(("local", "zoned"), [("at", "came"), ("came", "at")])
@pytest.mark.parametrize("file_format", ["json", "parquet"])
def test_times_without_a_zone_beside_others_with_one_are_asked_for(
    tmp_path: Path, local: str, zoned: str, file_format: str
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    if file_format == "json":
        record = {local: "2026-01-01T12:00:00", zoned: "2026-01-01T12:00:00Z", "id": "a"}
        (source / "a.json").write_text(json.dumps(record) + "\n")
    else:
        columns = {local: pa.array([NOON], pa.timestamp("us")), zoned: pa.array([NOON], pa.timestamp("us", "UTC"))}
        pq.write_table(pa.table(columns | {"id": ["a"]}), source / "a.parquet")
    query = query_of(source, file_format, arrival=True)
    with pytest.raises(Unfit, match=rf"column {local}: its times have no zone, and those of s.{zoned} have one"):
        app.run(query, tmp_path / "wh", RunOptions())
    assert not (tmp_path / "wh" / "q" / "_stream" / "manifest.json").exists()
    assert sample_sources(query_of(source, file_format, "UTC", arrival=True))
