"""The place from which a dimension table is read, and the columns to read; independent of geometries and joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from tailrace.ground.errors import Problem, Refused
from tailrace.ground.near_names import nearest

TableFormat = Literal["delta", "parquet", "postgres"]
"""The declared format of a dimension table; without one, the table is a file whose suffix names its format."""

OnNoMatch = Literal["null", "drop", "quarantine"]
"""The treatment of a record for which a lookup finds no row."""

PARQUET_SUFFIX = ".parquet"


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a PostgreSQL database, with the name of a connection."""

    connection: str
    table: str

    suffix: ClassVar[str] = PARQUET_SUFFIX

    @property
    def uri(self) -> str:
        return f"postgres-table://{self.connection}/{self.table}"

    def __str__(self) -> str:
        return f"{self.table} of connection {self.connection}"


@dataclass(frozen=True)
class TablePlace:
    """The declared place of a dimension table.

    Attributes
    ----------
    path : Path or DatabaseTable
        A file, a directory of Parquet files, a Delta table, or a table of a database.
    format : str or None
        A `TableFormat`; None if the suffix of the file names it.
    columns : tuple of str
        The table's columns that the query needs, ids first. The rows of a version are sorted by them.
    fields : tuple of (str, str)
        The fields of the query file that name the table's columns, each perhaps with a position in an expression.
    """

    path: Path | DatabaseTable
    format: TableFormat | None = None
    columns: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return str(self.path)

    @property
    def suffix(self) -> str:
        """The suffix of the files with the content of its versions, which names their format."""
        return self.path.suffix.lower() if self.format is None else PARQUET_SUFFIX

    @property
    def file(self) -> Path:
        """The path; the table must not be in a database."""
        assert isinstance(self.path, Path)
        return self.path

    @property
    def uri(self) -> str:
        return self.path.absolute().as_uri() if isinstance(self.path, Path) else self.path.uri


class WrongColumn(Refused):
    """Raised for a column that a table lacks, or has more than once.

    Name a column that the table has once.
    """

    def __init__(self, name: str, problem: Problem) -> None:
        super().__init__([problem])
        self.name = name

    def in_fields(self, fields: Mapping[str, str]) -> Refused:
        """Return the error with the field of the query file that names the column."""
        (problem,) = self.problems
        field = fields.get(self.name)
        return Refused([problem if field is None else replace(problem, where=f"{field}: {problem.where}")])


def wrong_column(where: str, name: str, fault: str, names: list[str]) -> WrongColumn:
    """Build the refusal of a column, with the nearest name that the table has."""
    near, among = nearest(name, names), f"one of {', '.join(names) or 'none: it has none'}"
    return WrongColumn(name, Problem(where, fault, among if near in (None, name) else f"{near}; {among}"))


def require_columns(where: str, names: list[str], wanted: tuple[str, ...]) -> None:
    """Refuse a table that lacks one of the wanted columns, or has several of the same name.

    Raises
    ------
    WrongColumn
    """
    for name in wanted:
        if names.count(name) != 1:
            fault = f"it has no column {name}" if name not in names else f"it has more than one column {name}"
            raise wrong_column(where, name, fault, names)
