"""Lookups: add columns of a table to a stream's records, by a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Ints
from tailrace.ground.facts import Subject
from tailrace.ground.files.object_path import Location
from tailrace.kind.table_place import OnNoMatch
from tailrace.sources.lookup.lookup_table import LookupTable, LookupVersion, stored_version, texts_among
from tailrace.sources.verdict import RecordVerdict

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Lookup:
    """A lookup of a stream, a frozen value that is sent to every worker.

    Attributes
    ----------
    name : str
        Its name in the query file.
    subject : str
        The subject of the facts about the version of the table in force.
    keys : tuple of str
        The stream's columns that are compared with the table's key: columns of the source, or of earlier lookups.
    on_no_match : str
        The treatment of a record without a row: `null` in all columns, left out as by a `where`, or rejected.
    is_repeated : bool
        Whether a correction repeats the lookup, in the newest version of the table.
    types : tuple of (str, DataType)
        The types of its columns, from the first version; empty before that is known.
    """

    name: str
    subject: Subject
    table: LookupTable
    keys: tuple[str, ...]
    on_no_match: OnNoMatch
    is_repeated: bool = False
    types: tuple[tuple[str, pa.DataType], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns in the stream."""
        return tuple(name for name, _ in self.table.columns)

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of its columns that are texts."""
        return texts_among(self.types)

    @property
    def needs_event_time(self) -> bool:
        """Whether the event time of a record decides which row is valid."""
        return any(name is not None for name in self.table.valid)


Versions = Mapping[Subject, LookupVersion]
"""The version in force of each lookup's table."""

NO_VERSIONS: Versions = {}


def stored_versions(lookups: Sequence[Lookup], files: Mapping[Subject, Location]) -> Versions:
    """Read the stored version of each lookup's table, given by `files`."""
    return {each.subject: stored_version(each.table, files[each.subject], each.texts) for each in lookups}


def look_up(
    verdict: RecordVerdict, raw: pa.Table, lookups: Sequence[Lookup], versions: Versions, event_us: Ints | None
) -> tuple[pa.Table, Mask]:
    """Add the columns of lookups to n raw records, in order; a column replaces one of the same name.

    Parameters
    ----------
    event_us : ndarray, shape (n,), or None
        The event times in microseconds; needed if rows have a validity.

    Returns
    -------
    raw : Table
    dropped : ndarray, shape (n,)
        The records that lookups with `on_no_match: drop` leave out, as they meet no row.
    """
    dropped = np.zeros(raw.num_rows, bool)
    for lookup in lookups:
        version = versions[lookup.subject]
        rows = version.index.find([raw.column(name).combine_chunks() for name in lookup.keys], event_us)
        if lookup.on_no_match == "drop":
            dropped |= (rows < 0) & (verdict.code == 0)
        elif lookup.on_no_match == "quarantine":
            reason = f"lookup {lookup.name} has no row for its {' and '.join(lookup.keys)}"
            verdict.reject((rows < 0) & ~dropped, reason)
        for name, dtype in lookup.types:
            column, index = version.take(name, rows, dtype), raw.schema.get_field_index(name)
            raw = raw.append_column(name, column) if index < 0 else raw.set_column(index, name, column)
    return raw, dropped
