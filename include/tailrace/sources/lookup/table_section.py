"""The fields of a query file with the location of a table, and the validity of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from tailrace.ground.fields import Column, Name, ResolvedPath, Section, field_error
from tailrace.kind.table_place import DatabaseTable, TableFormat
from tailrace.sources.lookup.postgres_table import TableName


class TableSection(Section):
    """A table beside the streams: a file, a directory, a Delta table, or a table of PostgreSQL."""

    format: TableFormat | None = Field(
        default=None,
        description="delta, parquet (a file or a directory) or postgres; by default the suffix of the file decides: "
        "delta",
    )
    path: ResolvedPath | None = Field(
        default=None,
        description="CSV or Parquet file, Parquet directory or Delta table, relative to the query file: "
        "data/products.csv",
    )
    connection: Name | None = Field(
        default=None, description="Airflow connection with host, login and database, for format postgres only: maps"
    )
    table: TableName | None = Field(
        default=None,
        description="PostgreSQL table or view, with or without its schema, for format postgres only: maps.zones",
    )
    valid_from: Column | None = Field(
        default=None,
        description="column with the event time from which a row is valid (inclusive), null for no bound: since",
    )
    valid_to: Column | None = Field(
        default=None,
        description="column with the event time until which a row is valid (exclusive), null for no bound: until",
    )

    @property
    def place(self) -> Path | DatabaseTable:
        """The path, or the table of a database."""
        if self.path is not None:
            return self.path
        assert self.connection is not None
        assert self.table is not None
        return DatabaseTable(self.connection, self.table)

    @property
    def valid(self) -> tuple[str | None, str | None]:
        """The columns of the validity of rows."""
        return self.valid_from, self.valid_to

    def require_own_times(self, taken: Iterable[str]) -> None:
        """Refuse a column of times that already has another role in the table."""
        known: set[str | None] = {*taken}
        for name, column in zip(("valid_from", "valid_to"), self.valid, strict=True):
            if column in known:
                raise field_error(f"{column} has another part in the table", "a column of times of its own", name)
            known |= set() if column is None else {column}

    @model_validator(mode="after")
    def _validate_place(self) -> Self:
        of_server = dict.fromkeys(("connection", "table"), self.format == "postgres")
        for name, is_needed in {"path": self.format != "postgres", **of_server}.items():
            is_given = getattr(self, name) is not None
            if is_needed and not is_given:
                meaning, _, example = (type(self).model_fields[name].description or "").rpartition(": ")
                fault = "has no value" if name in self.model_fields_set else "is missing"
                raise field_error(fault, f"{name}: {example} ({meaning})", name)
            if is_given and not is_needed:
                remedy = f"no {name}; format: postgres has connection and table, all others have a path"
                raise field_error(f"format {self.format or 'by suffix'} takes no {name}", remedy, name)
        return self
