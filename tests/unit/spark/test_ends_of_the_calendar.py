"""The first and the last times that a calendar prints: what is accepted is answered, corrected and shown; nothing that
follows from it, as the end of a window or of a tick, lies beyond them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oracle import Settings, Tuple, batch, windows_of
from played import Played
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import read_quality
from tailrace.correction.requests import GapRule, request_correction
from tailrace.ground.duration import format_time
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.query.sections import Disorder
from tailrace.spark import correct as module
from tailrace.spark.correct import correct
from tailrace.storage.progress import Progress
from tailrace.storage.results import read_answers
from tailrace.terminal.answers import write_answers
from warehouse import make_query, write_files

DAY = 86_400_000
LAST_ARRIVAL = LATEST_MS - 365 * DAY  # 9998-12-31T23:59:59.999Z
SETTINGS = Settings(700, 300, 100, "sum", "none")
FARTHEST = {"earliest": "0001-01-01", "ahead": "36525 d"}


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    monkeypatch.setattr(module, "session", None)  # so little needs none


def play(directory: Path, tuples: list[Tuple], source: str, policy: dict) -> Played:
    if source == "parquet":
        write_files(tuples, directory / "in", [0, len(tuples) // 2, len(tuples)])
    else:  # which keeps nothing itself, so that there is a history
        (directory / "in").mkdir()
        (directory / "in" / "0.jsonl").write_text("\n".join(json.dumps(one._asdict()) for one in tuples))
    query = make_query(directory / "in", SETTINGS, source=source, bounds=FARTHEST)
    query = query.model_copy(update={"disorder": Disorder.model_validate(policy | {"tick": "100 ms"})})
    there = Played(query, directory / "wh")
    there.go()
    format_time(Progress.read(there.layout).frontier)  # K may be longer than all time there was
    there.go(flush=True)
    return there


def is_whole(item: Tuple) -> bool:
    """Whether its windows and its tick lie in the calendar."""
    windows = windows_of(item.event_time, SETTINGS.size, SETTINGS.slide)
    return windows[0][0] >= EARLIEST_MS and windows[-1][1] <= LATEST_MS and item.arrival_time <= LAST_ARRIVAL


@pytest.mark.parametrize("source", ["parquet", "json"])
@pytest.mark.parametrize("policy", [{"policy": "none"}, {"policy": "k_slack", "k": "36525 d"}])
def test_the_last_times(tmp_path, source, policy):
    """Tuples in every millisecond or so up to the end, and beyond it; the old ones are late."""
    times = [LATEST_MS + 500 - 37 * back for back in range(80)]
    arrived = [LAST_ARRIVAL - 5_000 + 70 * number for number in range(80)]
    tuples = [Tuple(t, a, f"t{t}", "k", 1.0) for t, a in zip(times, arrived, strict=True)]
    tuples += [Tuple(times[50], LAST_ARRIVAL + 1, "after", "k", 1.0), Tuple(times[50], LATEST_MS, "last", "k", 1.0)]
    assert_all_is_read(tmp_path, tuples, source, policy)


@pytest.mark.parametrize("source", ["parquet", "json"])
@pytest.mark.parametrize("policy", [{"policy": "none"}, {"policy": "k_slack", "k": "36525 d"}])
def test_the_first_times(tmp_path, source, policy):
    times = [EARLIEST_MS - 500 + 37 * after for after in range(80)]
    tuples = [Tuple(t, 70 * number, f"t{t}", "k", 1.0) for number, t in enumerate(reversed(times))]
    assert_all_is_read(tmp_path, tuples, source, policy)


def assert_all_is_read(directory: Path, tuples: list[Tuple], source: str, policy: dict) -> None:
    """The last ones that are accepted are among the answers, and every command reads and shows what there is."""
    there = play(directory, tuples, source, policy)
    accepted = [one for one in tuples if is_whole(one)]
    aside = there.tables.read("quarantine").to_pylist()
    assert 0 < len(aside) == len(tuples) - len(accepted)
    query, warehouse = there.query, directory / "wh"
    committed = Progress.read(there.layout)
    assert EARLIEST_MS <= committed.frontier <= LATEST_MS
    assert EARLIEST_MS <= committed.until <= LATEST_MS
    late = there.tables.read("late")
    request_correction(there.layout, GapRule(1, 100, 100), 0)
    if late.num_rows:
        correct(query, warehouse, CorrectionRange(0, committed.until, arrival=True))
    correct(query, warehouse)
    answers, columns = read_answers(query, warehouse, streamed=False)
    found = {(row["key"], row["window_start"], row["window_end"]): row["tuples"] for row in answers.to_pylist()}
    assert found == {window: true.tuples for window, true in batch(accepted, SETTINGS).items()}
    write_answers(answers, columns, "csv", directory / "answers.csv", 0)
    assert len((directory / "answers.csv").read_text().splitlines()) == 1 + len(found)
    quality, columns = read_quality(query, warehouse)
    assert sum(row["answers"] + row["missing"] for row in quality.to_pylist()) == len(found)
    write_answers(quality, columns, "csv", directory / "quality.csv", 0)
