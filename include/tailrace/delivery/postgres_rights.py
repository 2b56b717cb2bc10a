"""Checks that a login has the rights that deliveries to a table of PostgreSQL need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tailrace.ground.errors import refuse
from tailrace.sources.postgres_server import quoted

if TYPE_CHECKING:
    from psycopg2.extensions import cursor as Cursor

_OF_TABLE = ["SELECT", "INSERT", "UPDATE", "DELETE"]


def require_rights(cursor: Cursor, where: str, schema: str, tables: Sequence[str]) -> None:
    """Refuse a login that may not write the tables that are there, or make those that are not.

    Parameters
    ----------
    tables : sequence of str
        The tables as statements name them.

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
    """Return whether the login may set a table's comment: it is its owner, or has the owner's role."""
    return bool(_one(cursor, "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = %s::regclass", table))


def _grant(rights: str, what: str) -> str:
    return f"GRANT {rights} ON {what} TO its login;"


def _one(cursor: Cursor, statement: str, *arguments: object) -> Any:
    cursor.execute(statement, arguments or None)
    row = cursor.fetchone()
    assert row is not None
    return row[0]
