"""Reads the answers of a query, and the rows of its tables."""

from __future__ import annotations

from importlib import import_module

import pyarrow as pa

from tailrace.api.answers import Answers
from tailrace.api.rows import Rows
from tailrace.api.times import Time, time_ms
from tailrace.api.why_none import why_no_answers, why_no_quality
from tailrace.correction.quality import read_quality
from tailrace.delivery.reading import read_current
from tailrace.ground.errors import refuse
from tailrace.ground.words import counted
from tailrace.query.query import Query
from tailrace.storage.answer_range import ALL, AnswerRange
from tailrace.storage.checkpoint import require_begun
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.results import kind_of_stream, read_answers
from tailrace.storage.table_schemas import schemas
from tailrace.storage.warehouses import Warehouse
from tailrace.tables.every import in_ms, times_of


def part_of(start: Time, end: Time, key: str | None) -> AnswerRange:
    """Return the part of the answers that a reader requests."""
    first, last = time_ms("--from", start), time_ms("--to", end)
    return AnswerRange(ALL.start if first is None else first, ALL.end if last is None else last, key)


def answers_of(query: Query, warehouse: Warehouse, as_of: str, part: AnswerRange) -> Answers:
    """Return the answers of a part: as streamed, or the newest version of each."""
    if as_of not in ("stream", "corrected"):
        raise refuse("--as-of", f"there are no answers as of {as_of!r}", "'corrected' or 'stream'")
    rows, columns = read_answers(query, warehouse, as_of == "stream", part)
    return Answers(rows, columns, _why_none(Layout.for_query(warehouse, query.name), rows, part))


def current_answers(name: str, warehouse: Warehouse, as_of: str, part: AnswerRange) -> Answers:
    """Return the newest version of each answer of a query, given by its name, from the table `current`."""
    if as_of == "stream":
        raise refuse("--as-of stream", "by a name only newest versions are read", "the query's file in its place")
    layout = Layout.for_query(warehouse, name)
    rows = read_current(layout, part)
    return Answers(rows, rows.column_names, _why_none(layout, rows, part, is_current=True))


def _why_none(layout: Layout, rows: pa.Table, part: AnswerRange, is_current: bool = False) -> str:
    return "" if rows.num_rows else why_no_answers(layout, part, is_current)


def chosen_of(rows: Answers, where: str | None, order_by: str | None, limit: int | None) -> Answers:
    """Return the first answers that meet a condition, in an order; see `api.chosen`."""
    if limit is not None and limit < 0:
        raise refuse("--limit", f"{limit} is no number of answers", "0 or more")
    raw = rows.raw
    if where is not None or order_by is not None:  # the grammar takes long to import
        raw = raw.take(import_module("tailrace.api.chosen").chosen(rows.arrow(), where, order_by))
    why_none = "" if raw.num_rows else rows.why_none or f"none of {counted(len(rows), 'answer')} meets --where"
    return Answers(raw.slice(0, limit), rows.columns, why_none)


def quality_of(query: Query, warehouse: Warehouse) -> Rows:
    """Return the errors of the streamed answers, compared with corrected ones, over time."""
    rows, columns = read_quality(query, warehouse)
    layout = Layout.for_query(warehouse, query.name)
    return Rows(rows, columns, "" if rows.num_rows else why_no_quality(layout), times_of("quality"))


def rows_of(query: Query, warehouse: Warehouse, table: str) -> Rows:
    """Return the rows of one of the stream's tables; none if the stream has not written it yet."""
    tables = OpenedTables(Layout.for_query(warehouse, query.name))
    manifest = require_begun(tables, query)
    if tables.has(table):
        rows = tables.read(table)
    else:
        rows = in_ms(schemas(kind_of_stream(query, manifest))[table].empty_table(), table)
    return Rows(rows, rows.column_names, times=times_of(table))
