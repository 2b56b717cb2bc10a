"""A stream of rows in memory, for use in place of a stream's section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailrace.api.in_memory import as_table, with_times
from tailrace.ground.errors import refuse
from tailrace.query.answers_section import AnswersSection
from tailrace.query.query import Query
from tailrace.sources.discovery.path_sources import FileSource

_UNPLACED = Path("rows in memory")
_COLUMNS = ("event_time", "arrival_time", "id")
"""The fields of a stream that name the columns of a tuple; for rows they may differ from the source's."""


@dataclass(frozen=True)
class Stream:
    """A stream of rows in memory, in order of their arrival.

    Beside the rows, it has the fields of a stream in a query file. A run stores the rows as a Parquet file in the
    query's warehouse, and reads that file as the stream's source.

    Attributes
    ----------
    rows : table
        An Arrow table, a pandas or Polars data frame, a DuckDB relation, a list of dicts, or a dict of columns.
    event_time, arrival_time, id : str
        Columns. Without an arrival time, all rows arrive when they are read, so that none is late.
    key : str or list of str
        Column to group by, or several.
    null_key : str
        group: a null in the key is a separate group, as in SQL. quarantine: its row is rejected.
    columns : dict
        Derived columns, as expressions of Spark SQL.
    where : str
        The condition that records must meet.

    >>> import tailrace
    >>> tailrace.Stream({"at": [1000, 2000], "id": ["a", "b"]}, event_time="at", id="id")
    Stream(2 rows of at, id; event_time='at', id='id')
    """

    rows: Any
    event_time: str
    arrival_time: str | None = None
    id: str | None = None
    key: str | Sequence[str] | None = None
    null_key: str | None = None
    columns: Mapping[str, str] | None = None
    where: str | None = None
    lookup: Mapping[str, Any] | None = None
    bounds: Mapping[str, Any] | None = None
    timezone: str | None = None
    table: pa.Table = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        times = self.event_time, self.arrival_time
        object.__setattr__(self, "table", with_times(as_table(self.rows), times))

    def section(self) -> dict[str, Any]:
        """Return the equivalent section of a query file; the path of its source is a placeholder."""
        return {"source": memory_source(_UNPLACED)} | self._declared()

    def _declared(self) -> dict[str, Any]:
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("rows", "table")}
        return {name: value for name, value in given.items() if value is not None}

    def __repr__(self) -> str:
        named = ", ".join(f"{name}={value!r}" for name, value in self._declared().items())
        return f"Stream({self.table.num_rows:,} rows of {', '.join(self.table.column_names)}; {named})"


def memory_source(path: Path) -> FileSource:
    """Return the file source of rows that are stored in a directory."""
    return FileSource(format="parquet", path=path)


def in_place_of(query: Query, streams: Mapping[str, Any]) -> tuple[Query, dict[str, pa.Table]]:
    """Replace sources of a query by rows in memory; return the query, and the rows by stream.

    Its answers only go to its tables: a test sends nothing to the topic or server in the query's file.

    Raises
    ------
    Refused
        When it has no such stream, or a stream takes ids or arrival times from its source, and the rows name none.
    """
    declared, rows = dict(query.streams), dict[str, pa.Table]()
    for name, each in streams.items():
        if name not in declared:
            raise refuse(f"query {query.name}", f"it has no stream {name}", " or ".join(declared))
        stream, given = declared[name], each._declared() if isinstance(each, Stream) else {}
        given = {field: value for field, value in given.items() if field in _COLUMNS}
        if stream.id is None and "id" not in given:
            fault = f"stream {name} takes its ids from its source, of format {stream.source.format}"
            raise refuse(f"query {query.name}", fault, "tailrace.Stream(rows, id=…), with the column of the ids")
        stream = stream.model_copy(update=given | {"source": memory_source(_UNPLACED)})
        table = each.table if isinstance(each, Stream) else as_table(each)
        rows[name], declared[name] = with_times(table, (stream.event_time, stream.arrival_time)), stream
    return query.model_copy(update={"streams": declared, "answers": AnswersSection()}), rows
