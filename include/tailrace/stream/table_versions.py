"""Versions of a dimension table: the content of its file whenever that has changed, stored for every later replay."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tailrace.engine.next_facts import with_table
from tailrace.engine.stream_reader import table_types
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.facts import Fact, Facts, newest
from tailrace.ground.files import write_atomically
from tailrace.kind.inputs import ColumnTypes, TableInput
from tailrace.sources.carried_columns import holds_all
from tailrace.sources.segments import Types


class Version(NamedTuple):
    """A version of a table, as the value of a fact and its evidence."""

    value: dict[str, str]
    evidence: str


class TableVersions:
    """Follows the file of a dimension table.

    A version that is not fit, as half a file, is reported as a problem; the one in force holds until the file changes
    again.

    Attributes
    ----------
    table : TableInput
    directory : Path
        Where versions are stored, by the hash of their content.
    types : ColumnTypes
        The types that versions must have; those of the first version.
    problem : str or None
        The reason for which the newest content is no version.
    """

    def __init__(self, table: TableInput, directory: Path, types: Types | None = None) -> None:
        """Open a table whose types are known, or else follow from its content, which is refused if it is not fit."""
        self.table, self.directory = table, directory
        self.problem: str | None = None
        self._seen: tuple[int, ...] | None = ()
        self.types = self._first_types() if types is None else table_types(types)

    def stamped(self, facts: Facts, segments: int, batch: int) -> Facts:
        """Append the version that the file has now to the facts of the next batch, if it is a new one.

        `segments` is the ordinal of the first segment of the batch.
        """
        version = self.take(newest(facts, "table"))
        return facts if version is None else with_table(facts, *version, segments, batch)

    def take(self, last: Fact | None) -> Version | None:
        """Return the version that the file has now; None where it is the one in force, or none.

        Raises
        ------
        Refused
            When the file is not fit, and no version is in force.
        """
        seen = self._stat()
        if last is not None and seen == self._seen:
            return None
        try:
            version = self._version(last)
        except Refused as refused:
            if last is None:
                raise
            self.problem = str(refused)
        else:
            self.problem = None
        self._seen = seen
        return None if self.problem else version

    def _version(self, last: Fact | None) -> Version | None:
        content = self._content()
        digest = hashlib.sha256(content).hexdigest()
        name = f"{digest}{self.table.path.suffix.lower()}"
        if last is not None and last.value["file"] == name:
            return None
        self._require_same(self.table.types(content))
        self.directory.mkdir(parents=True, exist_ok=True)
        write_atomically(self.directory / name, content)
        return Version({"file": name}, f"{self.table.path}, {len(content):,} bytes")

    def _first_types(self) -> ColumnTypes:
        """The types of the first version; ids are texts where it has no rows."""
        types = self.table.types(self._content())
        for name, kind in types.carried.items():
            if pa.types.is_null(kind):
                wrong = f"no row has a value of {name}, so its type is not known"
                raise refuse(str(self.table.path), wrong, "a row with a value, or another column")
        return types._replace(id=pa.string()) if pa.types.is_null(types.id) else types

    def _require_same(self, types: ColumnTypes) -> None:
        """Refuse a version with a column of which the first one's type does not hold all values."""
        kinds = {"id": (types.id, self.types.id)}
        kinds |= {name: (kind, self.types.carried[name]) for name, kind in types.carried.items()}
        for name, (kind, first) in kinds.items():
            is_known = not pa.types.is_null(kind)  # else no row has a value
            if is_known and kind != first and not (name != "id" and holds_all(first, kind)):
                wrong = f"the type of {name} is {kind}, in versions before {first}"
                raise refuse(str(self.table.path), wrong, "one type, or another name for the query, to begin anew")

    def _content(self) -> bytes:
        try:
            return self.table.path.read_bytes()
        except OSError as error:
            wrong = f"it can't be read: {error.strerror or error}"
            raise refuse(str(self.table.path), wrong, "a readable file") from None

    def _stat(self) -> tuple[int, ...] | None:
        try:
            stat = self.table.path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
