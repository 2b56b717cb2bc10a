"""Finds the source columns from which each column of answers is computed, through derived columns and expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tailrace.expressions.expression import parse
from tailrace.ground.arrow.answer_columns import WINDOW_TIMES
from tailrace.ground.facts import TABLE
from tailrace.kind.column_use import FILTER, IDENTITY, JOIN, TRANSFORMATION, ColumnUse
from tailrace.query.query import Query
from tailrace.query.sections import StreamSection

if TYPE_CHECKING:
    from tailrace.sources.lookup.lookups import Lookup


class Origin(NamedTuple):
    """A column of a source, and its use, as a subtype of OpenLineage's transformations.

    Attributes
    ----------
    stream : str
        The stream's name, or the subject of a table's versions.
    expression : str or None
        The function or expression of the query file that uses it.
    """

    stream: str
    column: str
    way: str
    expression: str | None = None


class ColumnLineage(NamedTuple):
    """The origins of each column of answers, and the origins that decide which answers there are."""

    columns: dict[str, tuple[Origin, ...]]
    answers: tuple[Origin, ...]

    def summary(self) -> str:
        """Return the names of the source's columns in one line, without columns that equal the source's."""
        parts = {name: _names(origins) for name, origins in self.columns.items() if name not in WINDOW_TIMES}
        parts["which answers"] = _names(self.answers)
        return "; ".join(f"{name} ← {names}" for name, names in parts.items() if names not in ("", name))


def column_lineage(query: Query) -> ColumnLineage:
    """Return the origins of a query's answers; columns without a source column are left out."""
    streams = [_StreamColumns(name, stream, query.lookups[name]) for name, stream in query.streams.items()]
    answers, columns = [origin for each in streams for origin in each.filters()], dict[str, list[Origin]]()
    for use in query.uses:
        is_of_table = use.side == len(streams)
        origins = [Origin(TABLE, use.column, use.way, use.text)] if is_of_table else streams[use.side].origins_of(use)
        for name in use.answers or ():
            columns.setdefault(name, []).extend(origins)
        if use.answers == ():
            answers += origins
    lineage = {name: _distinct(origins) for name, origins in columns.items()}
    return ColumnLineage({name: origins for name, origins in lineage.items() if origins}, _distinct(answers))


class _StreamColumns:
    """The columns of a stream, including derived ones, each with the source's columns that it comes from."""

    def __init__(self, name: str, declared: StreamSection, lookups: Iterable[Lookup]) -> None:
        self.name, self.declared = name, declared
        self._sources: dict[str, tuple[tuple[str, str], ...]] = {}
        self._texts: dict[str, str | None] = {}
        self._matched = [origin for each in lookups for origin in self._look_up(each)]
        for column, text in declared.columns.items():  # an expression sees the columns above it
            read = parse(text).columns
            is_renamed = [text.strip().strip("`")] == [*read] and self._texts.get(read[0]) is None
            self._sources[column] = tuple(source for each in read for source in self._behind(each))
            self._texts[column] = None if is_renamed else text

    def origins(self, column: str, way: str = IDENTITY, expression: str | None = None) -> list[Origin]:
        """Return the origins of one of the stream's columns, for a use."""
        text = self._texts.get(column)
        if way == IDENTITY and text is not None:
            way, expression = TRANSFORMATION, text
        return [Origin(*source, way, expression) for source in self._behind(column)]

    def _behind(self, column: str) -> tuple[tuple[str, str], ...]:
        return self._sources.get(column, ((self.name, column),))

    def _look_up(self, lookup: Lookup) -> list[Origin]:
        """Add the columns of a lookup; return the origins of the columns that match records with rows."""
        met = [origin for name in lookup.keys for origin in self.origins(name, JOIN)]
        met += [Origin(lookup.subject, name, JOIN) for name in lookup.table.keys]
        if lookup.needs_event_time:
            met += self.origins(self.declared.event_time, JOIN)
            met += [Origin(lookup.subject, name, JOIN) for name in lookup.table.valid if name is not None]
        self._sources |= {name: ((lookup.subject, column),) for name, column in lookup.table.columns}
        return met

    def origins_of(self, use: ColumnUse) -> list[Origin]:
        """Return the origins of a column that the kind uses, or of those that its expression reads."""
        if use.derives is None:
            return self.origins(use.column, use.way, use.text)
        return self._in_expression(use.derives, use.way, use.text)

    def _in_expression(self, expression: str, way: str, text: str | None) -> list[Origin]:
        return [origin for column in parse(expression).columns for origin in self.origins(column, way, text)]

    def filters(self) -> list[Origin]:
        """Return the origins of the columns that decide which records are tuples, and which rows of tables match."""
        where = self.declared.where
        return self._matched + ([] if where is None else self._in_expression(where, FILTER, where))


def _distinct(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    return tuple(dict.fromkeys(origins))


def _names(origins: Iterable[Origin]) -> str:
    return ", ".join(dict.fromkeys(origin.column for origin in origins))
