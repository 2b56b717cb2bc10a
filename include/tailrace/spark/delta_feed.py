"""A Delta table as a stream's log: each commit's files, in the order of versions. It may only grow."""

from __future__ import annotations

import json
from collections.abc import Mapping
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


class DeltaFeed:
    """The files that each commit of an append-only Delta table added.

    Where the oldest commits are no longer in its log, the stream begins with the table as it stands, its files by the
    time at which they were written.

    Parameters
    ----------
    version : int
        Everything up to this version was read; -1 at the start.
    before : dict
        What was read of later ones, by the file's name.
    """

    def __init__(self, path: Path, columns: Columns, types: Types, before: dict[str, Taken], version: int) -> None:
        self.path, self.columns, self.types, self.version = path, columns, types, version
        self._before, self._log = before, path / "_delta_log"
        if not DeltaTable.is_deltatable(str(path)):
            raise refuse(str(path), "there is no Delta table", "the directory of one, which holds _delta_log")

    def fresh(self) -> list[Segment]:
        found: list[Segment] = []
        if not self._commit(self.version + 1).exists():
            found += self._catch_up()
        while (commit := self._commit(self.version + 1)).exists():
            self.version += 1
            found += self._segments([self._added(json.loads(line)) for line in commit.read_text().splitlines()])
        return found

    def _catch_up(self) -> list[Segment]:
        """Where the next commit is not there: nothing is new, or the log was cleaned up before it was read."""
        if not any(int(file.stem) > self.version for file in self._log.glob("[0-9]*.json")):
            return []
        if self.version >= 0:
            raise refuse(
                f"{self.path}: version {self.version + 1}",
                "its log was cleaned up before the stream had read it, so tuples would be missing",
                "another name for the query to begin anew; delta.logRetentionDuration keeps more",
            )
        table = DeltaTable(self.path)
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        self._check(table.metadata().configuration, table.metadata().partition_columns)
        self.version = table.version()
        actions.sort(key=lambda action: (action["modification_time"], action["path"]))
        return self._segments([(self._path(action["path"]), action["size_bytes"]) for action in actions])

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
        return self._path(unquote(what["path"])), what["size"]

    def _segments(self, files: list[tuple[Path, int] | None]) -> list[Segment]:
        found: list[Segment] = []
        for file, size in (file for file in files if file is not None):
            self.types = agreed(file, "delta", self.columns, self.types)
            before = self._before.get(file.name)
            rest = after(FORMATS["delta"].split(file), before.rows if before else 0)
            found += [replace(segment, size=size, version=self.version) for segment in rest]
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

    def _path(self, path: str) -> Path:
        return Path(unquote(urlsplit(path).path)) if path.startswith("file:") else self.path / path

    def _commit(self, version: int) -> Path:
        return self._log / f"{version:020d}.json"
