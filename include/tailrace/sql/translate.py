"""Translates the SQL text of a query to the sections of a query file, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.sql.aggregates import aggregates_of
from tailrace.sql.beside import Beside
from tailrace.sql.clauses import Clauses, clauses_of
from tailrace.sql.derived import DerivedColumns
from tailrace.sql.keys import key_of, refuse_bounds_by_other_names, windows_among
from tailrace.sql.tokens import Piece, tokenize
from tailrace.sql.top_n import TopN, selected_by, top_n_of
from tailrace.sql.windows import Source, Windows, source_of

FieldPath = tuple[str, ...]


@dataclass(frozen=True)
class Translation:
    """The sections of a query.

    Attributes
    ----------
    fields : dict
        The whole declaration, as a query file in sections has it.
    positions : dict
        Where the SQL text says a field, by its path; a field below one without a place of its own stands there too.
    """

    fields: dict[str, Any]
    positions: Mapping[FieldPath, Position]

    def position_of(self, path: FieldPath) -> Position | None:
        """Return where the SQL text says a field; None of a field that stands beside it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.positions:
                return self.positions[path[:length]]
        return None


def translate(sql: str, fields: Mapping[str, Any]) -> Translation:
    """Translate SQL text, given the fields of the query file beside it.

    Raises
    ------
    ExpressionError
        At what a query can't say, by its line and column in the SQL text.
    BesideError
        At a field beside the SQL text that says the same, by its path.
    """
    select = tokenize(sql)
    clauses = clauses_of(select)
    beside, source = Beside.of(fields), source_of(clauses.source)
    if source.subquery is None:
        return _aggregate(beside, clauses, source, select[len(select) :])
    inner = clauses_of(source.subquery)
    source = source_of(inner.source)
    if source.subquery is not None:
        raise source.subquery.error("a subquery in a subquery, which no query has", "one, of row_number() OVER (…)")
    return _topk(beside, top_n_of(clauses, inner, select[len(select) :]), inner, source)


def _aggregate(beside: Beside, clauses: Clauses, source: Source, end: Piece) -> Translation:
    place = clauses.group[0] if clauses.group else end
    windows, groups = windows_among(clauses.group, source, place)
    columns = DerivedColumns(beside.stream, beside.names)
    key, items = key_of(groups, refuse_bounds_by_other_names(clauses.items), columns)
    section, positions = aggregates_of(items, columns, _event_time(beside, source, windows), end)
    for name in key if isinstance(key, list) else ():
        if name in positions:
            fault = f"an aggregate and a column of the key are named {name}"
            raise ExpressionError(positions[name], fault, f"another name than {name} for the aggregate")
    said = {"kind": "aggregate", "aggregate": section}
    places: dict[FieldPath, Position] = {("aggregate",): clauses.items[0].value.position}
    places |= {("aggregate", name): position for name, position in positions.items()}
    return _whole(beside, said, places, windows, columns, key, (clauses.where, place))


def _topk(beside: Beside, top_n: TopN, inner: Clauses, source: Source) -> Translation:
    windows, groups = windows_among(top_n.groups, source, top_n.groups[0])
    _event_time(beside, source, windows)
    columns = DerivedColumns(beside.stream, beside.names)
    key, items = key_of(groups, refuse_bounds_by_other_names(top_n.items), columns)
    score = columns.column(top_n.score)
    if top_n.ties is not None and (beside.id is None or top_n.ties.name != beside.id):
        raise top_n.ties.error("ties by another column than the id", f"{beside.id or 'the id'}, or no second column")
    named = selected_by(top_n, items, columns)
    own = {"score": score, "id": beside.id}
    selected = {name: position for name, position in named.items() if own.get(name) != name}
    section: dict[str, Any] = {"k": str(top_n.k), "score": score}
    section |= {"order": "descending" if top_n.descending else "ascending"}
    section |= {"select": [*selected]} if selected else {}
    places: dict[FieldPath, Position] = {("topk",): top_n.score.position, ("topk", "k"): top_n.bound.position}
    places |= {("topk", "select", str(index)): position for index, position in enumerate(selected.values())}
    return _whole(
        beside, {"kind": "topk", "topk": section}, places, windows, columns, key, (inner.where, top_n.groups[0])
    )


def _whole(
    beside: Beside,
    said: dict[str, Any],
    positions: dict[FieldPath, Position],
    windows: Windows,
    columns: DerivedColumns,
    key: str | list[str] | None,
    conditions: tuple[Piece | None, Piece],
) -> Translation:
    """Return the translation: what the SQL text says, and what stands beside it."""
    where, groups = conditions
    stream: dict[str, Any] = {}
    if where is not None:
        stream["where"] = columns.condition(where)
    if key is not None:
        stream["key"] = key
    columns.check()
    said |= {"window": windows.section("timezone" in beside.window)}
    positions |= {("window", name): piece.position for name, piece in windows.lengths.items()}
    positions |= {("window",): windows.event_time.position}
    root = ("streams", beside.stream)
    positions |= {(*root, "columns", name): position for name, position in columns.positions.items()}
    positions |= {(*root, "key"): groups.position} if key is not None else {}
    positions |= {(*root, "where"): where.position} if where is not None else {}
    return Translation(beside.joined(said, stream, columns.texts), positions)


def _event_time(beside: Beside, source: Source, windows: Windows) -> str:
    """Return the column of event time; refuse another stream or column than the declared ones."""
    if beside.is_known and source.stream.name != beside.stream:
        near = get_close_matches(source.stream.name or "", [beside.stream])
        fault = f"{source.stream.text} is no stream of the query"
        raise source.stream.error(fault, beside.stream if near else f"{beside.stream}, the stream under streams")
    if beside.event_time is None:  # a wrong declaration, which is refused by itself
        return windows.event_time.text
    if windows.event_time.name != beside.event_time:
        fault = f"windows are over event time, and {windows.event_time.text[:60]} is another column"
        raise windows.event_time.error(fault, f"{beside.event_time}, the stream's event_time")
    return beside.event_time
