"""A source of four million files, by simulation: what is listed and remembered follows what is new and open."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from kit.runs.file_feeds import COLUMNS, TYPES
from tailrace.sources.discovery import file_feed, new_files
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.discovery.object_files import ObjectFile
from tailrace.sources.discovery.source_directory import Entry
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.reading_progress import ReadFile
from tailrace.sources.segments import Segment

DAYS, FILES = 160, 25_000


class Simulated:
    """A source of four million files, 25,000 a day, which counts what it lists."""

    prefix, identity, lists_states = "/simulated/", "", False

    def __init__(self) -> None:
        self.listed, self.more = 0, list[str]()

    def entries(self, directory: str) -> Iterator[Entry]:
        names = (f"day={day:03}" for day in range(DAYS)) if not directory else ()
        files = (f"part-{number:06}.parquet" for number in range(FILES)) if directory else ()
        more = (path.removeprefix(directory) for path in self.more if directory and path.startswith(directory))
        for name in itertools.chain(names, files, more):
            self.listed += 1
            yield Entry(name, not directory)

    def after(self, path: str) -> None:
        return None

    def changed_at(self, directory: str) -> None:
        return None

    def file(self, path: str) -> ObjectFile:
        return ObjectFile(f"{self.prefix}{path}", None, 9, None, 1)

    def require_fit(self, path: str) -> None:
        pass

    def day(self, day: int) -> Iterator[ReadFile]:
        yield from (ReadFile(f"{self.prefix}day={day:03}/part-{n:06}.parquet", 1, 1, 9, 1) for n in range(FILES))


@dataclass
class SimulatedRecord:
    """The record of a stream that has read all of a simulated source."""

    source: Simulated

    def rows(self) -> int:
        return DAYS * FILES

    def files(self, prefix: str) -> Iterator[ReadFile]:
        return self.source.day(int(prefix[-4:-1]))


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Simulated:
    source = Simulated()
    monkeypatch.setattr(file_feed, "open_directory", lambda *_: source)
    monkeypatch.setattr(file_feed, "merge_types", lambda *_: TYPES)
    parquet = type(FORMATS["parquet"])
    monkeypatch.setattr(parquet, "split", lambda self, file: [Segment(str(file), 0, 1, of_rows=1)])
    return source


def test_a_source_of_four_million_files_is_begun_without_listing_all_of_them(simulated):
    beats: list[int] = []
    feed = FileFeed(
        Path("/simulated"),
        "parquet",
        COLUMNS,
        {},
        (),
        1000,
        record=SimulatedRecord(simulated),
        on_progress=lambda: beats.append(1),
    )
    segments = feed.fresh()
    assert (len(segments), segments[0].path) == (1000, "/simulated/day=000/part-000000.parquet")
    assert simulated.listed == DAYS + new_files.MOST_PENDING
    assert len(beats) >= 1000 + new_files.MOST_PENDING // new_files.PROGRESS_EVERY
    simulated.listed = 0
    segments += [segment for _ in range(5) for segment in feed.fresh()]
    assert (len({segment.path for segment in segments}), simulated.listed) == (6000, 0)


@pytest.mark.needs("quiet")
def test_a_poll_of_four_million_files_that_were_read_lists_two_days_in_memory_of_two_days(simulated):
    days = range(DAYS - 2, DAYS)
    tracemalloc.start()
    before_bytes = pa.total_allocated_bytes()
    feed = FileFeed(
        Path("/simulated"),
        "parquet",
        COLUMNS,
        TYPES,
        itertools.chain.from_iterable(simulated.day(day) for day in days),
        1000,
        itertools.count().__next__,
        record=SimulatedRecord(simulated),
        boundary=f"day={days[0]:03}/",
    )
    assert feed.fresh() == []
    of_feed = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before_bytes
    tracemalloc.stop()
    assert of_feed < 2 * FILES * 200, "not the 4 million × some 500 bytes that a dictionary of all would take"
    assert simulated.listed <= DAYS + 2 * FILES + 1000
    simulated.more = [f"day={days[1]:03}/part-{FILES:06}.parquet", f"day={days[0]:03}/part-000007b.parquet"]
    segments = feed.fresh()
    assert [segment.path.removeprefix("/simulated/") for segment in segments] == sorted(simulated.more)
