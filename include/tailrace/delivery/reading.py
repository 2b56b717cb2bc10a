"""Reads the table `current` of a query by the query's name, without a query file."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from tailrace.ground.errors import refuse
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.query.answers_section import CURRENT
from tailrace.storage.answer_range import AnswerRange
from tailrace.storage.begun import begun, in_words
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.tables import Tables, within

_WINDOW = ("window_start", "window_end")
_ORDER = ("window_end", "key", "rank", "left_time", "right_time", "left_id", "right_id")


def read_current(layout: Layout, part: AnswerRange) -> pa.Table:
    """Read the newest version of each answer of a part, sorted by time, then by key, rank or ids; times in ms.

    Raises
    ------
    Refused
        When there is no such table, the answers have no such key, or the stream is of another format.
    Damaged
        When the table, or a file of it, is lost.
    """
    layout.require_format()
    tables = OpenedTables(layout)
    if not tables.has(CURRENT):
        others = f"{_known(layout)}, or the query's file in place of its name"
        if layout.stream.is_dir():
            fault = f"there is no table {CURRENT}: no batch is committed yet, or none since it was restored"
            raise refuse(str(layout.home), fault, f"`tailrace status` says how far it is; or {others}")
        raise refuse(str(layout.home), f"there is no table {CURRENT}: no such stream has run here", others)
    schema = tables.schema(CURRENT)
    rows = tables.read(CURRENT, where=_condition(part, schema))
    return rows.sort_by([(name, "ascending") for name in _ORDER if name in rows.column_names])


def _known(layout: Layout) -> str:
    """Return the queries of the warehouse that have the table, in words."""
    names = begun(layout.home.parent)
    return in_words(layout, [name for name in names if Tables(Layout(layout.home.parent / name)).has(CURRENT)])


def _condition(part: AnswerRange, schema: pa.Schema) -> Any:
    """Return the condition on the rows of a part; None for all."""
    conditions = []
    if part.key is not None:
        conditions.append(ds.field("key") == _key(part.key, schema))
    if (part.start, part.end) != (BEFORE_ALL, AFTER_ALL):
        if part.start >= part.end:
            raise refuse("--from, --to", "the range is empty", "--from before --to")
        if set(_WINDOW) <= set(schema.names):
            conditions += [
                within("window_end", part.start, AFTER_ALL),
                within("window_start", BEFORE_ALL, part.end - 1),
            ]
        else:
            times = [name for name in ("left_time", "right_time") if name in schema.names]
            conditions.append(reduce(or_, (within(name, part.start - 1, part.end - 1) for name in times)))
    return reduce(and_, conditions) if conditions else None


def _key(text: str, schema: pa.Schema) -> pa.Scalar:
    """Return a key as a value of the table's type, or refuse it."""
    if "key" not in schema.names:
        fault = "these answers have no column key: theirs stand in columns of their own, or they have none"
        raise refuse(f"--key {text}", fault, "none; or the query's file in place of its name")
    dtype = schema.field("key").type
    try:
        return pa.scalar(text).cast(dtype)
    except pa.ArrowInvalid:
        raise refuse(f"--key {text}", f"it is no {dtype}, as the query's keys are", f"a key, {dtype}") from None
