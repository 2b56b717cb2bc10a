"""Reads segments of a stream's log again from its tables, as the source may no longer have them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tailrace.ground.files.object_path import on_disk
from tailrace.sources import history
from tailrace.sources.formats.file_format import SegmentReader
from tailrace.sources.segments import MalformedRecord, RawSegment, Segment, Types
from tailrace.storage.file_bounds import bounded_dataset
from tailrace.storage.history_files import ordinals_of
from tailrace.storage.lost_files import lost
from tailrace.storage.tables import Tables
from tailrace.tables.every import in_ms

_FILES_IN_MEMORY = 4


class _Column(NamedTuple):
    """The part of stored tuples that has a source's column, and its type."""

    part: str
    type: pa.DataType


@dataclass(frozen=True)
class StoredSegments:
    """Returns segments as records of the source: accepted tuples from history, and rejected records from quarantine.

    Attributes
    ----------
    count : int
        The number of the log's segments, of all streams, that the tables have completely.
    otherwise : SegmentReader
        Reads later segments from the source.
    columns : dict
        The columns by the source's names.
    files : tuple of str
        The files of history.
    first, last : ndarray, shape (n,)
        The first and the last position of each file's tuples.
    quarantine : Path
        The table, read at `version`.
    """

    count: int
    otherwise: SegmentReader
    columns: Mapping[str, _Column]
    files: tuple[str, ...]
    first: np.ndarray
    last: np.ndarray
    quarantine: Path
    version: int

    @staticmethod
    def open(
        tables: Tables,
        history: str,
        count: int,
        columns: Mapping[str, tuple[str, pa.DataType]],
        otherwise: SegmentReader,
    ) -> StoredSegments:
        """Open the first `count` segments of the log; `columns` maps the source's columns to parts of tuples.

        Raises
        ------
        Damaged
            When a file of history is lost.
        """
        directory = on_disk(tables.layout.table(history))
        actions = pa.table(tables.open(history).get_add_actions(flatten=True)).to_pylist()
        ordinals = ordinals_of([action["path"] for action in actions])
        rows = tables.read(
            "segments", ["ordinal", "position", "rows"], ds.field("ordinal").isin(set(ordinals) - {None})
        )
        ends_of = {row["ordinal"]: (row["position"], row["position"] + row["rows"] - 1) for row in rows.to_pylist()}
        files, first, last = [], list[float](), list[float]()
        for action, ordinal in zip(actions, ordinals, strict=True):
            file = directory / unquote(action["path"])
            if not file.exists():
                raise lost(str(file), "this file of history is lost")
            if ordinal is not None and ordinal not in ends_of:  # history may have a batch that other tables lack
                continue
            ends = (action.get("min.position"), action.get("max.position")) if ordinal is None else ends_of[ordinal]
            files.append(str(file))
            first.append(0 if ends[0] is None else ends[0])
            last.append(np.inf if ends[1] is None else ends[1])
        named = {name: _Column(*column) for name, column in columns.items()}
        ends_of_files = np.array(first, np.float64), np.array(last, np.float64)
        quarantine = on_disk(tables.layout.table("quarantine"))
        rejects = quarantine, tables.open("quarantine").version()
        return StoredSegments(count, otherwise, named, tuple(files), *ends_of_files, *rejects)

    def read(self, segment: Segment, types: Types) -> RawSegment:
        """Read the columns of `types` of every record of a segment; a rejected record keeps its old reason.

        Raises
        ------
        Damaged
            When neither history nor quarantine has one of them.
        """
        if segment.ordinal >= self.count:
            return self.otherwise.read(segment, types)
        tuples = self._tuples(segment)
        row = tuples.column("position").to_numpy() - segment.position
        rejected = np.ones(segment.rows, bool)
        rejected[row] = False
        malformed, known = [], _rejects(self.quarantine, self.version, segment.stream) if rejected.any() else {}
        for index in np.flatnonzero(rejected).tolist():
            reject = known.get(f"{segment.path}#{segment.first_row + index}")
            if reject is None:
                where = f"record {segment.first_row + index} of {segment.path}"
                raise lost(where, "neither history nor quarantine has it")
            malformed.append(MalformedRecord(index, reject["reason"], reject["record"], reject["arrival_time"]))
        return RawSegment(tuples.select(list(types)), row, malformed)

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        """Return the given records of a segment as text; a stored record has the values of its tuple."""
        if segment.ordinal >= self.count:
            return self.otherwise.records(segment, rows)
        tuples = self._tuples(segment)
        row = (tuples.column("position").to_numpy() - segment.position).tolist()
        texts = tuples.select(list(self.columns)).to_pylist()
        by_row = {index: str(text) for index, text in zip(row, texts, strict=True)}
        return [by_row[index] for index in rows]

    def _tuples(self, segment: Segment) -> pa.Table:
        """Return the accepted tuples of a segment, with the source's names of columns, by position."""
        end = segment.position + segment.rows
        parts = []
        for index in np.flatnonzero((self.first < end) & (self.last >= segment.position)).tolist():
            tuples = _file(self.files[index], os.stat(self.files[index]).st_mtime_ns)
            position = tuples.column("position").to_numpy()
            mask = (position >= segment.position) & (position < end)
            parts.append(self._named(tuples.filter(pa.array(mask)) if not mask.all() else tuples))
        if not parts:
            return self._named(None)
        return pa.concat_tables(parts).sort_by("position")

    def _named(self, tuples: pa.Table | None) -> pa.Table:
        kinds = {name: column.type for name, column in self.columns.items()} | {"position": pa.int64()}
        if tuples is None:
            return pa.schema(list(kinds.items())).empty_table()
        parts = {name: column.part for name, column in self.columns.items()} | {"position": "position"}
        return pa.table({name: history.stored_part(tuples, part, kinds[name]) for name, part in parts.items()})


@lru_cache(maxsize=_FILES_IN_MEMORY)
def _file(path: str, mtime_ns: int) -> pa.Table:
    return pq.read_table(path, partitioning=None)


@lru_cache(maxsize=2)
def _rejects(quarantine: Path, version: int, stream: str) -> dict[str, dict[str, Any]]:
    """Return the rejected records of a stream by their position in its source."""
    columns = ["position", "arrival_time", "reason", "record"]
    table, of_stream = DeltaTable(quarantine, version=version), ds.field("stream") == stream
    rows = bounded_dataset(table, of_stream).to_table(columns=columns, filter=of_stream)
    return {row["position"]: row for row in in_ms(rows, "quarantine").to_pylist()}
