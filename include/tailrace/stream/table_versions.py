"""Versions of a dimension table: the content of its file whenever that has changed, stored for every later replay."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import pyarrow as pa

from tailrace.engine.next_facts import with_table
from tailrace.engine.stream_reader import table_types
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.facts import Fact, Facts, newest
from tailrace.ground.files import write_atomically
from tailrace.ground.object_path import Location
from tailrace.ground.regular_files import read_regular
from tailrace.ground.source_roots import outside_roots
from tailrace.kind.inputs import ColumnTypes, TableInput
from tailrace.sources.carried_columns import holds_all
from tailrace.sources.segments import Types


class TableVersion(NamedTuple):
    """A version of a table, as the value of a fact and its evidence."""

    value: dict[str, str]
    evidence: str


class TableVersions:
    """Checks the file of a dimension table before each batch, and stores its content whenever that has changed.

    Content that is not fit, such as half a file, is reported as a problem; the version in force holds until the file
    changes again.

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

    def __init__(self, table: TableInput, directory: Location, types: Types | None = None, waits: bool = True) -> None:
        """Open a table whose types are known, or else follow from its content, which is refused if it is not fit.

        `waits`: content that is not fit later on is a problem that may pass; else it is refused, as by a bounded run.
        """
        self.table, self.directory, self.waits = table, directory, waits
        self.problem: str | None = None
        self._last_stat: tuple[int, ...] | None = ()
        self.types = self._first_types() if types is None else table_types(types)

    def stamped(self, facts: Facts, segments: int, batch: int) -> Facts:
        """Append the version that the file has now to the facts of the next batch, if it is a new one.

        `segments` is the ordinal of the first segment of the batch.
        """
        version = self.take(newest(facts, "table"))
        return facts if version is None else with_table(facts, *version, segments, batch)

    def take(self, last: Fact | None) -> TableVersion | None:
        """Return the version that the file has now; None where it is the one in force, or not fit.

        Raises
        ------
        Refused
            When the file is not fit, and no version is in force, or nothing waits for a better one.
        """
        stat = self._stat()
        if last is not None and stat == self._last_stat:
            return None
        self._last_stat, self.problem = (), None  # what can't be read now is tried again
        try:
            content = self._content()
            self._last_stat = stat
            return self._version(content, last)
        except Refused as refused:
            if last is None or not self.waits:
                raise
            self.problem = str(refused)
            return None

    def _version(self, content: bytes, last: Fact | None) -> TableVersion | None:
        name = f"{hashlib.sha256(content).hexdigest()}{self.table.path.suffix.lower()}"
        if last is not None and last.value["file"] == name:
            return None
        checked = self.table.check(content)
        self._require_same(checked.types)
        self.directory.mkdir(parents=True, exist_ok=True)
        write_atomically(self.directory / name, content)
        return TableVersion({"file": name}, f"{self.table.path}: {checked.rows}")

    def _first_types(self) -> ColumnTypes:
        """Return the types of the first version; text where there is no row."""
        types = self.table.check(self._content()).types
        id_, *dtypes = (
            pa.string() if pa.types.is_null(dtype) else dtype for dtype in (types.id, *types.carried.values())
        )
        return types._replace(id=id_, carried=dict(zip(types.carried, dtypes, strict=True)))

    def _require_same(self, types: ColumnTypes) -> None:
        """Refuse a version with a column of which the first one's type does not hold all values."""
        dtypes = {"id": (types.id, self.types.id)}
        dtypes |= {name: (dtype, self.types.carried[name]) for name, dtype in types.carried.items()}
        for name, (dtype, first) in dtypes.items():
            is_known = not pa.types.is_null(dtype)  # else no row has a value
            fits = dtype == first or (name != "id" and (holds_all(first, dtype) or self._is_given_as(first, dtype)))
            if is_known and not fits:
                fault = f"the type of {name} is {dtype}, in versions before {first}"
                raise refuse(str(self.table.path), fault, "one type, or another name for the query, to begin again")

    def _is_given_as(self, first: pa.DataType, dtype: pa.DataType) -> bool:
        """Return whether a later version may give a column in another type: 2 for 2.0, and in CSV any text."""
        is_text = pa.types.is_string(first) and self.table.path.suffix.lower() == ".csv"
        return bool(is_text or (pa.types.is_float64(first) and pa.types.is_integer(dtype)))

    def _content(self) -> bytes:
        if (problem := outside_roots(self.table.path)) is not None:  # it may have become a symbolic link
            raise Refused([problem])
        try:
            return read_regular(self.table.path)
        except OSError as error:
            fault = f"it can't be read: {error.strerror or error}"
            raise refuse(str(self.table.path), fault, "a readable file") from None

    def _stat(self) -> tuple[int, ...] | None:
        try:
            stat = self.table.path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino
