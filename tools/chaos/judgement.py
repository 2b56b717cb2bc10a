"""Holds the tables of a workload that has ended against the oracles, and what was read against what was written."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path

import pyarrow as pa
from comparison import Tally
from deltalake import DeltaTable
from expected import WINDOWED, Expected, Rows, expected_join
from workloads import NAME, Drawn, Row

from kit.oracles.oracle import Passed
from kit.oracles.pair_oracle import Item, Log, Read, Silence, Wake
from tailrace.query.loading import load
from tailrace.storage.journal import Journal
from tailrace.storage.results import read_answers

_WINDOW = ("key", "window_start", "window_end")


def judge(kind: str, file: Path, warehouse: Path, streams: Mapping[str, Drawn]) -> Tally:
    """Compare all that a workload has left; its stream has ended, and all of it is corrected."""
    tally, home = Tally(), warehouse / NAME
    expected = _expected(kind, home, streams)
    for name, rows in (("results", expected.streamed), ("late", expected.late)):
        tally.compare(name, rows, _rows(kind, name, _table(home, name)))
    latest, _ = read_answers(load(file), warehouse, streamed=False)
    tally.compare("corrected answers", expected.corrected, _rows(kind, "corrected", latest.to_pylist()))
    versions = [row for row in _table(home, "corrections") if not row["retracted"]]
    once = {(row["interval"], *_identity(kind, row)) for row in versions}
    tally.doubled += len(versions) - len(once)
    _balance(tally, home, streams)
    return tally


def _balance(tally: Tally, home: Path, streams: Mapping[str, Drawn]) -> None:
    """Count what breaks the balance: written = read = accepted + quarantined, and what the tasks took in."""
    segments, metrics = _table(home, "segments"), _table(home, "metrics")
    accepted = sum(row["accepted"] for row in segments)
    written = [row for stream in streams.values() for row in stream.rows]
    counts = {
        "read": (sum(row["rows"] for row in segments), len(written)),
        "accepted": (accepted, len([row for row in written if row.value is not None])),
        "accepted, and taken in by the tasks": (sum(row["rows"] for row in metrics), accepted),
        "quarantined": (len(_table(home, "quarantine")), len([row for row in written if row.value is None])),
    }
    for what, (found, right) in counts.items():
        if found != right:
            tally.lost += max(right - found, 0)
            tally.doubled += max(found - right, 0)
            tally.examples.append(f"{what}: {found:,} rows, and should be {right:,}")


def _expected(kind: str, home: Path, streams: Mapping[str, Drawn]) -> Expected:
    journal = Journal(home / "_stream" / "journal")
    if kind in WINDOWED:
        rows = streams[NAME].rows
        return WINDOWED[kind](rows, _silences(journal, rows))
    return expected_join(kind, _log(journal, streams))


def _silences(journal: Journal, rows: list[Row]) -> list[Passed]:
    """The silence that the stream has recorded, after so many accepted rows."""
    found, number = [], 0
    while number in journal:
        header, position = journal[number].header, journal[number].position
        if header.heartbeats or (header.closes and not header.ends):
            accepted = len([row for row in rows[: position.rows] if row.value is not None])
            found.append(Passed(accepted, header.heartbeats.get(NAME, 0), header.closes))
        number += 1
    return found


def _log(journal: Journal, streams: Mapping[str, Drawn]) -> Log:
    """The log of both streams in the order in which the journal has read them."""
    names, read, log, number = list(streams), dict.fromkeys(streams, 0), [], 0
    while number in journal:
        entry = journal[number]
        log.append(Wake(tuple({names.index(segment.stream) for segment in entry.segments})))
        for segment in entry.segments:
            start = read[segment.stream]
            for row in streams[segment.stream].rows[start : start + segment.rows]:
                if row.value is not None:
                    item = Item(row.event_time, row.arrival_time, row.id, row.value)
                    log.append(Read(names.index(segment.stream), item))
            read[segment.stream] = start + segment.rows
        header = entry.header
        if not header.ends:
            heartbeats = tuple((names.index(name), time) for name, time in header.heartbeats.items())
            log.append(Silence(heartbeats, tuple(names.index(name) for name in header.idle), header.closes))
        number += 1
    return log


def _rows(kind: str, name: str, rows: Iterable[dict]) -> Rows:
    """Rows of a table as identity and content."""
    if name == "late" and kind in WINDOWED:
        return [((row["key"], row["pane_start"], row["tick"]), row["tuples"]) for row in rows]
    if name == "late":
        return [((("left", "right").index(row["stream"]), row["id"]), row["frontier"]) for row in rows]
    return [(_identity(kind, row), _content(kind, row, streamed=name == "results")) for row in rows]


def _identity(kind: str, row: dict) -> tuple[Hashable, ...]:
    if kind not in WINDOWED:
        return row["left_id"], row["right_id"]
    rank = (row["rank"],) if kind == "topk" else ()
    return *(row[name] for name in _WINDOW), *rank


def _content(kind: str, row: dict, streamed: bool) -> tuple[Hashable, ...]:
    if kind == "aggregate":
        return row["value"], row["tuples"], *((row["k_ms"], row["as_of"]) if streamed else ())
    if kind == "topk":
        return row["id"], row["score"], *((row["as_of"],) if streamed else ())
    return (row["left_time"], row["right_time"], row["as_of"], row["k_ms"]) if streamed else ()


def _table(home: Path, name: str) -> list[dict]:
    """The rows of a table, times in ms; none where there is no such table."""
    if not (home / name / "_delta_log").is_dir():
        return []
    table = DeltaTable(home / name).to_pyarrow_table()
    for number, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type):
            times = table.column(number).cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
            table = table.set_column(number, column.name, times)
    return table.to_pylist()
