"""A Delta table as a stream's log: each commit's files, in the order of versions. It may only grow."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from deltalake import DeltaTable

from tailrace.errors import Refused, refuse
from tailrace.streams.check import Columns
from tailrace.streams.feeds import Taken, after, agreed
from tailrace.streams.formats import FORMATS
from tailrace.streams.segments import Segment, Types

_LOOK_S = 60.0


class DeltaFeed:
    """The files that each commit of an append-only Delta table added.

    Where the oldest commits are no longer in its log, the stream begins with the table as it stands, its files by the
    time at which they were written.

    Parameters
    ----------
    version : int
        Everything up to this version was read; -1 at the start.
    before : dict
        What was read of later ones, by the file's path.
    """

    def __init__(self, path: Path, columns: Columns, types: Types, before: dict[str, Taken], version: int) -> None:
        self.path, self.columns, self.types, self.version = path, columns, types, version
        self.holds_back = False
        self._before, self._log, self._look_s = before, path / "_delta_log", 0.0
        if "%" in str(path):
            raise refuse(str(path), "Delta's paths can't hold a %", "a path without one")
        if not DeltaTable.is_deltatable(str(path)):
            raise refuse(str(path), "there is no Delta table", "the directory of one, which holds _delta_log")
        self.identity = str(DeltaTable(path).metadata().id)

    def fresh(self) -> list[Segment]:
        found: list[Segment] = []
        gone = self.version >= 0 and not self._commit(self.version).exists()
        due = gone or time.monotonic() >= self._look_s
        if not self._commit(self.version + 1).exists() and due:
            self._look_s = time.monotonic() + _LOOK_S  # the whole log is listed, and may be long
            found += self._catch_up()
        while (commit := self._commit(self.version + 1)).exists():
            self.version += 1
            actions = [json.loads(line) for line in commit.read_bytes().splitlines()]
            found += self._segments([self._added(action) for action in actions], self.version)
        return found

    def _catch_up(self) -> list[Segment]:
        """Where the next commit is not there: nothing is new, or the log was cleaned up before it was read."""
        newest = max((int(file.stem) for file in self._log.glob("[0-9]" * 20 + ".json")), default=self.version)
        if newest == self.version or self._commit(self.version + 1).exists():  # it may have come meanwhile
            return []
        if newest < self.version:
            raise refuse(
                f"{self.path}: version {newest}",
                f"the table was made anew: the stream has read it up to version {self.version}",
                "another name for the query, to begin anew",
            )
        if self.version >= 0:
            raise refuse(
                f"{self.path}: version {self.version + 1}",
                "its log was cleaned up before the stream had read it, so tuples would be missing",
                "another name for the query to begin anew; delta.logRetentionDuration keeps more",
            )
        return self._snapshot()

    def _snapshot(self) -> list[Segment]:
        """The table as it stands. Its files count as of version 0: who stops among them has not read any version."""
        table = DeltaTable(self.path)
        self._check(table.metadata().configuration, table.metadata().partition_columns)
        if pa.table(table.deletion_vectors()).num_rows:
            wrong = "some of its rows are deleted by deletion vectors, and its files still hold them"
            raise self._unfit(wrong, "a table without them: REORG TABLE … APPLY (PURGE) writes its files anew")
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        actions.sort(key=lambda action: (action["modification_time"], action["path"]))
        files = [(self._path(action["path"]), action["size_bytes"]) for action in actions]
        for gone in sorted(self._before.keys() - {str(file) for file, _ in files}):
            wrong = "it was read, and compacted before the stream had read all of the table as it found it"
            raise refuse(gone, wrong, "another name for the query, to begin anew")
        found = self._segments(files, 0)
        self.version = table.version()
        return found

    def _added(self, action: dict[str, Any]) -> tuple[Path, int] | None:
        """The file that an action added to what the table holds, and its size."""
        if "metaData" in action:
            self._check(action["metaData"].get("configuration", {}), action["metaData"].get("partitionColumns", []))
        what = action.get("remove") or action.get("add") or {}
        if not what.get("dataChange", False):  # OPTIMIZE only moves rows
            return None
        if "remove" in action or what.get("deletionVector"):
            raise refuse(
                f"{self.path}: version {self.version}",
                "it removed or changed rows, and a stream's log may only grow",
                "a table that is only appended to; or another name for the query, to begin anew",
            )
        return self._path(what["path"]), what["size"]

    def _segments(self, files: Sequence[tuple[Path, int] | None], version: int) -> list[Segment]:
        found: list[Segment] = []
        for file, size in (file for file in files if file is not None):
            self.types = agreed(file, "delta", self.columns, self.types)
            before = self._before.get(str(file))
            rest = after(FORMATS["delta"].split(file), before.rows if before else 0)
            found += [replace(segment, size=size, version=version) for segment in rest]
        return found

    def _check(self, configuration: Mapping[str, str | None], partitions: list[str]) -> None:
        if configuration.get("delta.columnMapping.mode", "none") != "none":
            raise self._unfit("it maps columns to other names in its files", "a table without column mapping")
        for part, name in self.columns.named().items():
            if name in partitions:
                wrong = f"it is partitioned by {name}, which the query names as {part}: its files do not hold it"
                raise self._unfit(wrong, "a table that is partitioned by other columns")

    def _unfit(self, wrong: str, right: str) -> Refused:
        return refuse(str(self.path), wrong, right)

    def _path(self, encoded: str) -> Path:
        """Where a file is that an action names: by a URI, relative to the table's or absolute."""
        return self.path / unquote(urlsplit(encoded).path if encoded.startswith("file:") else encoded)

    def _commit(self, version: int) -> Path:
        return self._log / f"{version:020d}.json"
