"""Times at both ends of the calendar (years 1 and 9999): accepted tuples are answered, corrected and printed.

No derived time, such as the end of a window or of a tick, lies beyond the calendar.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.oracles.oracle import Settings, Tuple, batch, windows_of
from kit.runs.local_driver import Driver
from kit.runs.warehouse import make_query, write_files
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import read_quality
from tailrace.correction.requests import GapRule, request_correction
from tailrace.ground.duration import format_time
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.query.disorder_section import Disorder
from tailrace.spark import distributed_correction as module
from tailrace.spark.distributed_correction import correct
from tailrace.storage.progress import read_progress
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.terminal.answers import write_answers

pytestmark = pytest.mark.slow

DAY = 86_400_000
LAST_ARRIVAL = LATEST_MS - 365 * DAY  # 9998-12-31T23:59:59.999Z
SETTINGS = Settings(700, 300, 100, "sum", "none")
FARTHEST = {"earliest": "0001-01-01", "ahead": "36525 d"}


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    monkeypatch.setattr(module, "session", None)  # a correction this small needs no Spark


def run_stream(directory: Path, tuples: list[Tuple], source: str, policy: dict) -> Driver:
    if source == "parquet":
        write_files(tuples, directory / "in", [0, len(tuples) // 2, len(tuples)])
    else:  # a source that does not keep its rows: the stream writes a history
        (directory / "in").mkdir()
        (directory / "in" / "0.jsonl").write_text("\n".join(json.dumps(item._asdict()) for item in tuples))
    query = make_query(directory / "in", SETTINGS, source=source, bounds=FARTHEST)
    query = query.model_copy(update={"disorder": Disorder.model_validate(policy | {"tick": "100 ms"})})
    played = Driver(query, directory / "wh", now=LATEST_MS)  # no arrival may be later than this
    played.run()
    format_time(read_progress(Tables(played.layout)).frontier)  # K may be longer than the time since the year 1
    played.run(flush=True)
    return played


def is_whole(item: Tuple) -> bool:
    """True if all windows and the tick of a tuple lie in the calendar."""
    windows = windows_of(item.event_time, SETTINGS.size, SETTINGS.slide)
    return windows[0][0] >= EARLIEST_MS and windows[-1][1] <= LATEST_MS and item.arrival_time <= LAST_ARRIVAL


@pytest.mark.parametrize("source", ["parquet", "json"])
@pytest.mark.parametrize("policy", [{"policy": "none"}, {"policy": "k_slack", "k": "36525 d"}])
def test_event_times_at_the_end_of_the_calendar(tmp_path, source, policy):
    """Event times 37 ms apart, from beyond the end of the calendar backwards, so that the older ones are late."""
    times = [LATEST_MS + 500 - 37 * back for back in range(80)]
    arrivals = [LAST_ARRIVAL - 5_000 + 70 * number for number in range(80)]
    tuples = [Tuple(t, a, f"t{t}", "k", 1.0) for t, a in zip(times, arrivals, strict=True)]
    tuples += [Tuple(times[50], LAST_ARRIVAL + 1, "after", "k", 1.0), Tuple(times[50], LATEST_MS, "last", "k", 1.0)]
    assert_accepted_are_answered(tmp_path, tuples, source, policy)


@pytest.mark.needs("long")
@pytest.mark.parametrize("source", ["parquet", "json"])
@pytest.mark.parametrize("policy", [{"policy": "none"}, {"policy": "k_slack", "k": "36525 d"}])
def test_event_times_at_the_start_of_the_calendar(tmp_path, source, policy):
    times = [EARLIEST_MS - 500 + 37 * after for after in range(80)]
    tuples = [Tuple(t, 70 * number, f"t{t}", "k", 1.0) for number, t in enumerate(reversed(times))]
    assert_accepted_are_answered(tmp_path, tuples, source, policy)


def assert_accepted_are_answered(directory: Path, tuples: list[Tuple], source: str, policy: dict) -> None:
    """Assert that exactly the accepted tuples are answered, and that every command reads and writes these times."""
    played = run_stream(directory, tuples, source, policy)
    accepted = [item for item in tuples if is_whole(item)]
    rejects = played.tables.read("quarantine").to_pylist()
    assert 0 < len(rejects) == len(tuples) - len(accepted)
    query, warehouse = played.query, directory / "wh"
    progress = read_progress(Tables(played.layout))
    assert EARLIEST_MS <= progress.frontier <= LATEST_MS
    assert EARLIEST_MS <= progress.until <= LATEST_MS
    late = played.tables.read("late")
    request_correction(played.layout, GapRule(1, 100, 100), 0)
    if late.num_rows:
        correct(query, warehouse, CorrectionRange(0, progress.until, arrival=True))
    correct(query, warehouse)
    answers, columns = read_answers(query, warehouse, streamed=False)
    counts = {(row["key"], row["window_start"], row["window_end"]): row["tuples"] for row in answers.to_pylist()}
    assert counts == {window: true.tuples for window, true in batch(accepted, SETTINGS).items()}
    write_answers(answers, columns, "csv", directory / "answers.csv", 0)
    assert len((directory / "answers.csv").read_text().splitlines()) == 1 + len(counts)
    quality, columns = read_quality(query, warehouse)
    assert sum(row["answers"] + row["missing"] for row in quality.to_pylist()) == len(counts)
    write_answers(quality, columns, "csv", directory / "quality.csv", 0)
