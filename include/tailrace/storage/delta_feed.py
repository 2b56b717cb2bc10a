"""A Delta table as a stream's log: each commit's files, in the order of versions. It may only grow."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from tailrace.ground.errors import Problem, Refused, SourceChanged, refuse
from tailrace.sources.check import Columns
from tailrace.sources.feeds import ReadFile, merge_types, remaining
from tailrace.sources.formats import FORMATS
from tailrace.sources.segments import Segment, Types
from tailrace.storage.paths import require_fit

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

    problem = None

    def __init__(self, path: Path, columns: Columns, types: Types, before: dict[str, ReadFile], version: int) -> None:
        self.path, self.columns, self.types, self.version = path, columns, types, version
        self.holds_back = False
        self._before, self._log, self._look_s = before, path / "_delta_log", 0.0
        self._last: tuple[int, ...] | None = None  # the file of the newest commit that was read, and its content
        self._digest = b""
        require_fit(str(path), path)
        self.identity = str(self._table().metadata().id)

    def fresh(self) -> list[Segment]:
        before = self.version, self.types, self._look_s, self._digest
        try:
            return self._look()
        except BaseException:
            self.version, self.types, self._look_s, self._digest = before  # of a call all is given, or none
            raise

    def _look(self) -> list[Segment]:
        found: list[Segment] = []
        self._require_same()
        gone = self.version >= 0 and not self._commit(self.version).exists()
        due = gone or time.monotonic() >= self._look_s
        if not self._commit(self.version + 1).exists() and due:
            self._look_s = time.monotonic() + _LOOK_S  # the whole log is listed, and may be long
            found += self._catch_up()
        while (commit := self._commit(self.version + 1)).exists():
            self.version += 1
            actions = self._actions(commit)
            found += self._segments([self._added(action) for action in actions], self.version)
        self._last = self._state()
        return found

    def _require_same(self) -> None:
        """Refuse another table in the place of the one that was read, or an older state of it.

        The newest commit that was read tells it, as long as it is there, and the file that it was.
        """
        last = self._state()
        if self.version < 0 or (last is not None and last == self._last):
            return
        table, version = self._table(), self.version
        if (identity := str(table.metadata().id)) != self.identity:
            raise self._changed(f"it is another table than the stream has read: {identity}, not {self.identity}")
        if table.version() < version:
            wrong = f"it was restored to version {table.version()}, and the stream has read it up to version {version}"
            raise self._changed(wrong)
        if last is not None:
            digest = sha256(self._commit(version).read_bytes()).digest()
            if self._digest not in (b"", digest):
                raise self._changed(f"it was restored to an older state: its version {version} is not what was read")
            self._digest = digest

    def _actions(self, commit: Path) -> list[dict[str, Any]]:
        content = commit.read_bytes()
        self._digest = sha256(content).digest()
        try:
            return [json.loads(line) for line in content.splitlines()]
        except ValueError as error:
            raise refuse(str(commit), f"it can't be read ({error})", "a whole commit") from error

    def _catch_up(self) -> list[Segment]:
        """Where the next commit is not there: nothing is new, or the log was cleaned up before it was read."""
        newest = max((int(file.stem) for file in self._log.glob("[0-9]" * 20 + ".json")), default=self.version)
        if newest == self.version or self._commit(self.version + 1).exists():  # it may have come meanwhile
            return []
        if self.version >= 0:
            wrong = "its log was cleaned up before the stream had read it, so tuples would be missing"
            right = "another name for the query to begin anew; delta.logRetentionDuration keeps more"
            raise self._changed(wrong, right, self.version + 1)
        return self._snapshot()

    def _snapshot(self) -> list[Segment]:
        """The table as it stands. Its files count as of version 0: who stops among them has not read any version."""
        table = self._table()
        self._check(table.metadata().configuration, table.metadata().partition_columns)
        if pa.table(table.deletion_vectors()).num_rows:
            wrong = "some of its rows are deleted by deletion vectors, and its files still hold them"
            raise self._unfit(wrong, "a table without them: REORG TABLE … APPLY (PURGE) writes its files anew")
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        actions.sort(key=lambda action: (action["modification_time"], action["path"]))
        files = [(self._path(action["path"]), action["size_bytes"]) for action in actions]
        for gone in sorted(self._before.keys() - {str(file) for file, _ in files}):
            raise self._changed(
                f"{gone} was read, and compacted before the stream had read all of the table as it stood"
            )
        found = self._segments(files, 0)
        self.version, self._digest = table.version(), b""
        return found

    def _added(self, action: dict[str, Any]) -> tuple[Path, int] | None:
        """The file that an action added to what the table holds, and its size."""
        if "metaData" in action:
            self._check(action["metaData"].get("configuration", {}), action["metaData"].get("partitionColumns", []))
        what = action.get("remove") or action.get("add") or {}
        if not what.get("dataChange", False):  # OPTIMIZE only moves rows
            return None
        if "remove" in action or what.get("deletionVector"):
            wrong = "it removed or changed rows, and a stream's log may only grow"
            right = "a table that is only appended to; or another name for the query, to begin anew"
            raise self._changed(wrong, right, self.version)
        return self._path(what["path"]), what["size"]

    def _segments(self, files: Sequence[tuple[Path, int] | None], version: int) -> list[Segment]:
        found: list[Segment] = []
        for file, size in (file for file in files if file is not None):
            self.types = merge_types(file, "delta", self.columns, self.types)
            before = self._before.get(str(file))
            rest = remaining(FORMATS["delta"].split(file), before.rows if before else 0)
            found += [replace(segment, size=size, version=version) for segment in rest]
        return found

    def _check(self, configuration: Mapping[str, str | None], partitions: list[str]) -> None:
        if configuration.get("delta.columnMapping.mode", "none") != "none":
            raise self._unfit("it maps columns to other names in its files", "a table without column mapping")
        for part, name in self.columns.named().items():
            if name in partitions:
                wrong = f"it is partitioned by {name}, which the query names as {part}: its files do not hold it"
                raise self._unfit(wrong, "a table that is partitioned by other columns")

    def _changed(
        self, wrong: str, right: str = "another name for the query, to begin anew", version: int | None = None
    ) -> SourceChanged:
        where = str(self.path) if version is None else f"{self.path}: version {version}"
        return SourceChanged([Problem(where, wrong, right)])

    def _unfit(self, wrong: str, right: str) -> Refused:
        return refuse(str(self.path), wrong, right)

    def _table(self) -> DeltaTable:
        wrong, right = "there is no Delta table", "the directory of one, which holds _delta_log"
        try:
            if not DeltaTable.is_deltatable(str(self.path)):
                raise refuse(str(self.path), wrong, right)
            return DeltaTable(str(self.path))
        except DeltaError as error:  # it goes, or comes, just now
            raise refuse(str(self.path), f"{wrong} that can be read ({error})", right) from error

    def _state(self) -> tuple[int, ...] | None:
        """Tells the file of the newest commit that was read from any other; None where it is gone."""
        try:
            now = self._commit(self.version).stat()
        except FileNotFoundError:
            return None
        return now.st_ino, now.st_mtime_ns, now.st_size

    def _path(self, encoded: str) -> Path:
        """Where a file is that an action names: by a URI, relative to the table's or absolute."""
        return self.path / unquote(urlsplit(encoded).path if encoded.startswith("file:") else encoded)

    def _commit(self, version: int) -> Path:
        return self._log / f"{version:020d}.json"
