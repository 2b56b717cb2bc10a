"""Declares queries: from a file, from fields in code, or from SQL text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailrace.api.query import Query
from tailrace.api.stream import Stream
from tailrace.ground.errors import refuse
from tailrace.query import loading
from tailrace.query.in_code import FieldsInCode
from tailrace.query.sql_form import SqlText
from tailrace.query.yaml_file import YamlFile, read
from tailrace.storage.warehouses import Warehouse

_SQL_FILE = Path("sql")
"""The name of SQL text in code, in messages."""


def load(path: str | Path, streams: str | Path | None = None, warehouse: Warehouse | None = None) -> Query:
    """Load the query of a file; relative paths in it start at the file's folder.

    Parameters
    ----------
    streams : path, optional
        For a file of SQL text: the YAML file with its streams.
    warehouse : path or URL, optional
        The folder of the query's tables, see `Query.warehouse`.

    Raises
    ------
    Refused
        With all problems: file, line, field, what is wrong, what would be right.

    >>> import tailrace
    >>> tailrace.load("no_such_file.yaml")
    Traceback (most recent call last):
    tailrace.ground.errors.Refused: no_such_file.yaml: cannot be read: No such file or directory
        right would be: the path of a query file that you may read
    """
    file, beside = Path(path), None if streams is None else Path(streams)
    return Query(loading.load(file, beside), file, beside, place=warehouse)


def query(kind: str, *, warehouse: Warehouse | None = None, **fields: Any) -> Query:
    """Declare a query by the fields of a query file, as Python values.

    Parameters
    ----------
    kind : str
        aggregate, topk, emd_join or spatial_join.
    warehouse : path or URL, optional
        The folder of the query's tables, see `Query.warehouse`.
    fields
        As in a query file: streams, window, disorder and so on. A stream is a section of a file, or a `Stream` of rows
        in memory. Without a `name`, the query gets the name of its kind. Relative paths start at the current folder.

    Raises
    ------
    Refused
        With all problems: field, what is wrong, what would be right.

    >>> import tailrace
    >>> rows = tailrace.Stream([{"at": 0, "id": 1}], event_time="at", id="id")
    >>> fields = {"streams": {"rows": rows}, "window": "5 s", "aggregate": {"function": "summe"}}
    >>> tailrace.query("aggregate", **fields)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tailrace.ground.errors.Refused: query aggregate: aggregate.function: 'summe' is no function here
        right would be: sum (of sum, count, ...)
    """
    declared = {"name": kind, "kind": kind} | fields
    rows, declared["streams"] = _streams(declared.get("streams", {}))
    return Query(loading.declare(FieldsInCode(str(declared["name"]), declared)), rows=rows, place=warehouse)


def sql(
    text: str, streams: Mapping[str, Any] | str | Path, *, warehouse: Warehouse | None = None, **fields: Any
) -> Query:
    """Declare a query by SQL text over streams.

    Parameters
    ----------
    streams : dict or path
        The streams by name, each a section or a `Stream`; or the YAML file with the streams.
    warehouse : path or URL, optional
        The folder of the query's tables, see `Query.warehouse`.
    fields
        Other fields of a query file beside SQL text, such as disorder. Without a `name`, the query is named sql.

    Raises
    ------
    Refused
        With all problems: line and column of the text, or the field.

    >>> import tailrace
    >>> clicks = tailrace.Stream([{"at": "2024-05-01T00:00:01Z", "id": 1, "page": "a"}], event_time="at", id="id")
    >>> counts = tailrace.sql(
    ...     "SELECT page, window_start, window_end, count(*) AS clicks FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(at), "
    ...     "INTERVAL '5' SECOND)) GROUP BY page, window_start, window_end",
    ...     {"clicks": clicks},
    ... )
    >>> counts.kind
    'aggregate'
    """
    beside = SqlText(text, _SQL_FILE)
    if not isinstance(streams, Mapping):
        file = Path(streams)
        tree = YamlFile(file, read(file))
        tree.data = {"name": "sql"} | tree.data | fields
        return Query(loading.declare(tree, beside), place=warehouse)
    rows, sections = _streams(streams)
    declared = {"name": "sql"} | fields | {"streams": sections}
    return Query(loading.declare(FieldsInCode(str(declared["name"]), declared), beside), rows=rows, place=warehouse)


def _streams(streams: Any) -> tuple[dict[str, Any], Any]:
    """Return the in-memory rows of streams, and the sections of all streams."""
    if isinstance(streams, Stream):
        raise refuse("streams", "a stream has a name", "streams={'readings': tailrace.Stream(…)}")
    if not isinstance(streams, Mapping):
        return {}, streams
    rows = {name: each.table for name, each in streams.items() if isinstance(each, Stream)}
    sections = {name: each.section() if isinstance(each, Stream) else each for name, each in streams.items()}
    return rows, sections
