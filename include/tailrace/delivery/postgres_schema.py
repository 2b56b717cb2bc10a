"""A table of PostgreSQL for answers: its columns and types, the statement that makes it, and how it differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.errors import refuse
from tailrace.query.query import Query
from tailrace.sources.postgres_server import quoted

_FILL = 80
"""The percentage of a page that new rows fill: a newer version of a row finds room beside it, and changes no index."""

_LONGEST_NAME = 63  # bytes: PostgreSQL cuts longer ones
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


@dataclass(frozen=True)
class AnswerColumns:
    """The columns of a table for answers.

    Attributes
    ----------
    types : mapping of str to str
        The type of each column, as PostgreSQL's `format_type` writes it.
    identity : tuple of str
        The columns that identify an answer; of some kinds it has several rows.
    row_identity : tuple of str
        The primary key: the columns that identify a row. The time of `horizon` is the first of them, so that new
        answers come to the end of the index.
    horizon : str or None
        The column of the identity that grows with the stream; None where the kind has no such column.
    """

    types: Mapping[str, str]
    identity: tuple[str, ...]
    row_identity: tuple[str, ...]
    horizon: str | None

    @staticmethod
    def of(public: PublicAnswers, query: Query) -> AnswerColumns:
        """Return the columns of a query's answers; without a key, there is no column for it.

        Raises
        ------
        Refused
            When PostgreSQL has no such column.
        """
        is_keyless = "key" in public.identity and all(stream.key is None for stream in query.streams.values())

        def present(columns: Sequence[str]) -> tuple[str, ...]:
            return tuple(
                name for name in columns if not (is_keyless and name == "key")
            )  # it is null: in no primary key

        types = {name: _type_of(public.schema.field(name)) for name in present(public.schema.names)}
        horizon = public.model.horizon_columns[0] if public.horizon_is_fixed else None
        row_identity = sorted(present(public.row_identity), key=lambda name: name != horizon)
        return AnswerColumns(types, present(public.identity), tuple(row_identity), horizon)

    def create(self, table: str) -> str:
        """Return the statement that makes a table."""
        columns = [
            f"{quoted(name)} {dtype}{_of_key(dtype) if name in self.row_identity else ''}"
            for name, dtype in self.types.items()
        ]
        key = f"PRIMARY KEY ({names(self.row_identity)})"
        return f"CREATE TABLE {table} ({', '.join(columns)}, {key}) WITH (fillfactor = {_FILL})"

    def alterations(
        self, table: str, there: Mapping[str, str], key: Sequence[str], constraint: str | None, required: Sequence[str]
    ) -> list[str]:
        """Return the statements that make a table fit; none where it does.

        Parameters
        ----------
        there : mapping of str to str
            The types of its columns.
        key : sequence of str
            Its primary key, by the name `constraint`.
        required : sequence of str
            Its NOT NULL columns outside the key that have no default.
        """
        alter = f"ALTER TABLE {table}"
        statements = []
        if set(key) != set(self.row_identity):
            statements.append(f"TRUNCATE {table};")  # a new column of the key has no values for its rows
            if constraint is not None:
                statements.append(f"{alter} DROP CONSTRAINT {quoted(constraint)};")
        for name, dtype in self.types.items():
            column = quoted(name)
            if name not in there:
                statements.append(f"{alter} ADD COLUMN {column} {dtype};")
            elif there[name] != dtype:
                statements.append(f"{alter} ALTER COLUMN {column} TYPE {dtype} USING {column}::{dtype};")
        foreign = [name for name in required if name not in self.types or name not in self.row_identity]
        statements += [f"{alter} ALTER COLUMN {quoted(name)} DROP NOT NULL;" for name in foreign]
        if set(key) != set(self.row_identity):
            statements.append(f"{alter} ADD PRIMARY KEY ({names(self.row_identity)});")
        return statements


def names(columns: Sequence[str], prefix: str = "") -> str:
    """Return the list of columns as statements name them."""
    return ", ".join(f"{prefix}{quoted(name)}" for name in columns)


def _of_key(dtype: str) -> str:
    """Return the rest of a key column's definition; text is compared bytewise, which is faster."""
    return ' COLLATE "C" NOT NULL' if dtype == "text" else " NOT NULL"


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
