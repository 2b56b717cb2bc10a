"""The schema of a PostgreSQL table for answers: its columns and types, the statement to create it, and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.errors import refuse
from tailrace.query.query import Query
from tailrace.sources.lookup.postgres_server import quoted

_FILL = 80
"""The percentage of a page that new rows fill: a newer version of a row then fits beside it, and changes no index."""

_LONGEST_NAME = 63  # bytes; PostgreSQL truncates longer names
_TYPES = (
    (pa.types.is_timestamp, "timestamp with time zone"),
    (lambda dtype: pa.types.is_int8(dtype) or pa.types.is_int16(dtype), "smallint"),
    (pa.types.is_int32, "integer"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float32, "real"),
    (pa.types.is_float64, "double precision"),
    (lambda dtype: pa.types.is_string(dtype) or pa.types.is_large_string(dtype), "text"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_date, "date"),
)


PRIMARY, UNIQUE = "PRIMARY KEY", "UNIQUE NULLS NOT DISTINCT"
"""The forms of a table's key; the second one allows nulls, from PostgreSQL 15 on."""


class TableKey(NamedTuple):
    """The constraint that identifies a table's rows: its name, its columns, and whether these may be null."""

    name: str
    columns: tuple[str, ...]
    takes_nulls: bool


@dataclass(frozen=True)
class AnswerColumns:
    """The columns of a table for answers.

    Attributes
    ----------
    types : mapping of str to str
        The type of each column, as PostgreSQL's `format_type` writes it.
    identity : tuple of str
        The columns that identify an answer, which for some kinds has several rows.
    row_identity : tuple of str
        The primary key: the columns that identify a row. `horizon` is the first of them, so that new answers are added
        at the end of the index.
    horizon : str or None
        The column of the identity that grows with the stream; None if the kind has none.
    nullable : frozenset of str
        The columns of the identity that may be null. A primary key can't have them, so a unique key with equal nulls is
        used instead.
    """

    types: Mapping[str, str]
    identity: tuple[str, ...]
    row_identity: tuple[str, ...]
    horizon: str | None
    nullable: frozenset[str] = frozenset()

    @staticmethod
    def from_query(public: PublicAnswers, query: Query) -> AnswerColumns:
        """Return the columns of a query's answers; a query without a key has no column `key`.

        Raises
        ------
        Refused
            When PostgreSQL can't have such a column.
        """
        is_keyless = "key" in public.identity and all(stream.key is None for stream in query.streams.values())
        groups_nulls = any(stream.groups_nulls for stream in query.streams.values() if stream.key is not None)
        nullable = frozenset(query.key_names or ("key",)) if groups_nulls else frozenset[str]()

        def present(columns: Sequence[str]) -> tuple[str, ...]:
            return tuple(name for name in columns if not (is_keyless and name == "key"))  # it is always null

        types = {name: _type_of(public.schema.field(name)) for name in present(public.schema.names)}
        horizon = public.model.horizon_columns[0] if public.horizon_is_fixed else None
        row_identity = sorted(present(public.row_identity), key=lambda name: name != horizon)
        return AnswerColumns(types, present(public.identity), tuple(row_identity), horizon, nullable)

    def create(self, table: str) -> str:
        """Return the statement that creates a table."""
        columns = [f"{quoted(name)} {dtype}{self._of_key(name, dtype)}" for name, dtype in self.types.items()]
        return f"CREATE TABLE {table} ({', '.join(columns)}, {self._key}) WITH (fillfactor = {_FILL})"

    @property
    def _key(self) -> str:
        form = UNIQUE if self.nullable else PRIMARY
        return f"{form} ({names(self.row_identity)})"

    def _of_key(self, name: str, dtype: str) -> str:
        """Return the rest of a column's definition; texts of the key are compared bytewise, which is faster."""
        if name not in self.row_identity:
            return ""
        return (' COLLATE "C"' if dtype == "text" else "") + ("" if name in self.nullable else " NOT NULL")

    def is_fit(self, key: TableKey | None) -> bool:
        """Test whether a table's key identifies the rows of answers."""
        if key is None or set(key.columns) != set(self.row_identity):
            return False
        return key.takes_nulls or not self.nullable

    def alterations(
        self, table: str, there: Mapping[str, str], key: TableKey | None, required: Sequence[str]
    ) -> list[str]:
        """Return the statements that make a table fit; none if it fits.

        Parameters
        ----------
        there : mapping of str to str
            The types of its columns.
        key : TableKey or None
        required : sequence of str
            Its NOT NULL columns without a default.
        """
        alter = f"ALTER TABLE {table}"
        statements = []
        if key is None or set(key.columns) != set(self.row_identity):
            statements.append(f"TRUNCATE {table};")  # existing rows have no values for a new column of the key
        if key is not None and not self.is_fit(key):
            statements.append(f"{alter} DROP CONSTRAINT {quoted(key.name)};")
        for name, dtype in self.types.items():
            column = quoted(name)
            if name not in there:
                statements.append(f"{alter} ADD COLUMN {column} {dtype};")
            elif there[name] != dtype:
                statements.append(f"{alter} ALTER COLUMN {column} TYPE {dtype} USING {column}::{dtype};")
        foreign = [name for name in required if name not in {*self.row_identity} - self.nullable]
        statements += [f"{alter} ALTER COLUMN {quoted(name)} DROP NOT NULL;" for name in foreign]
        if not self.is_fit(key):
            statements.append(f"{alter} ADD {self._key};")
        return statements


def names(columns: Sequence[str], prefix: str = "") -> str:
    """Return the list of columns for a statement."""
    return ", ".join(f"{prefix}{quoted(name)}" for name in columns)


def _type_of(field: pa.Field) -> str:
    where = f"answers.postgres: column {field.name}"
    if len(field.name.encode()) > _LONGEST_NAME or "\0" in field.name:
        raise refuse(where, "PostgreSQL has no names as long as this", f"a name of at most {_LONGEST_NAME} bytes")
    if pa.types.is_decimal(field.type):
        return f"numeric({field.type.precision},{field.type.scale})"
    for is_type, dtype in _TYPES:
        if is_type(field.type):
            return dtype
    raise refuse(where, f"it is {field.type}, which stands in no column of PostgreSQL", "answers without it")
