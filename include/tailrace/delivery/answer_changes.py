"""Finds the answers that have changed since earlier versions of a query's tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.files.object_path import Location
from tailrace.sources.discovery.object_files import open_location
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.results import AnswerTables
from tailrace.storage.table_files import read_commit, resolve_file
from tailrace.tables.every import in_ms

Position = dict[str, int]
"""The versions up to which tables were read: for each, `id NAME`, `version NAME`, and `digest NAME` of the commit.

Ids and digests are numbers.
"""

_ABSENT = 0  # the id of a missing table, and the digest of a commit that is no longer in the log


@dataclass(frozen=True)
class AnswerChanges:
    """Reads which answers have changed since a position.

    Attributes
    ----------
    tables : OpenedTables
        Each is read at one version, the one in `position`, so that no correction is seen in part.
    since : callable
        Returns a value of the earlier position by its name; None if it is unknown.
    """

    tables: OpenedTables
    public: PublicAnswers
    since: Callable[[str], int | None]

    @cached_property
    def position(self) -> Position:
        """The position: the versions of the tables that are read."""
        ids = {f"id {name}": self._id(name) for name in self._names}
        versions = {name: self.tables.open(name).version() for name in self._names if self.tables.has(name)}
        digests = {f"digest {name}": self._digest(name, version) for name, version in versions.items()}
        return ids | {f"version {name}": version for name, version in versions.items()} | digests

    @property
    def commits(self) -> int:
        """The number of commits since the earlier position; each refresh reads the log from there."""
        versions = {name: version for name, version in self.position.items() if name.startswith("version ")}
        return sum(version - (self.since(name) or 0) for name, version in versions.items())

    @cached_property
    def affected(self) -> dict[str, pa.Table] | None:
        """The identities of the answers that have new rows, by table; times in ms.

        A pair may occur with several times.

        None if all answers may have changed, because a table is another one than before, or its log does not reach
        back.
        """
        model, affected = self.public.model, dict[str, pa.Table]()
        nothing = self.tables.empty("results", model.identity.columns)
        for name in self._names:
            files = self.files_of(name)
            if files is None:
                return None
            try:
                rows = [self._affected_by(name, file).cast(nothing.schema) for file in files]
            except FileNotFoundError:  # the file was removed too long ago
                return None
            affected[name] = pa.concat_tables([nothing, *rows]).group_by(nothing.column_names).aggregate([])
        return affected

    @property
    def _names(self) -> list[str]:
        """The tables from which the answers and their coverage are computed."""
        return ["results", "corrections", *(["late"] if self.public.model.can_lack_tuples else [])]

    def _id(self, name: str) -> int:
        if not self.tables.has(name):
            return _ABSENT
        return _number(str(self.tables.open(name).metadata().id).encode())

    def _digest(self, name: str, version: int) -> int:
        """Return the digest of a table's commit: a restored backup may reuse the version for another commit."""
        try:
            return _number(read_commit(self.tables.layout.table(name) / "_delta_log" / f"{version:020d}.json"))
        except FileNotFoundError:
            return _ABSENT

    def files_of(self, name: str) -> list[Location] | None:
        """List the files that changed a table; None if it was replaced, or restored to an older version."""
        before, since = self.since(f"id {name}"), self.since(f"version {name}")
        if not self.tables.has(name):
            return [] if before == _ABSENT else None
        until = self.tables.open(name).version()
        if before == _ABSENT:
            since = -1
        elif before != self._id(name) or since is None or self._goes_back(name):
            return None
        return _changed_files(self.tables.layout.table(name), since, until)

    @property
    def goes_back(self) -> bool:
        """Whether a table has an older state than before, as after a restore: missing rows may come again."""
        return any(map(self._goes_back, self._names))

    def _goes_back(self, name: str) -> bool:
        before, since = self.since(f"id {name}"), self.since(f"version {name}")
        if not self.tables.has(name):
            return before not in (None, _ABSENT)
        if since is None or before != self._id(name):
            return False
        return since > self.tables.open(name).version() or self._is_other(name, since)

    def _is_other(self, name: str, version: int) -> bool:
        """Test whether a version's commit has changed since it was read; False if a digest is unknown."""
        digests = {self.since(f"digest {name}") or _ABSENT, self._digest(name, version)} - {_ABSENT}
        return len(digests) > 1

    def _affected_by(self, name: str, file: Location) -> pa.Table:
        model = self.public.model
        columns = ["key", model.late_time, "frontier"] if name == "late" else [*model.identity.columns]
        rows = in_ms(pq.read_table(open_location(file), columns=columns), name)
        return AnswerTables(self.tables, model).missed_by(rows) if name == "late" else rows


def _number(content: bytes) -> int:
    """Return 56 bits of the digest of bytes as a number, which is never 0."""
    return int.from_bytes(sha256(content).digest()[:7]) + 1


def _changed_files(table: Location, since: int, until: int) -> list[Location] | None:
    """List the files that were added or removed after version `since`, up to version `until`, with their rows.

    Files that a compaction has only rewritten are left out.

    Returns
    -------
    list of Location, or None
        None when the log does not reach back to `since`.
    """
    files: dict[str, Location] = {}
    for version in range(since + 1, until + 1):
        try:
            content = read_commit(table / "_delta_log" / f"{version:020d}.json")
        except FileNotFoundError:
            return None
        files |= {uri: resolve_file(uri, table) for uri in _changed(content)}
    return list(files.values())


def _changed(commit: bytes) -> Iterator[str]:
    for line in commit.splitlines():
        action: dict[str, Any] = json.loads(line)
        change = action.get("add") or action.get("remove") or {}
        if change.get("dataChange", False):
            yield change["path"]
