"""The panel `late`, held against plain Python over the tables' rows and the tuples that were written."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kit.draws.join_queries import CONTENT
from kit.draws.join_queries import query_over as join_over
from kit.runs.panel_stream import BATCH_ROWS, FILES, TICK, TUPLES, PanelStream, query_over, run_stream
from kit.runs.table_runs import COUNT, make_query, write_stream, write_table
from kit.runs.warehouse import EPOCH, even, make_stream, write_files
from tailrace.panels import late, source_progress, stream_progress
from tailrace.panels.arrival_range import NOTHING_YET, ArrivalRequest
from tailrace.panels.late import NEVER_LATE, LateAnswer
from tailrace.panels.query_view import QueryView
from tailrace.panels.read_segments import ReadSegments, late_by_segment
from tailrace.panels.source_progress import partitions_of
from tailrace.panels.stream_progress import StreamProgress
from tailrace.storage.layout import Layout


@pytest.fixture(scope="module")
def stream(tmp_path_factory) -> PanelStream:
    return run_stream(tmp_path_factory.mktemp("late"), {"policy": "k_slack", "k": "300 ms"})


@pytest.fixture(scope="module")
def answer(stream) -> LateAnswer:
    return late.read(stream.view, ArrivalRequest())


def _one_by_batch(stream: PanelStream) -> list[dict[str, Any]]:
    return sorted((row for row in stream.rows("metrics") if row["task"] == 0), key=lambda row: row["batch"])


def test_late_tuples_are_counted_over_tasks_and_by_batch(stream, answer):
    counts: dict[int, int] = defaultdict(int)
    for row in stream.rows("metrics"):
        counts[row["committed"]] += row["late"]
    assert dict(zip(answer.series.at, answer.series.late, strict=True)) == counts
    assert answer.late_rows == sum(counts.values()) == sum(row["tuples"] for row in stream.rows("late")) > 50


def test_waiting_are_the_rows_of_ticks_that_are_not_complete(stream, answer):
    plain = []
    for row in _one_by_batch(stream):
        read = stream.tuples[: (row["batch"] + 1) * BATCH_ROWS]
        plain.append(sum(t.arrival_time // TICK > row["complete_tick"] for t in read))
    assert answer.series.waiting == plain
    assert answer.waiting_rows == plain[-1] > 0
    assert f"{plain[-1]} row" in answer.holding


def test_a_range_has_its_batches_and_the_rows_that_waited_then(stream, answer):
    at = answer.series.at
    part = late.read(stream.view, ArrivalRequest(from_=at[2], to=at[5]))
    assert part.series.at == at[3:6]
    assert part.series.waiting == answer.series.waiting[3:6]
    assert part.late_rows == sum(answer.series.late[3:6])
    assert part.waiting_rows == answer.waiting_rows
    assert {Path(file.path).name for file in part.files} == {"part-00001.parquet", "part-00002.parquet"}


def test_uncorrected_are_the_late_tuples_that_no_run_of_the_ledger_covers(stream, answer):
    runs = [(row["arrived_from"] or 0, row["arrived_to"]) for row in stream.rows("correction_runs")]
    plain = [row for row in stream.rows("late") if not any(low < row["arrived"] <= high for low, high in runs)]
    assert answer.uncorrected_rows == sum(row["tuples"] for row in plain) > 0
    assert answer.uncorrected_rows < answer.late_rows


def _file_of(place: int) -> int:
    return place * FILES // TUPLES


def test_late_tuples_are_those_of_the_file_that_alone_has_their_tick(stream, answer):
    files_of_tick = defaultdict(set)
    for place, one in enumerate(stream.tuples):
        files_of_tick[one.arrival_time // TICK].add(_file_of(place))
    counts, unknown = Counter(), 0
    for row in stream.rows("late"):
        files = files_of_tick[row["tick"]]
        if len(files) == 1:
            counts[min(files)] += row["tuples"]
        else:
            unknown += row["tuples"]
    assert {int(Path(file.path).stem[-5:]): file.late for file in answer.files} == counts
    assert (answer.note is None) == (unknown == 0)
    assert sum(counts.values()) + unknown == answer.late_rows


def test_files_come_newest_first_with_the_arrival_times_that_they_brought(stream, answer):
    assert [Path(file.path).name for file in answer.files] == [f"part-{n:05d}.parquet" for n in reversed(range(FILES))]
    for number, file in zip(reversed(range(FILES)), answer.files, strict=True):
        arrivals = [t.arrival_time for place, t in enumerate(stream.tuples) if _file_of(place) == number]
        assert file.rows == len(arrivals)
        assert file.last == max(arrivals) // TICK * TICK
        assert file.after is None if number == 0 else file.after <= min(arrivals) < file.after + 10 * TICK


def test_a_source_without_partitions_is_one(stream, answer):
    (whole,) = answer.partitions
    assert (whole.stream, whole.partition, whole.rows, whole.is_idle) == ("readings", "", TUPLES, False)
    assert whole.late == answer.late_rows
    assert whole.passed == max(t.arrival_time for t in stream.tuples) // TICK * TICK


def test_late_tuples_of_a_tick_of_two_files_are_of_neither():
    paths = pa.array(["a", "a", "b"])
    ends = np.array([[0, 100, 200], [100, 200, 300]])
    segments = ReadSegments(paths, np.arange(3), np.ones(3, int), np.ones(3, int), *ends, None)
    arrived, tuples = np.array([50, 100, 150, 200, 250, 999]), np.array([1, 2, 4, 8, 16, 32])
    counts, unknown = late_by_segment(segments, segments.file, arrived, tuples)
    assert (counts.tolist(), unknown) == ([1 + 2, 4, 16], 8 + 32)
    counts, unknown = late_by_segment(segments, segments.directories[1], arrived, tuples)
    assert (counts.tolist(), unknown) == ([1 + 2, 4 + 8, 16], 32), "the files are of one directory"


def test_a_batch_that_took_in_more_than_the_range_has_all_its_late_rows(tmp_path):
    tuples = make_stream(400, 3)
    write_files(tuples, tmp_path / "in", even(400, 2))
    backlog = PanelStream(query_over(tmp_path, {"policy": "k_slack", "k": "100 ms"}), tmp_path / "wh", tuples)
    backlog.driver.run()
    (whole,) = {row["committed"] for row in backlog.rows("metrics")}
    answer = late.read(backlog.view, ArrivalRequest(from_=whole - 1_000))
    assert answer.late_rows == sum(row["tuples"] for row in backlog.rows("late")) > 20
    assert sum(one.late for one in answer.partitions) == answer.late_rows


def test_directories_by_time_are_partitions(tmp_path):
    tuples = make_stream(300, 3)
    for number in range(3):
        write_files(tuples[number * 100 :][:100], tmp_path / "in" / f"day={number}", [0, 100])
    parted = PanelStream(query_over(tmp_path, {"policy": "none"}), tmp_path / "wh", tuples)
    parted.driver.run(50)
    answer = late.read(parted.view, ArrivalRequest())
    assert [(one.partition, one.rows) for one in answer.partitions] == [(f"day={n}", 100) for n in (2, 1, 0)]
    assert sum(one.late for one in answer.partitions) <= answer.late_rows
    passed = [one.passed for one in answer.partitions]
    assert passed == sorted(passed, reverse=True)
    assert passed[-1] == max(t.arrival_time for t in tuples[:100]) // TICK * TICK


def _join(directory: Path, left: range, right: range) -> PanelStream:
    """A join of two streams with a tuple every 100 ms, each in its own range of these."""
    for side, numbers in (("left", left), ("right", right)):
        (directory / side).mkdir()
        rows = [
            {"event_time": EPOCH + 100 * n, "arrival_time": EPOCH + 100 * n, "id": f"{side}{n}"}
            | {"value": CONTENT["spatial_join"]["a"]}
            for n in numbers
        ]
        (directory / side / "part-0.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    joined = PanelStream(join_over(directory, "spatial_join", 1), directory / "wh", [])
    joined.driver.run()
    return joined


def test_the_stream_that_is_behind_holds_the_other_one(tmp_path):
    answer = late.read(_join(tmp_path, range(50), range(20)).view, ArrivalRequest())
    assert answer.holding.startswith("the ticks wait for stream right: it has reached arrival ")
    assert "3 s behind stream left" in answer.holding
    assert {one.stream: one.is_holding for one in answer.partitions} == {"left": False, "right": True}
    assert answer.waiting_rows == 50 - 19 + 1  # of the right stream's newest tick, too


def test_a_join_with_a_table_has_no_late_rows_and_none_that_wait(tmp_path):
    write_stream(tmp_path / "in")
    write_table(tmp_path / "zones.geojson", 0)
    joined = PanelStream(make_query(tmp_path), tmp_path / "wh", [])
    joined.driver.run(BATCH_ROWS * 4)
    answer = late.read(joined.view, ArrivalRequest())
    assert (answer.note, answer.waiting_rows, answer.late_rows, answer.uncorrected_rows) == (NEVER_LATE, 0, 0, 0)
    assert set(answer.series.waiting) == {0}
    assert sum(file.rows for file in answer.files) == COUNT


def test_a_topic_has_its_partitions_with_the_records_of_the_range():
    paths = ["kafka:readings?0=0-5&1=0-7", "kafka:readings?0=5-9&1=7-7", "kafka:readings?0=9-9&1=7-10&2=0-0"]
    ends = np.array([[0, 100, 200], [100, 200, 300]])
    rows = np.array([12, 4, 3])
    segments = ReadSegments(pa.array(paths), np.arange(3), rows, rows, *ends, None)
    progress = StreamProgress("readings", segments, np.zeros(3, int), np.zeros(3, int), 290, False, False)
    source = {"format": "kafka", "servers": "localhost:9092", "topic": "readings"}
    query = query_over(Path(), {"policy": "none"}, source=source)
    found = partitions_of(progress, query, 10, (100, 300))
    assert [(one.partition, one.rows, one.passed) for one in found] == [("0", 4, 290), ("1", 3, 290), ("2", 0, 290)]
    assert {one.late for one in found} == {None}


def test_only_the_newest_partitions_and_files_are_shown(stream, monkeypatch):
    monkeypatch.setattr(source_progress, "MOST_FILES", 2)
    monkeypatch.setattr(late, "MOST_FILES", 2)
    names = [Path(file.path).name for file in late.read(stream.view, ArrivalRequest()).files]
    assert names == ["part-00005.parquet", "part-00004.parquet"]


def test_too_many_late_rows_are_not_counted_by_file(stream, monkeypatch):
    monkeypatch.setattr(stream_progress, "MOST_ROWS", 3)
    answer = late.read(stream.view, ArrivalRequest())
    assert {file.late for file in answer.files} == {None}
    assert "more than 3 rows of late tuples" in answer.note


def test_a_batch_that_is_being_written_does_not_count(tmp_path):
    tuples = make_stream(100, 1)
    write_files(tuples, tmp_path / "in", even(100, 2))
    ahead = PanelStream(query_over(tmp_path, {"policy": "none"}), tmp_path / "wh", tuples)
    ahead.driver.run(50)
    before = late.read(ahead.view, ArrivalRequest())
    tables = ahead.view.tables
    newest = tables.read("segments").sort_by("batch").slice(1)
    (row,) = newest.to_pylist()
    row |= {"batch": 2, "ordinal": 2, "position": 100, "path": "of the next batch"}
    tables.add("segments", pa.Table.from_pylist([row], newest.schema))
    assert late.read(ahead.view, ArrivalRequest()) == before


def test_a_damaged_journal_is_said_to_be_damaged(tmp_path):
    tuples = make_stream(20, 1)
    write_files(tuples, tmp_path / "in", [0, 20])
    damaged = PanelStream(query_over(tmp_path, {"policy": "none"}), tmp_path / "wh", tuples)
    damaged.driver.run()
    (entry,) = damaged.view.layout.journal.glob("*.json")
    entry.write_text("{")
    answer = late.read(damaged.view, ArrivalRequest())
    (named,) = answer.damaged
    assert "its newest entry is damaged" in named.fault
    assert named.fields == ["files", "holding", "partitions"]
    assert sum(answer.series.late) == answer.late_rows


def test_a_query_that_has_not_run_has_nothing_to_show(tmp_path):
    nothing = late.read(QueryView(Layout.for_query(tmp_path, "readings"), None), ArrivalRequest())
    assert nothing.model_dump(mode="json") == LateAnswer(note=NOTHING_YET).model_dump(mode="json")
    assert (nothing.holding, nothing.files, nothing.series.at) == (None, (), [])
