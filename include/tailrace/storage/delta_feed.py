"""A Delta table as a stream's source: the files of each commit, in the order of versions. The table may only grow."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tailrace.ground.errors import Problem, Refused, SourceChanged, refuse
from tailrace.ground.files.object_path import Location
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.parquet_files import schema_types
from tailrace.sources.formats.registry import FORMATS, merge_types, settled_types
from tailrace.sources.reading_progress import ReadFile, remaining
from tailrace.sources.segments import Segment, Types
from tailrace.storage.paths import require_fit
from tailrace.storage.table_files import find_file, identity_of, read_commit, require_regular_log, resolve_file
from tailrace.storage.tables import open_table

_LISTING_INTERVAL_S = 60.0


class DeltaFeed:
    """A feed of the files that each commit to an append-only Delta table added.

    If the oldest commits are no longer in the table's log, the feed begins with a snapshot of the table: its files in
    the order of their writing.

    Parameters
    ----------
    version : int
        Everything up to this version was read; -1 at the start.
    before : dict
        The files of later versions that were already read, completely or partly, by path.
    """

    problem = None

    def __init__(
        self, path: Location, columns: SourceMapping, types: Types, before: dict[str, ReadFile], version: int
    ) -> None:
        self.path, self.columns, self.types, self.version = path, columns, types, version
        self.holds_back = False
        self._read_files, self._log, self._next_listing_s = before, path / "_delta_log", 0.0
        self._last: tuple[int, ...] | None = None  # `_state` of the newest commit that was read
        self._digest = b""  # hash of its content; empty if unknown
        self._newest_types: Callable[[], Types] = self._schema_types
        require_fit(str(path), str(path))
        self.identity = str(self._table().metadata().id)

    def fresh(self) -> list[Segment]:
        state = self.version, self.types, self._next_listing_s, self._digest
        try:
            return self._new_segments()
        except BaseException:
            self.version, self.types, self._next_listing_s, self._digest = state  # a failed call returned nothing
            raise

    def _new_segments(self) -> list[Segment]:
        segments: list[Segment] = []
        self._newest_types = cache(self._schema_types)
        self._require_same()
        cleaned_up = self.version >= 0 and not self._commit(self.version).exists()
        listing_due = cleaned_up or time.monotonic() >= self._next_listing_s
        if not self._commit(self.version + 1).exists() and listing_due:
            self._next_listing_s = time.monotonic() + _LISTING_INTERVAL_S  # listing a long log takes time
            segments += self._catch_up()
        while (commit := self._commit(self.version + 1)).exists():
            self.version += 1
            actions = self._actions(commit)
            segments += self._segments([self._added_file(action) for action in actions], self.version)
        self._last = self._state()
        self.types = settled_types(self.types, self.columns, self._newest_types)
        if segments and not self.types:
            fault = f"no row has a value in each of {', '.join(dict.fromkeys(self.columns.named().values()))}"
            raise self._refusal(fault, "times, ids, keys and values that are not null throughout")
        return segments

    def _require_same(self) -> None:
        """Refuse a different table under the same path, or an older state of the table.

        If the file of the newest commit read is the same, nothing has changed. Otherwise the table's id and version are
        compared, and that commit's content if it still exists.
        """
        state = self._state()
        if self.version < 0 or (state is not None and state == self._last):
            return
        table, version = self._table(), self.version
        if (identity := str(table.metadata().id)) != self.identity:
            raise self._source_changed(f"it is another table than the stream has read: {identity}, not {self.identity}")
        if table.version() < version:
            fault = f"it was restored to version {table.version()}, and the stream has read it up to version {version}"
            raise self._source_changed(fault)
        if state is not None:
            digest = sha256(read_commit(self._commit(version))).digest()
            if self._digest not in (b"", digest):
                raise self._source_changed(
                    f"it was restored to an older state: its version {version} is not what was read"
                )
            self._digest = digest

    def _actions(self, commit: Location) -> list[dict[str, Any]]:
        content = read_commit(commit)
        self._digest = sha256(content).digest()
        try:
            return [json.loads(line) for line in content.splitlines()]
        except ValueError as error:
            raise refuse(str(commit), f"it can't be read ({error})", "a whole commit") from error

    def _catch_up(self) -> list[Segment]:
        """Return the segments of a snapshot at the start, else none; call it when the next commit is missing.

        Raises
        ------
        SourceChanged
            When the log was cleaned up before it was read.
        """
        newest = max((int(file.stem) for file in self._log.glob("[0-9]" * 20 + ".json")), default=self.version)
        if newest == self.version or self._commit(self.version + 1).exists():  # the commit may have come meanwhile
            return []
        if self.version >= 0:
            fault = "its log was cleaned up before the stream had read it, so tuples would be missing"
            remedy = "another name for the query to begin again; delta.logRetentionDuration keeps more"
            raise self._source_changed(fault, remedy, self.version + 1)
        return self._snapshot()

    def _snapshot(self) -> list[Segment]:
        """Return the segments of the whole table, as of version 0.

        A run that ends before all of them are read has read no version.
        """
        table = self._table()
        self._check(table.metadata().configuration, table.metadata().partition_columns)
        if pa.table(table.deletion_vectors()).num_rows:
            fault = "some of its rows are deleted by deletion vectors, and its files still hold them"
            raise self._refusal(fault, "a table without them: REORG TABLE … APPLY (PURGE) writes its files again")
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        actions.sort(key=lambda action: (action["modification_time"], action["path"]))
        files = [(resolve_file(action["path"], self.path), action["size_bytes"]) for action in actions]
        for missing in sorted(self._read_files.keys() - {str(file) for file, _ in files}):
            raise self._source_changed(
                f"{missing} was read, and compacted before the stream had read all of the table as it stood"
            )
        segments = self._segments(files, 0)
        self.version, self._digest = table.version(), b""
        return segments

    def _added_file(self, action: dict[str, Any]) -> tuple[Location, int] | None:
        """Return the file that an action added to the table's content, with its size; None where it added none."""
        if "metaData" in action:
            self._check(action["metaData"].get("configuration", {}), action["metaData"].get("partitionColumns", []))
        change = action.get("remove") or action.get("add") or {}
        if not change.get("dataChange", False):  # OPTIMIZE only moves rows
            return None
        if "remove" in action or change.get("deletionVector"):
            fault = "it removed or changed rows, and a stream's log may only grow"
            remedy = "a table that is only appended to; or another name for the query, to begin again"
            raise self._source_changed(fault, remedy, self.version)
        return resolve_file(change["path"], self.path), change["size"]

    def _segments(self, files: Sequence[tuple[Location, int] | None], version: int) -> list[Segment]:
        segments: list[Segment] = []
        for location, size in (file for file in files if file is not None):
            file = find_file(location)
            self.types = merge_types(file, "parquet", self.columns, self.types, self._newest_types)
            previous = self._read_files.get(str(file))
            rest = remaining(FORMATS["parquet"].split(file), previous.rows if previous else 0)
            segments += [replace(segment, size=size, version=version) for segment in rest]
        return segments

    def _schema_types(self) -> Types:
        """Return the types of the columns by the table's schema, including columns added after a file was written."""
        return schema_types(str(self.path), pa.schema(self._table().schema().to_arrow()), self.columns, {})

    def _check(self, configuration: Mapping[str, str | None], partitions: list[str]) -> None:
        if configuration.get("delta.columnMapping.mode", "none") != "none":
            raise self._refusal("it maps columns to other names in its files", "a table without column mapping")
        for part, name in self.columns.named().items():
            if name in partitions:
                fault = f"it is partitioned by {name}, which the query names as {part}: its files do not hold it"
                raise self._refusal(fault, "a table that is partitioned by other columns")

    def _source_changed(
        self, fault: str, remedy: str = "another name for the query, to begin again", version: int | None = None
    ) -> SourceChanged:
        where = str(self.path) if version is None else f"{self.path}: version {version}"
        return SourceChanged([Problem(where, fault, remedy)])

    def _refusal(self, fault: str, remedy: str) -> Refused:
        return refuse(str(self.path), fault, remedy)

    def _table(self) -> DeltaTable:
        fault, remedy = "there is no Delta table", "the directory of one, which holds _delta_log"
        if not self._log.is_dir():
            raise refuse(str(self.path), fault, remedy)
        require_regular_log(self._log)
        try:
            return open_table(self.path)
        except DeltaError as error:  # it may be in the middle of being removed or created
            raise refuse(str(self.path), f"{fault} that can be read ({error})", remedy) from error
        except OSError as error:  # deltalake's, without the file's name
            raise OSError(error.errno or errno.EIO, str(error), str(self.path)) from error

    def _state(self) -> tuple[int, ...] | None:
        """Return the identity of the newest commit's file that was read; None if it is gone."""
        return identity_of(self._commit(self.version))

    def _commit(self, version: int) -> Location:
        return self._log / f"{version:020d}.json"
