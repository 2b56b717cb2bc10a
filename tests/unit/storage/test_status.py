"""The status file of a driver: written by it, read by other processes."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

import pytest

from tailrace.storage.layout import Layout
from tailrace.storage.status import OVER, SILENT_MS, State, Status, wall_ms

STATUS = Status("waiting", 77, 1_000, 9_000, 12, 8_000, 5, 7_000, 6_000, 6_500, 500, 0.75, 100, 3, 40)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "query")
    layout.stream.mkdir(parents=True)
    return layout


def test_a_written_status_is_read_back(layout: Layout) -> None:
    STATUS.write(layout)
    assert Status.read(layout) == STATUS
    first = Status("starting", 1, 2, 3, 0)  # the optional fields are still unknown
    first.write(layout)
    assert Status.read(layout) == first


def test_without_a_status_file_there_is_no_status(layout: Layout) -> None:
    assert Status.read(layout) is None
    assert Status.read(Layout(layout.home / "never ran")) is None


def test_writing_a_status_is_atomic(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    STATUS.write(layout)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for owner, name in ((os, "fsync"), (Path, "rename")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupt)
            with pytest.raises(KeyboardInterrupt):
                dataclasses.replace(STATUS, batches=13).write(layout)
        assert Status.read(layout) == STATUS


def test_the_wall_clock_is_in_ms_since_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_577_836_800_123_999_999)
    assert wall_ms() == 1_577_836_800_123


@pytest.mark.parametrize(
    ("state", "silent_ms", "unread"),
    [
        ("starting", 0, None),
        *((state, 0, 5) for state in ("streaming", "waiting", "quiet", "held")),
        ("streaming", SILENT_MS - 1, 5),
        ("streaming", SILENT_MS, None),
        *((state, 0, None) for state in OVER),
    ],
)
def test_what_is_unread_is_known_while_a_driver_reads(state: State, silent_ms: int, unread: int | None) -> None:
    status = Status(state, 1, 0, 9_000, 3, rows_left=5)
    assert status.unread_rows(9_000 + silent_ms) == unread


@pytest.mark.parametrize(
    ("problem", "hides"),
    [
        (None, False),
        ("postgres: no answer\n  source: as it says", False),
        ("awaited source: no file yet", False),
        ("source: no column 'key'", True),
        ("postgres: no answer\ndisk or network: away", True),
    ],
)
def test_a_source_that_can_not_be_read_may_have_rows_that_nobody_knows_of(problem: str | None, hides: bool) -> None:
    status = Status("waiting", 1, 0, 9_000, 3, rows_left=5, problem=problem)
    assert status.hides_rows == hides
    assert status.unread_rows(9_000) == (None if hides else 5)


@pytest.mark.parametrize(
    ("away", "after_ms", "lines"),
    [
        ({}, 0, []),
        ({"postgres": 8_000}, 1_000, ["postgres: no answer"]),
        ({"postgres": 8_000}, 1_001, []),
        ({"postgres": 8_000, "buffer of kafka": 9_000}, 0, ["postgres: no answer", "buffer of kafka: full"]),
        ({"current": 8_000}, 0, []),
    ],
)
def test_a_place_has_a_problem_once_it_is_away_for_a_while(
    away: dict[str, int], after_ms: int, lines: list[str]
) -> None:
    problem = "postgres: no answer\n  source: as it says\nbuffer of kafka: full\nstream: the disk is full"
    status = Status("held", 1, 0, 9_000, 3, problem=problem, away=away)
    assert status.away_problems(after_ms) == lines
