"""Partitions of a source: a poll's cost follows what is new, and each file is read once, whenever it comes."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kit.runs.file_feeds import COLUMNS, GOOD, TYPES, write_json
from tailrace.ground.errors import SourceChanged
from tailrace.sources.discovery import closed_partitions, file_feed, new_files
from tailrace.sources.discovery.closed_partitions import oldest_open
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.discovery.source_directory import LocalDirectory
from tailrace.sources.reading_progress import ReadFile, read_files
from tailrace.sources.segments import Segment


@dataclass
class Record:
    """The record of a stream: the segments that are in entries of its journal."""

    segments: list[Segment] = field(default_factory=list)

    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments)

    def files(self, prefix: str) -> Iterable[ReadFile]:
        files = read_files(self.segments, {}).values()
        return [file for file in files if file.path.startswith(prefix) and "/" not in file.path.removeprefix(prefix)]


class Stream:
    """A live stream over a directory: it polls, commits some of what it got, and starts again."""

    def __init__(self, root: Path, pause_s: int = 1, at_once: int = 3) -> None:
        self.root, self.record, self.waiting = root, Record(), list[Segment]()
        self.clock, self.at_once = itertools.count(0, pause_s), at_once
        self.feed = self._open("")

    def _open(self, boundary: str) -> FileFeed:
        before = read_files(self.record.segments, {}).values()
        return FileFeed(
            self.root,
            "json",
            COLUMNS,
            TYPES,
            before,
            self.at_once,
            self.clock.__next__,
            record=self.record,
            boundary=boundary,
        )

    def poll(self, times: int = 1) -> list[str]:
        got = [segment for _ in range(times) for segment in self.feed.fresh()]
        self.waiting += got
        return [segment.path.removeprefix(f"{self.root}/") for segment in got]

    def commit(self, count: int | None = None) -> None:
        count = len(self.waiting) if count is None else count
        self.record.segments += self.waiting[:count]
        del self.waiting[:count]

    def restart(self) -> None:
        self.waiting = []
        newest = self.record.segments[-1].path.removeprefix(f"{self.root}/") if self.record.segments else ""
        self.feed = self._open(oldest_open(LocalDirectory(self.root), newest) if newest else "")


def add(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    write_json((root / path).parent, Path(path).name, GOOD)


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """A source with four days of a file each, of which the first two are closed once all are read."""
    for day in (1, 2, 3, 4):
        add(tmp_path, f"2026-11-{day:02}/a.json")
    return tmp_path


def listed_by(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories that a poll lists."""
    listed, entries = list[str](), LocalDirectory.entries
    monkeypatch.setattr(LocalDirectory, "entries", lambda self, path: listed.append(path) or entries(self, path))
    stream.poll()
    return listed


_FAR_S = 1 << 32  # a change time that no directory can have for long: it is listed at each poll
ALL = [f"2026-11-0{day}/a.json" for day in (1, 2, 3, 4)]


@pytest.mark.parametrize("restarts", [False, True])
def test_partitions_before_the_two_newest_are_not_listed_again(days, monkeypatch, restarts):
    for directory in (days, *days.iterdir()):
        os.utime(directory, (_FAR_S, _FAR_S))
    stream = Stream(days)
    assert stream.poll(6) == ALL
    if restarts:
        stream.commit()
        stream.restart()
        stream.poll(20)
    assert listed_by(stream, monkeypatch) == ["", "2026-11-03/", "2026-11-04/"]
    add(days, "2026-11-05/a.json")
    assert stream.poll(2) == ["2026-11-05/a.json"]


def test_a_directory_that_does_not_change_is_listed_now_and_then(tmp_path, monkeypatch):
    add(tmp_path, "a.json")
    os.utime(tmp_path, (1, 1))
    stream = Stream(tmp_path)
    stream.poll(3)
    listed, entries = list[str](), LocalDirectory.entries
    monkeypatch.setattr(LocalDirectory, "entries", lambda self, path: listed.append(path) or entries(self, path))
    assert stream.poll(30) == []
    assert len(listed) == 3, "every ten seconds"
    add(tmp_path, "b.json")
    os.utime(tmp_path, (2, 2))
    assert stream.poll(3) == ["b.json"]


def test_late_files_of_an_open_partition_and_late_partitions_are_read_at_once(days):
    stream = Stream(days)
    stream.poll(6)
    add(days, "2026-11-03/0.json")
    add(days, "2026-11-00/a.json")
    assert stream.poll(2) == ["2026-11-00/a.json", "2026-11-03/0.json"]
    assert stream.poll(9) == []


def test_a_late_partition_is_read_soon_after_a_restart_too(days):
    stream = Stream(days)
    stream.poll(6)
    stream.commit()
    stream.restart()
    assert stream.poll(20) == []
    add(days, "2026-11-00/a.json")
    assert stream.poll(5) == ["2026-11-00/a.json"]


def test_a_source_that_was_away_at_a_restart_is_not_read_again(days):
    stream = Stream(days)
    stream.poll(6)
    stream.commit()
    identity = stream.feed.identity
    days.rename(days.with_name("disk"))
    days.mkdir()
    stream.restart()
    stream.feed.identity = identity
    assert (stream.poll(3), stream.feed.holds_back) == ([], True)
    assert "its disk may not be mounted" in stream.feed.problem
    days.rmdir()
    days.with_name("disk").rename(days)
    add(days, "2026-11-04/b.json")
    assert stream.poll(30) == ["2026-11-04/b.json"]
    assert stream.feed.problem is None


def test_a_long_backlog_of_files_and_partitions_is_read_in_the_order_of_paths(days, monkeypatch):
    monkeypatch.setattr(new_files, "MOST_PENDING", 2)
    for name in "xyz":
        add(days, f"{name}.json")
    assert Stream(days).poll(20) == [*ALL, "x.json", "y.json", "z.json"]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_late_file_of_a_closed_partition_is_read_once_when_the_partition_is_looked_at_again(days, restarts):
    stream = Stream(days, pause_s=601)
    stream.poll(6)
    add(days, "2026-11-01/0.json")
    assert stream.poll(20) == [], "while its partition is not in the record yet, all its files would seem new"
    stream.commit()
    if restarts:
        stream.restart()
    assert stream.poll(20) == ["2026-11-01/0.json"]
    stream.commit()
    assert stream.poll(20) == []


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("day", [1, 4])
def test_a_file_that_changes_is_refused_in_closed_partitions_too(days, day, restarts):
    stream = Stream(days, pause_s=601)
    stream.poll(6)
    stream.commit()
    if restarts:
        stream.restart()
        stream.poll(9)
    write_json(days / f"2026-11-0{day}", "a.json", GOOD, GOOD)
    with pytest.raises(SourceChanged, match=f"2026-11-0{day}/a.json: a file of this name was read before"):
        stream.poll(20)


def test_a_removed_partition_is_refused_where_the_source_is_the_history(days, monkeypatch):
    monkeypatch.setattr(file_feed, "is_history", lambda *_: True)
    stream = Stream(days, pause_s=601)
    stream.poll(6)
    stream.commit()
    (days / "2026-11-01" / "a.json").unlink()
    (days / "2026-11-01").rmdir()
    with pytest.raises(SourceChanged, match=r"2026-11-01/a.json: it was removed"):
        stream.poll(9)


def test_the_oldest_open_partition_is_the_one_before_the_newest(tmp_path):
    for path in ("2025/12/31", "2026/1/1", "2026/1/2", "2026/2/1"):
        (tmp_path / path).mkdir(parents=True)
    source = LocalDirectory(tmp_path)
    before = {"2026/2/1/x": "2026/1/2/", "2026/1/2/x": "2026/1/1/", "2026/1/1/x": "2025/12/31/"}
    before |= {"2025/12/31/x": "2025/12/31/", "x": "", "2027/x": "2026/2/1/"}
    assert {path: oldest_open(source, path) for path in before} == before


@pytest.mark.parametrize("seed", range(12))
def test_each_file_is_read_once_whenever_it_comes_and_the_driver_dies(tmp_path, monkeypatch, seed):
    """Files come in any of eight nested partitions; segments are committed in part, and the others are lost."""
    monkeypatch.setattr(new_files, "MOST_PENDING", 4)
    monkeypatch.setattr(closed_partitions, "PAUSE_S", 3.0)
    rng, names = random.Random(seed), iter(f"{number:03}" for number in random.Random(-seed - 1).sample(range(999), 99))
    partitions = ["", *(f"{year}/{day}/" for year in (2025, 2026) for day in "1234")]
    stream, added = Stream(tmp_path, at_once=rng.choice([1, 2, 5])), list[str]()
    for step in range(60):
        centre = step * len(partitions) // 60
        near = min(max(centre + rng.choice([-4, -1, 0, 0, 0, 1]), 0), len(partitions) - 1)
        if rng.random() < 0.6:
            added.append(f"{partitions[near]}{next(names)}.json")
            add(tmp_path, added[-1])
        stream.poll(rng.randrange(4))
        if rng.random() < 0.5:
            stream.commit(rng.randint(0, len(stream.waiting)))
        if rng.random() < 0.15:
            stream.restart()
    for _ in range(12):
        stream.poll(20)
        stream.commit()
    read = [segment.path.removeprefix(f"{tmp_path}/") for segment in stream.record.segments]
    assert sorted(read) == sorted(added)
