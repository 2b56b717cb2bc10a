"""Reads columns of a PostgreSQL table into Arrow, in one snapshot."""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tailrace.ground.errors import refuse
from tailrace.kind.table_place import require_columns
from tailrace.sources.carried_columns import CARRIABLE
from tailrace.sources.lookup.postgres_server import quoted
from tailrace.sources.lookup.postgres_table import PostgresTable

if TYPE_CHECKING:
    from psycopg2.extensions import cursor as Cursor

PART_BYTES = 16 << 20
LOCK_TIMEOUT = "SET lock_timeout = '5s'"  # a table may be locked by a long transaction of another session
_FAR = (1 << 63) - 1  # µs; can be negated, unlike the least int64
_FAR_DAYS = (1 << 31) - 1
_MOST_DIGITS = 38  # digits of Arrow's decimals

_RELATIONS = "rvmpf"
"""Kinds of relations that have rows: tables, views, materialized views, partitioned and foreign tables."""

_RELATION = "SELECT oid::bigint, relkind, relhassubclass OR relrowsecurity FROM pg_class WHERE oid = to_regclass(%s)"

_TOKEN = (
    "SELECT pg_current_snapshot()::text, pg_postmaster_start_time()::text, "
    "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text END"
)
"""A standby's snapshot does not list transactions in progress, so the position of its replay is added."""

_COLUMNS = (
    "SELECT a.attname, COALESCE(b.typname, t.typname), COALESCE(b.typtype, t.typtype), "
    "CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END "
    "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype "
    "WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)


class _Type(NamedTuple):
    """How a column of a type is sent and read.

    Attributes
    ----------
    sent : str
        The expression that is sent, with {} for the column.
    parsed : DataType
        The type of the CSV's column.
    finish : callable
        Converts the parsed column to its values.
    """

    sent: str
    parsed: pa.DataType
    finish: Callable[[pa.Array], pa.Array] = lambda column: column


def _from_hex(column: pa.Array) -> pa.Array:
    """Decode texts of hexadecimal digits, all at once."""
    lengths = np.asarray(pc.fill_null(pc.binary_length(column), 0), np.int64) // 2
    ends = np.concatenate([[0], lengths.cumsum()])
    digits = b"" if column.buffers()[2] is None else column.buffers()[2].slice(0, 2 * int(ends[-1]))
    is_valid = column.is_valid().buffers()[1] if column.null_count else None
    buffers = [is_valid, pa.py_buffer(ends), pa.py_buffer(unhexlify(digits))]
    return pa.Array.from_buffers(pa.large_binary(), len(column), buffers)


def _time(epoch: str, far: int) -> str:
    """Return the expression of a time as an integer; infinity becomes later than any time."""
    infinite = f"WHEN {{0}} > '2000-01-01' THEN {far} WHEN {{0}} IS NOT NULL THEN -{far}"
    return f"CASE WHEN isfinite({{0}}) THEN {epoch} {infinite} END"


_US = _time("(extract(epoch FROM {0}) * 1000000)::bigint", _FAR)
_TEXT = _Type("{}::text", pa.string())
_BINARY = _Type("encode({}, 'hex')", pa.string(), _from_hex)
_HEX = _BINARY._replace(sent="{}")
_TYPES: dict[str, _Type] = {
    "bool": _Type("{}", pa.bool_()),
    "int2": _Type("{}", pa.int16()),
    "int4": _Type("{}", pa.int32()),
    "int8": _Type("{}", pa.int64()),
    "float4": _Type("{}", pa.float32()),
    "float8": _Type("{}", pa.float64()),
    "date": _Type(_time("{0} - DATE '1970-01-01'", _FAR_DAYS), pa.int32(), lambda column: column.cast(pa.date32())),
    "timestamp": _Type(_US, pa.int64(), lambda column: column.cast(pa.timestamp("us"))),
    "timestamptz": _Type(_US, pa.int64(), lambda column: column.cast(pa.timestamp("us", "UTC"))),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext", "uuid"), _TEXT),
    "bytea": _BINARY,
    **dict.fromkeys(("geometry", "geography"), _HEX),  # of PostGIS, whose text is WKB in hexadecimal digits
}


class PostgresColumns:
    """A PostgreSQL table or view whose columns are read by COPY."""

    def __init__(self, table: PostgresTable) -> None:
        self.table = table

    def __str__(self) -> str:
        return f"{self.table.table} of {self.table.server}"

    def token(self) -> Hashable:
        """Return a value that changes whenever rows may have changed: the server's snapshot of committed transactions.

        Each change of a table is a transaction, whose end changes the snapshot. Rows of a view, of a foreign or
        partitioned table, or of one with row policies may change otherwise: then return None, for a possible change.

        Raises
        ------
        Refused
            When the table does not exist, or the login is not sufficient.
        ConnectionError
            When the server is unavailable.
        """
        with self.table.server.session() as session, session.cursor() as cursor:
            oid, kind, has_others = self._relation(cursor)
            if kind not in "rm" or has_others:
                return None
            cursor.execute(_TOKEN)
            return oid, cursor.fetchone()

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read columns of all rows in one snapshot.

        Bytes and geometries are binary; infinite times are later, or earlier, than any other.

        Raises
        ------
        WrongColumn
            When the table lacks a column.
        Refused
            As in `token`, and for a column of a type without a counterpart.
        ConnectionError
            When the server is unavailable, or another session has locked the table for long.
        """
        with self.table.server.session() as session:
            session.set_session(isolation_level="REPEATABLE READ", readonly=True)
            with session.cursor() as cursor:
                cursor.execute(LOCK_TIMEOUT)
                types = self._types(cursor, columns)
                rows = _Rows(types)
                sent = ", ".join(dtype.sent.format(quoted(name)) for name, dtype in types.items())
                cursor.copy_expert(f"COPY (SELECT {sent} FROM {self.table.quoted}) TO STDOUT (FORMAT csv)", rows)
                return self._parsed(rows)

    def _relation(self, cursor: Cursor) -> tuple[int, str, bool]:
        cursor.execute(_RELATION, (self.table.quoted,))
        fetched = cursor.fetchone()
        if fetched is None or fetched[1] not in _RELATIONS:
            remedy = "a table, or a view, that is there; with its schema, unless it is in the login's search path"
            raise refuse(str(self), "there is no such table", remedy)
        oid, kind, has_others = fetched
        return oid, kind, has_others

    def _types(self, cursor: Cursor, columns: Sequence[str]) -> dict[str, _Type]:
        cursor.execute(_COLUMNS, (self._relation(cursor)[0],))
        fetched = {name: of_type for name, *of_type in cursor.fetchall()}
        require_columns(str(self), [*fetched], tuple(columns))
        return {name: self._type(name, *fetched[name]) for name in dict.fromkeys(columns)}

    def _type(self, column: str, name: str, sort: str, modifier: int) -> _Type:
        if sort == "e":  # enum
            return _TEXT
        if name == "numeric" and modifier >= 0:
            digits, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
            if digits <= _MOST_DIGITS and scale <= digits:
                return _Type("{}", pa.decimal128(digits, scale))
        if name not in _TYPES:
            remedy = f"{CARRIABLE}, bytes or a geometry; a view may cast it, as to numeric(12,2) or text"
            fault = f"it is of the type {name}" + (", without digits that fit" if name == "numeric" else "")
            raise refuse(f"{self}: {column}", fault, remedy)
        return _TYPES[name]

    def _parsed(self, rows: _Rows) -> pa.Table:
        try:
            return rows.table()
        except pa.ArrowInvalid as error:
            raise refuse(str(self), f"its rows can't be read: {error}", CARRIABLE) from None


class _Rows:
    """The rows from COPY, parsed part by part: each call of `write` brings one or more complete rows."""

    def __init__(self, types: dict[str, _Type]) -> None:
        self.types = types
        self._waiting = bytearray()
        self._parts: list[pa.Table] = []

    def write(self, rows: bytes) -> None:
        self._waiting += rows
        if len(self._waiting) >= PART_BYTES:
            self._parse()

    def table(self) -> pa.Table:
        self._parse()
        return pa.concat_tables(self._parts)

    def _parse(self) -> None:
        names = [*self.types]
        if self._waiting:
            part = pa.csv.read_csv(
                pa.BufferReader(bytes(self._waiting)),
                pa.csv.ReadOptions(column_names=names, use_threads=False, block_size=len(self._waiting) + 1),
                pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                pa.csv.ConvertOptions(
                    column_types={name: dtype.parsed for name, dtype in self.types.items()},
                    null_values=[""],
                    true_values=["t"],
                    false_values=["f"],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        else:
            part = pa.table({name: pa.array([], dtype.parsed) for name, dtype in self.types.items()})
        self._waiting.clear()
        values = [dtype.finish(part[name].combine_chunks()) for name, dtype in self.types.items()]
        self._parts.append(pa.table(values, names))
