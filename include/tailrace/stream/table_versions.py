"""Versions of a table beside the streams: each changed content is stored, so that a replay reads the same."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Hashable, Mapping
from typing import NamedTuple

import pyarrow as pa

from tailrace.engine.lookup_types import table_types
from tailrace.engine.next_facts import with_table
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.facts import TABLE, Fact, Facts, Subject, newest
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location
from tailrace.kind.inputs import CheckedTable, ColumnTypes, TableInput
from tailrace.kind.table_place import WrongColumn
from tailrace.sources.carried_columns import holds_all
from tailrace.sources.lookup.dimension_sources import NOWHERE, DimensionSource, TableContent
from tailrace.sources.segments import Types
from tailrace.storage.delta_dimension import open_dimension

_WHOLE = ("delta", "postgres")
"""Formats whose content is a snapshot, even if the table changes while it is read."""

_SLOW_S, _RESTS = 3.0, 10
"""A failed check that takes longer than `_SLOW_S` seconds, such as at an unavailable server, is slow. Then checks rest
for
`_RESTS` times its duration.
"""


class TableVersion(NamedTuple):
    """A version of a table, as the value of a fact and its evidence."""

    value: dict[str, str]
    evidence: str


class TableVersions:
    """Checks the source of a table before each batch, and stores its content whenever it has changed.

    Unfit content, such as half a file, is reported as a problem; the version in force holds until the source changes
    again.

    Attributes
    ----------
    about : str
        The subject of the facts about its versions: the dimension table, or a lookup's table.
    table : TableInput
    directory : Path
        Where versions are stored, by the hash of their content.
    types : ColumnTypes
        The types that versions must have: the first version's.
    problem : str or None
        The reason why the newest content is not a version.
    """

    def __init__(
        self,
        table: TableInput,
        directory: Location,
        types: Types | None = None,
        waits: bool = True,
        about: Subject = TABLE,
    ) -> None:
        """Open a table whose types are known, or else inferred from its content, which is refused if it is unfit.

        If it `waits`, later unfit content is a problem that may pass. Otherwise it is refused, as in a bounded run.
        """
        self.about, self.table, self.directory, self.waits = about, table, directory, waits
        self.problem: str | None = None
        self._source = open_dimension(table.place)
        self._rests_until_s = 0.0
        self._seen: tuple[Hashable, str] | None = None  # a token, and the file in force or stored then
        self.types = (
            first_types(table, content_of(table, self._source).content) if types is None else table_types(types)
        )

    def stamped(self, facts: Facts, segments: int, batch: int) -> Facts:
        """Append the file's present version to the facts of the next batch, if it is new.

        `segments` is the ordinal of the first segment of the batch.
        """
        version = self.take(newest(facts, self.about))
        return facts if version is None else with_table(facts, *version, segments, batch, self.about)

    def take(self, last: Fact | None) -> TableVersion | None:
        """Return the file's present version; None if it is in force or unfit.

        Raises
        ------
        Refused
            When the file is unfit, and no version is in force or the stream does not wait for a better one.
        """
        began_s = time.monotonic()
        if last is not None and began_s < self._rests_until_s:
            return None
        try:
            seen, self._seen = self._seen, None  # a failed read or write is repeated
            token = self._token()
            if last is not None and token is not None and seen == (token, last.value["file"]):
                self._seen = seen
                return None
            self.problem = None
            read = content_of(self.table, self._source, NOWHERE if last is None else last.value)
            if self.table.place.format not in _WHOLE and self._token() != token:
                raise refuse(str(self.table.place), "it changed while it was read", "files that are replaced whole")
            self._seen = None if last is None else (token, last.value["file"])  # also if it is unfit
            try:
                version = self._version(read, last)
            except OSError:
                self._seen = None
                raise
            if version is not None:
                self._seen = token, version.value["file"]
            return version
        except Refused as refused:
            if last is None or not self.waits:
                raise
            self.problem = str(refused)
            took_s = time.monotonic() - began_s
            if took_s > _SLOW_S:
                self._rests_until_s = began_s + _RESTS * took_s
            return None

    def _version(self, read: TableContent, last: Fact | None) -> TableVersion | None:
        name = f"{hashlib.sha256(read.content).hexdigest()}{self.table.place.suffix}"
        if last is not None and last.value["file"] == name:
            return None
        checked = check_later(self.table, read.content, self.types)
        self.directory.mkdir(parents=True, exist_ok=True)
        write_atomically(self.directory / name, read.content)
        return TableVersion({"file": name, **read.position}, f"{self.table.place}: {checked.rows}")

    def _token(self) -> Hashable:
        try:
            return self._source.token()
        except OSError as error:
            raise _unreadable(self.table, error) from None


def content_of(table: TableInput, source: DimensionSource, position: Mapping[str, str] = NOWHERE) -> TableContent:
    """Read a table's present content; `position` is as in `DimensionSource.read`.

    Raises
    ------
    Refused
        When it can't be read, or lacks a column; the refusal names the query file's field.
    """
    try:
        return source.read(position)
    except WrongColumn as wrong:
        raise wrong.in_fields(dict(table.place.fields)) from None
    except OSError as error:
        raise _unreadable(table, error) from None


def check_later(table: TableInput, content: bytes, first: ColumnTypes, suffix: str | None = None) -> CheckedTable:
    """Check a version after the first one, whose types must hold all values.

    Raises
    ------
    Refused
    """
    checked = table.check(content, suffix, first)
    dtypes = {"id": (checked.types.id, first.id)}
    dtypes |= {name: (dtype, first.carried[name]) for name, dtype in checked.types.carried.items()}
    is_csv = (table.place.suffix if suffix is None else suffix) == ".csv"
    for name, (dtype, before) in dtypes.items():
        is_known = not pa.types.is_null(dtype)  # without a column, no row has a value
        fits = dtype == before or (name != "id" and (holds_all(before, dtype) or _is_given_as(before, dtype, is_csv)))
        if is_known and not fits:
            fault = f"the type of {name} is {dtype}, in versions before {before}"
            raise refuse(str(table.place), fault, "one type, or another name for the query, to begin again")
    return checked


def _is_given_as(first: pa.DataType, dtype: pa.DataType, is_csv: bool) -> bool:
    """Test whether a later version may have this type: an integer for a first double; in CSV, any for text."""
    is_text = pa.types.is_string(first) and is_csv
    return bool(is_text or (pa.types.is_float64(first) and pa.types.is_integer(dtype)))


def _unreadable(table: TableInput, error: OSError) -> Refused:
    return refuse(str(table.place), f"it can't be read: {error.strerror or error}", "a readable table")


def first_types(table: TableInput, content: bytes, suffix: str | None = None) -> ColumnTypes:
    """Return the types of a first version from its content; text without a row.

    The suffix of a stored version names its format, which may differ from the declared one.

    Raises
    ------
    Refused
        When the content is unfit.
    """
    types = table.check(content, suffix).types
    id_, *dtypes = (pa.string() if pa.types.is_null(dtype) else dtype for dtype in (types.id, *types.carried.values()))
    return types._replace(id=id_, carried=dict(zip(types.carried, dtypes, strict=True)))
