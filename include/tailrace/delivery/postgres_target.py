"""A query's PostgreSQL table in a session: its owner, its fitness, and the position up to which it has answers.

The position is in the table `tailrace_positions` beside it, and changes in the same transaction as the answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailrace.delivery.postgres_schema import UNIQUE, AnswerColumns, TableKey
from tailrace.ground.errors import Busy, Problem, refuse
from tailrace.sources.lookup.postgres_server import quoted, takes_lock
from tailrace.sources.lookup.postgres_table import PostgresTable

if TYPE_CHECKING:
    from psycopg2.extensions import cursor as Cursor

POSITIONS = "tailrace_positions"
"""The table with the positions of the tables of answers in its schema."""

LOCK_TIMEOUT = "5s"
"""The longest wait for a lock of another session on a table."""

_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod), attnotnull AND NOT atthasdef AND attidentity = ''
FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_TABLE = "table"  # the name of the table's id in positions
_KEYS = """
SELECT conname, contype = 'u', (
    SELECT array_agg(attname::text ORDER BY place) FROM unnest(conkey) WITH ORDINALITY AS keys(number, place)
    JOIN pg_attribute ON attrelid = conrelid AND attnum = number)
FROM pg_constraint WHERE conrelid = %s::regclass AND (contype = 'p' OR pg_get_constraintdef(oid) LIKE %s)
ORDER BY contype DESC, conname
"""
NULLS_EQUAL = 150_000  # the first version of PostgreSQL with unique keys in which nulls are equal


@dataclass(frozen=True)
class PostgresTarget:
    """A table of answers, for one transaction.

    Attributes
    ----------
    owner : str
        The query of its answers, and the query's home, as in the table's comment.
    schema : str
        The table's schema.
    """

    declared: PostgresTable
    columns: AnswerColumns
    owner: str
    cursor: Cursor
    schema: str

    @staticmethod
    def find(declared: PostgresTable, columns: AnswerColumns, owner: str, cursor: Cursor) -> PostgresTarget:
        """Find the table's schema.

        Raises
        ------
        Refused
            When there is no such schema, or the login may not create or write tables in it.
        """
        cursor.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname = coalesce(%s, current_schema())",
            (declared.schema_name,),
        )
        fetched, where = cursor.fetchone(), f"answers.postgres: table {declared.table}"
        if fetched is None:
            schema = declared.schema_name
            fault = (
                "no schema of the login's search path is there" if schema is None else f"there is no schema {schema}"
            )
            raise refuse(where, fault, f"CREATE SCHEMA {quoted(schema or 'public')};")
        version = cursor.connection.server_version
        if columns.nullable and version < NULLS_EQUAL:
            fault = f"a null may be a key, and the keys of PostgreSQL {version // 10_000} take no null as a value"
            raise refuse(where, fault, "PostgreSQL 15 or later; or null_key: quarantine, beside the key of the stream")
        target = PostgresTarget(declared, columns, owner, cursor, *fetched)
        _require_rights(cursor, where, target.schema, [target.table, target._positions])
        return target

    @property
    def table(self) -> str:
        """The table's name in statements."""
        return f"{quoted(self.schema)}.{quoted(self.declared.table_name)}"

    @property
    def _positions(self) -> str:
        return f"{quoted(self.schema)}.{POSITIONS}"

    def lock(self, wait_s: float) -> None:
        """Take the lock of the table's writers until the transaction ends.

        Raises
        ------
        Busy
            When another writer still has it after `wait_s`.
        """
        if not self._takes_lock(wait_s):
            fault = "another process brings it up to date"
            raise Busy([Problem(f"answers.postgres: table {self.declared.table}", fault, "to try again")])
        self.cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")

    def _takes_lock(self, wait_s: float) -> bool:
        if not wait_s:
            self.cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", (self.table,))
            return self._row() == (True,)
        self.cursor.execute(f"SET LOCAL lock_timeout = {max(1, int(wait_s * 1000))}")
        return takes_lock(self.cursor, "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self.table,))

    def check(self) -> bool:
        """Check the table if it exists; return whether it does.

        Raises
        ------
        Refused
            When it has another query's answers or somebody's rows, or does not fit these answers.
        """
        where = f"answers.postgres: table {self.declared.table}"
        if not self._is_there(self.table):
            return False
        comment = self._comment()
        if comment is not None and comment.startswith("answers of query ") and comment != self.owner:
            remedy = (
                f"another table; or, where it is this query's, COMMENT ON TABLE {self.table} IS {_text(self.owner)};"
            )
            raise refuse(where, f"it has {comment}", remedy)
        if comment != self.owner and not may_comment(self.cursor, self.table):
            remedy = f"its owner runs: COMMENT ON TABLE {self.table} IS{_text(self.owner)};"
            raise refuse(where, "no comment names its query, and the login may set none", remedy)
        if comment != self.owner and not self.is_empty():
            raise refuse(where, "it has rows that tailrace did not write", "another table, or an empty one")
        self.cursor.execute(_COLUMNS, (self.table,))
        rows = self.cursor.fetchall()
        types, required = (
            {name: dtype for name, dtype, _ in rows},
            [name for name, _, is_required in rows if is_required],
        )
        alterations = self.columns.alterations(self.table, types, self._key(), required)
        if alterations:
            if self._is_there(self._positions):  # last, as the rows lack values for the new columns
                alterations.append(self._forget())
            raise refuse(where, "the answers have other columns", "\n    ".join(["to run", *alterations]))
        return True

    def _key(self) -> TableKey | None:
        """Return the key of the table (of several, one that fits); None without one."""
        self.cursor.execute(_KEYS, (self.table, f"{UNIQUE} (%"))
        keys = [TableKey(name, tuple(columns), is_unique) for name, is_unique, columns in self.cursor.fetchall()]
        return next((key for key in keys if self.columns.is_fit(key)), keys[0] if keys else None)

    def create(self) -> None:
        """Create the table and the table of positions if they do not exist, and name the owner."""
        if not self._is_there(self._positions):
            self.cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self._positions,))
            self.cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {self._positions} "
                "(table_name text PRIMARY KEY, position text NOT NULL, delivered_at timestamptz NOT NULL)"
            )
        if not self.check():
            self.cursor.execute(self.columns.create(self.table))
        if self._comment() != self.owner:  # a comment waits for a running vacuum
            self.cursor.execute(f"COMMENT ON TABLE {self.table} IS {_text(self.owner)}")

    def takes_copies(self) -> bool:
        """Return whether rows can be copied into the table; a table with row policies only allows INSERT."""
        self.cursor.execute("SELECT NOT row_security_active(%s::regclass)", (self.table,))
        return self._row() == (True,)

    def is_empty(self) -> bool:
        """Return whether the table has no row."""
        self.cursor.execute(f"SELECT NOT EXISTS (SELECT FROM {self.table})")
        return self._row() == (True,)

    def last_us(self) -> int | None:
        """Return the greatest horizon of an answer in the table, in µs; None without one.

        A table whose key begins with another column, such as one made by hand, is not searched.
        """
        horizon, key = self.columns.horizon, self._key()
        if horizon is None or key is None or key.columns[0] != horizon:
            return None
        self.cursor.execute(f"SELECT (extract(epoch FROM max({quoted(horizon)})) * 1000000)::bigint FROM {self.table}")
        (last_us,) = self._row()
        return None if last_us is None else int(last_us)

    def position(self) -> dict[str, Any] | None:
        """Return the position up to which answers were delivered; None if it is unknown, or of another table."""
        self.cursor.execute(
            f"SELECT position FROM {self._positions} WHERE table_name = %s", (self.declared.table_name,)
        )
        fetched = self.cursor.fetchone()
        position = {_TABLE: None} if fetched is None else json.loads(fetched[0])
        return position if position.pop(_TABLE, None) == self._id else None

    def store(self, position: Mapping[str, Any]) -> None:
        """Store the position, as part of the transaction."""
        self.cursor.execute(
            f"INSERT INTO {self._positions} VALUES (%s, %s, clock_timestamp()) ON CONFLICT (table_name) "
            "DO UPDATE SET position = excluded.position, delivered_at = excluded.delivered_at",
            (self.declared.table_name, json.dumps({_TABLE: self._id, **position})),
        )

    @property
    def _id(self) -> int:
        """An id that distinguishes the table from a dropped one of the same name."""
        self.cursor.execute("SELECT %s::regclass::oid::bigint", (self.table,))
        (number,) = self._row()
        return int(number)

    def _forget(self) -> str:
        """Return the statement after which the next delivery sends all answers."""
        return f"DELETE FROM {self._positions} WHERE table_name ={_text(self.declared.table_name)};"

    def _comment(self) -> str | None:
        self.cursor.execute("SELECT obj_description(%s::regclass, 'pg_class')", (self.table,))
        (comment,) = self._row()
        return None if comment is None else str(comment)

    def _is_there(self, table: str) -> bool:
        self.cursor.execute("SELECT to_regclass(%s) IS NOT NULL", (table,))
        return self._row() == (True,)

    def _row(self) -> Sequence[Any]:
        row = self.cursor.fetchone()
        assert row is not None
        return row


def _text(value: str) -> str:
    """Return a text as a literal, with the standard's strings or without."""
    return " E'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


_OF_TABLE = ["SELECT", "INSERT", "UPDATE", "DELETE"]


def _require_rights(cursor: Cursor, where: str, schema: str, tables: Sequence[str]) -> None:
    """Refuse a login that may not write existing tables, or create missing ones.

    Parameters
    ----------
    tables : sequence of str
        The names of the tables in statements.

    Raises
    ------
    Refused
    """
    if not _one(cursor, "SELECT has_schema_privilege(%s, 'USAGE')", schema):
        raise refuse(where, f"the login may not use schema {schema}", _grant("USAGE", f"SCHEMA {quoted(schema)}"))
    if not _one(cursor, "SELECT has_database_privilege(current_database(), 'TEMP')"):
        database = str(_one(cursor, "SELECT current_database()"))
        fault = f"the login may make no temporary tables in database {database}"
        raise refuse(where, fault, _grant("TEMP", f"DATABASE {quoted(database)}"))
    for table in tables:
        if _one(cursor, "SELECT to_regclass(%s) IS NOT NULL", table):
            held = "SELECT array_agg(r) FROM unnest(%s) r WHERE NOT has_table_privilege(%s::regclass, r)"
            if missing := _one(cursor, held, _OF_TABLE, table):
                rights = ", ".join(missing)
                raise refuse(where, f"the login has no right to {rights} on {table}", _grant(rights, table))
        elif not _one(cursor, "SELECT has_schema_privilege(%s, 'CREATE')", schema):
            fault = f"there is no table {table}, and the login may make none in schema {schema}"
            raise refuse(where, fault, _grant("CREATE", f"SCHEMA {quoted(schema)}"))


def may_comment(cursor: Cursor, table: str) -> bool:
    """Return whether the login may set a table's comment, as the owner, or with the owner's role."""
    return bool(_one(cursor, "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = %s::regclass", table))


def _grant(rights: str, what: str) -> str:
    return f"GRANT {rights} ON {what} TO its login;"


def _one(cursor: Cursor, statement: str, *arguments: object) -> Any:
    cursor.execute(statement, arguments or None)
    row = cursor.fetchone()
    assert row is not None
    return row[0]
