"""The lines with which a run begins: how times are read and compared, and what a live run waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.derived_columns import bound
from tailrace.expressions.text_comparisons import times_as_texts
from tailrace.ground.duration import format_duration
from tailrace.query.query import Query
from tailrace.query.windowed import WindowedQuery
from tailrace.sources.segments import Types
from tailrace.sources.time_zones import times_as_utc
from tailrace.storage.layout import Layout

_DAY = timedelta(days=1)
_AWAITED = {"delta": "new commits of", "kafka": "new records of", "tailrace": "new answers of"}


def lines_about_times(query: Query, layout: Layout) -> Iterator[str]:
    """Yield the lines about the times of a query's stream and of its windows, given where the stream is."""
    manifest = layout.manifest()
    yield from opening_lines(query, {} if manifest is None else manifest.types)
    yield from window_zone_lines(query)


def opening_lines(query: Query, types: Mapping[str, Types]) -> Iterator[str]:
    """Yield the lines about times, given the types of each stream's columns.

    There is a line for each stream whose times have no offset from UTC, where the query names no zone for them; and one
    for each column of texts that an expression compares with a time.
    """
    sources = CompiledQuery.declare(query).sources
    for stream, names in times_as_utc(sources, types).items():
        yield (
            f"stream {stream}: the times of {' and '.join(names)} have no offset from UTC, and are read as UTC; "
            f"if their clocks show another zone: timezone: Europe/Vienna, for one, below streams.{stream}"
        )
    for stream, columns in sources.items():
        if not types.get(stream) or (projection := bound(columns, types[stream])) is None:
            continue
        known = dict(projection.types)
        for number, (name, text) in enumerate(projection.named()):
            for each in times_as_texts(text, known):
                yield f"stream {stream}: {'where' if number == len(projection.columns) else name}: {each.words}"
            known.pop(name, None)


def window_zone_lines(query: Query) -> Iterator[str]:
    """Yield a line if windows follow the days of UTC, and the stream states another time zone."""
    if not isinstance(query, WindowedQuery) or query.has_sessions:
        return
    window, (name, stream) = query.window, query.stream
    is_chosen = window.timezone is not None or window.offset is not None
    if is_chosen or stream.timezone is None or _shows_utc(stream.timezone) or window.size % _DAY or window.slide % _DAY:
        return
    size, zone = format_duration(window.size_ms), stream.timezone
    windows = "the window states none" if window.slide == window.size else "sliding windows have none"
    right = f"days, weeks, months of {zone}: window: {{size: 1 d, timezone: {zone}}}"
    yield f"stream {name} has timezone {zone}, and {windows}: windows of {size} begin at midnight of UTC; {right}"


def awaited(query: Query) -> Iterator[str]:
    """Yield what a live run waits for after it has read existing records, and which sources bring nothing more."""
    growing, files = list[str](), list[str]()
    for stream in query.streams.values():
        path = stream.source.local_path
        if path is not None and path.is_file():
            files.append(str(path))
        else:
            growing.append(f"{_AWAITED.get(stream.source.format, 'new files in')} {path or stream.uri}")
    what = f" for {' and '.join(dict.fromkeys(growing))}" if growing else ""
    yield f"live: reads what is there, then waits{what}; Ctrl-C stops"
    for file in dict.fromkeys(files):
        yield f"{file} is one file: nothing more comes; --bounded ends at its end, and a directory takes new files"


def _shows_utc(timezone: str) -> bool:
    """Return whether the clocks of a time zone show UTC, in summer too, as those of Africa/Abidjan do."""
    zone = ZoneInfo(timezone)
    return not any(datetime(2024, month, 1, tzinfo=zone).utcoffset() for month in (1, 7))
