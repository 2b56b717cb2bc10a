"""Translates the SQL text of a query to the sections of a query file, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.sql.aggregates import aggregates_of
from tailrace.sql.clauses import Clauses, clauses_of
from tailrace.sql.derived import DerivedColumns
from tailrace.sql.fields_outside import FieldsOutsideSql
from tailrace.sql.functions import refuse_in_where
from tailrace.sql.keys import by_position, key_of, refuse_bounds_by_other_names, windows_among
from tailrace.sql.projected import SelectedRows
from tailrace.sql.selects import named_selects, projected_by
from tailrace.sql.table_names import without_qualifiers
from tailrace.sql.tokens import TokenSpan, tokenize
from tailrace.sql.top_n import TopN, is_top_n, selected_by, top_n_among, top_n_of
from tailrace.sql.windows import Source, WrittenWindows, source_of

FieldPath = tuple[str, ...]
WHERE = "where"
"""The stream's field with the conditions."""


@dataclass(frozen=True)
class Translation:
    """The sections of a query.

    Attributes
    ----------
    fields : dict
        The whole declaration, as in a query file with sections.
    positions : dict
        Positions in the SQL text by the path of a field; a field without a position has its enclosing field's.
    conditions : tuple of Piece
        The conditions that make up the stream's `where`.
    """

    fields: dict[str, Any]
    positions: Mapping[FieldPath, Position]
    conditions: tuple[TokenSpan, ...] = ()

    def position_in(self, path: FieldPath, at: Position) -> Position:
        """Return the position of a field in the SQL text, given an offset within it.

        If there are several conditions, the position is in the right one.
        """
        if path[-1] != WHERE or path[0] != "streams":
            return self.positions[path]
        text = " and ".join(f"({each.text})" for each in self.conditions)
        offset = sum(len(line) + 1 for line in text.split("\n")[: at.line - 1]) + at.column
        ends = accumulate(len(f"({each.text}) and ") for each in self.conditions)
        among = (each for each, end in zip(self.conditions, ends, strict=True) if offset <= end)
        return next(among, self.conditions[-1]).position

    def position_of(self, path: FieldPath) -> Position | None:
        """Return the position of a field in the SQL text; None for a field beside it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.positions:
                return self.positions[path[:length]]
        return None


def translate(sql: str, fields: Mapping[str, Any]) -> Translation:
    """Translate SQL text, given the fields of the query file beside it.

    Raises
    ------
    ExpressionError
        At a construct that queries lack, with its line and column in the SQL text.
    OutsideSqlError
        At a field beside the SQL text that repeats it, with its path.
    """
    named, select = named_selects(without_qualifiers(tokenize(sql)))
    clauses, end = clauses_of(select), select[len(select) :]
    beside = FieldsOutsideSql.from_fields(fields)
    source, named = top_n_among(source_of(clauses.source), named)
    inner = None if source.subquery is None else clauses_of(source.subquery)
    if inner is None or (clauses.group and not is_top_n(inner)):
        rows = projected_by(source, named, beside.stream, beside.names)
        return _aggregate(beside, clauses, source, rows, end)
    source = source_of(inner.source)
    top_n = top_n_of(clauses, inner, end)
    return _topk(beside, top_n, inner, source, projected_by(source, named, beside.stream, beside.names))


def _aggregate(
    beside: FieldsOutsideSql, clauses: Clauses, source: Source, rows: SelectedRows, end: TokenSpan
) -> Translation:
    written = clauses.group[0] if clauses.group else end
    windows, groups = windows_among(by_position(clauses.group, clauses.items), source, written)
    columns = DerivedColumns(rows)
    event_time = _event_time(beside, rows, windows)
    if clauses.where is not None:
        refuse_in_where(clauses.where)
    key, items = key_of(groups, refuse_bounds_by_other_names(clauses.items, windows), columns)
    section, positions = aggregates_of(items, clauses.having, columns, event_time, end)
    for name in key if isinstance(key, list) else ():
        if name in positions:
            fault = f"an aggregate and a column of the key are named {name}"
            raise ExpressionError(positions[name], fault, f"another name than {name} for the aggregate")
    said = {"kind": "aggregate", "aggregate": section}
    position_of: dict[FieldPath, Position] = {("aggregate",): clauses.items[0].value.position}
    position_of |= {("aggregate", name): position for name, position in positions.items()}
    return _whole(beside, said, position_of, windows, columns, key, (clauses.where, written))


def _topk(beside: FieldsOutsideSql, top_n: TopN, inner: Clauses, source: Source, rows: SelectedRows) -> Translation:
    windows, groups = windows_among(top_n.groups, source, top_n.groups[0])
    if windows.are_sessions:
        remedy = "window(…), TUMBLE(…) or HOP(…); or GROUP BY the sessions, with max_by(product, price) and the like"
        raise windows.lengths["session"].error("the first rows of each session, which no query has", remedy)
    _event_time(beside, rows, windows)
    if top_n.ties is not None:
        rows.read(top_n.ties)
    columns = DerivedColumns(rows)
    key, items = key_of(groups, refuse_bounds_by_other_names(top_n.items, windows), columns)
    score = columns.column(top_n.score)
    if top_n.ties is not None and (beside.id is None or top_n.ties.name != beside.id):
        raise top_n.ties.error("ties by another column than the id", f"{beside.id or 'the id'}, or no second column")
    named = selected_by(top_n, items, columns)
    own = {"score": score, "id": beside.id}
    selected = {name: position for name, position in named.items() if own.get(name) != name}
    section: dict[str, Any] = {"k": str(top_n.k), "score": score}
    section |= {"order": "descending" if top_n.descending else "ascending"}
    section |= {"select": [*selected]} if selected else {}
    position_of: dict[FieldPath, Position] = {("topk",): top_n.score.position, ("topk", "k"): top_n.bound.position}
    position_of |= {("topk", "select", str(index)): position for index, position in enumerate(selected.values())}
    return _whole(
        beside, {"kind": "topk", "topk": section}, position_of, windows, columns, key, (inner.where, top_n.groups[0])
    )


def _whole(
    beside: FieldsOutsideSql,
    said: dict[str, Any],
    positions: dict[FieldPath, Position],
    windows: WrittenWindows,
    columns: DerivedColumns,
    key: str | list[str] | None,
    conditions: tuple[TokenSpan | None, TokenSpan],
) -> Translation:
    """Return the translation from the parts of the SQL text and the fields beside it."""
    last, groups = conditions
    stream: dict[str, Any] = {}
    if (where := columns.where(last)) is not None:
        stream["where"] = where
    if key is not None:
        stream["key"] = key
    columns.check()
    said |= {"window": windows.section("timezone" in beside.window)}
    positions |= {("window", name): piece.position for name, piece in windows.lengths.items()}
    positions |= {("window",): windows.event_time.position}
    root = ("streams", beside.stream)
    positions |= {(*root, "columns", name): position for name, position in columns.positions.items()}
    positions |= {(*root, "key"): groups.position} if key is not None else {}
    joined = (*columns.rows.conditions, *([] if last is None else [last]))
    positions |= {(*root, WHERE): joined[0].position} if joined else {}
    return Translation(beside.joined(said, stream, columns.texts), positions, joined)


def _event_time(beside: FieldsOutsideSql, rows: SelectedRows, windows: WrittenWindows) -> str:
    """Return the column of event time; refuse one that differs from the declared one."""
    if beside.event_time is None:  # a faulty declaration is refused elsewhere
        return windows.event_time.text
    if windows.event_time.name != beside.event_time:
        fault = f"windows are over event time, and {windows.event_time.text[:60]} is another column"
        raise windows.event_time.error(fault, f"{beside.event_time}, the stream's event_time")
    rows.read(windows.event_time)
    return beside.event_time
