"""The fields of a query file that name a table of PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Self

from pydantic import Field, model_validator

from tailrace.ground.extras import validate_extra
from tailrace.ground.fields import Name, Section
from tailrace.kind.table_place import DatabaseTable
from tailrace.sources.lookup.postgres_server import PostgresServer, quoted

_TABLE = r"^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$"

TableName = Annotated[str, Field(pattern=_TABLE)]
"""Pydantic field type of a table's name, with its schema or without."""


class PostgresTable(Section):
    """A table in the database of a connection."""

    connection: Name = Field(description="Airflow connection with host, login and database: reports_db")
    table: TableName = Field(description="name of the table, with or without its schema: reports.revenue")

    @model_validator(mode="after")
    def _validate_library(self) -> Self:
        validate_extra("postgres")
        return self

    @property
    def server(self) -> PostgresServer:
        return PostgresServer(self.connection)

    @property
    def schema_name(self) -> str | None:
        """The schema; None: the login's `current_schema()`."""
        return self.table.rpartition(".")[0] or None

    @property
    def table_name(self) -> str:
        return self.table.rpartition(".")[2]

    @property
    def quoted(self) -> str:
        """The table as statements name it."""
        return ".".join(map(quoted, self.table.split(".")))

    def uri(self) -> str:
        """Return the table as a URI, which is the same for queries that write and that read it."""
        return DatabaseTable(self.connection, self.table).uri

    def dataset(self, address_of: Callable[[str], tuple[str, str] | None]) -> tuple[str, str]:
        """Return namespace and name of the table by OpenLineage's naming.

        Parameters
        ----------
        address_of : callable
            Returns host:port and the database of a connection. None if it is unknown: then the connection's name takes
        their place.
        """
        address, database = address_of(self.connection) or (self.connection, self.connection)
        return f"postgres://{address}", f"{database}.{self.schema_name or 'public'}.{self.table_name}"
