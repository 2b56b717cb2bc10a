"""The source columns from which each column of answers is computed, through derived columns and expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tailrace.aggregate.function_section import FunctionSection, ValuesSection
from tailrace.answers.identity import SIDES
from tailrace.expressions.expression import Expression, parse
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.answer_columns import VALUE
from tailrace.ground.facts import TABLE
from tailrace.query.joins import EmdJoinQuery, SpatialJoinQuery
from tailrace.query.query import Query
from tailrace.query.sections import StreamSection
from tailrace.query.windowed import AggregateQuery, TopKQuery

if TYPE_CHECKING:
    from tailrace.sources.lookups import Lookup

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
FILTER, GROUP_BY, JOIN, SORT, WINDOW = "FILTER", "GROUP_BY", "JOIN", "SORT", "WINDOW"

DIRECT = frozenset({IDENTITY, TRANSFORMATION, AGGREGATION})
"""The ways in which a column contributes to another's values; other ways decide which values there are."""

_OF_WINDOWS = ("window_start", "window_end")


class Origin(NamedTuple):
    """A column of a source, and the way (OpenLineage's subtypes of transformations) in which it is used.

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
        parts = {name: _names(origins) for name, origins in self.columns.items() if name not in _OF_WINDOWS}
        parts["which answers"] = _names(self.answers)
        return "; ".join(f"{name} ← {names}" for name, names in parts.items() if names not in ("", name))


def column_lineage(query: Query) -> ColumnLineage:
    """Return the origins of a query's answers; columns without a source column are left out."""
    streams = {name: _StreamColumns(name, stream, query.lookups[name]) for name, stream in query.streams.items()}
    answers = [origin for each in streams.values() for origin in each.filters()]
    match query:
        case AggregateQuery() | TopKQuery():
            (stream,) = streams.values()
            keys, columns = stream.keys(), stream.identity()
            if isinstance(query, AggregateQuery):
                values, decided = _aggregates(query, stream)
                columns |= values
                answers += decided
            else:
                columns |= _ranking(query, stream)
            answers += [*keys, *stream.origins(stream.declared.event_time, WINDOW)]
        case EmdJoinQuery() | SpatialJoinQuery():
            columns, matched = _pairs(query, streams)
            answers += matched
        case _:
            columns = {}
    lineage = {name: _distinct(origins) for name, origins in columns.items()}
    return ColumnLineage({name: origins for name, origins in lineage.items() if origins}, _distinct(answers))


class _StreamColumns:
    """The columns of a stream, including derived ones, and the source's columns behind each."""

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

    def origins(self, column: str | None, way: str = IDENTITY, expression: str | None = None) -> list[Origin]:
        """Return the origins of one of the stream's columns, used in some way."""
        if column is None:
            return []
        text = self._texts.get(column)
        if way == IDENTITY and text is not None:
            way, expression = TRANSFORMATION, text
        return [Origin(*source, way, expression) for source in self._behind(column)]

    def _behind(self, column: str) -> tuple[tuple[str, str], ...]:
        return self._sources.get(column, ((self.name, column),))

    def _look_up(self, lookup: Lookup) -> list[Origin]:
        """Add the columns of a lookup; return the origins of the columns that match a record and a row."""
        met = [origin for name in lookup.keys for origin in self.origins(name, JOIN)]
        met += [Origin(lookup.subject, name, JOIN) for name in lookup.table.keys]
        if lookup.needs_event_time:
            met += self.origins(self.declared.event_time, JOIN)
            met += [Origin(lookup.subject, name, JOIN) for name in lookup.table.valid if name is not None]
        self._sources |= {name: ((lookup.subject, column),) for name, column in lookup.table.columns}
        return met

    def in_expression(self, text: str, way: str) -> list[Origin]:
        """Return the origins of the columns that an expression reads."""
        return [origin for column in parse(text).columns for origin in self.origins(column, way, text)]

    def filters(self) -> list[Origin]:
        """Return the origins of the columns that decide which records are tuples, and which rows of tables match."""
        where = self.declared.where
        return self._matched + ([] if where is None else self.in_expression(where, FILTER))

    def keys(self) -> list[Origin]:
        key = self.declared.key
        names = key if isinstance(key, tuple) else () if key is None else (key,)
        return [origin for name in names for origin in self.origins(name, GROUP_BY)]

    def identity(self) -> dict[str, list[Origin]]:
        """Return the origins of the key and times of a window's answers."""
        key, times = self.declared.key, self.origins(self.declared.event_time, TRANSFORMATION)
        names = key if isinstance(key, tuple) else ()
        whole = [origin for name in names for origin in self.origins(name, TRANSFORMATION)]
        columns = {"key": whole if isinstance(key, tuple) else self.origins(key)}
        return columns | {name: self.origins(name) for name in names} | dict.fromkeys(_OF_WINDOWS, times)


def _aggregates(query: AggregateQuery, stream: _StreamColumns) -> tuple[dict[str, list[Origin]], list[Origin]]:
    """Return the origins of the columns of answers, and what decides which there are."""
    section = query.aggregate
    expressions, columns, names = section.over_names, dict[str, list[Origin]](), [VALUE]
    if isinstance(section, FunctionSection):
        columns[VALUE] = _function(section.function, section, stream)
    else:
        functions, names = (section.functions | section.hidden).items(), [*section.each]
        columns = {name: _function(each.function, each, stream) for name, each in functions if each.function}
    for name, text in expressions.texts.items():
        columns[name] = [origin for column in parse(text).columns for origin in columns.get(column, ())]
    decided = []
    if expressions.having is not None:
        read = [origin for column in parse(expressions.having.text).columns for origin in columns.get(column, ())]
        decided = [each._replace(way=FILTER, expression=section.having) for each in read]
    return {name: columns[name] for name in names}, decided


def _function(function: str, section: ValuesSection, stream: _StreamColumns) -> list[Origin]:
    columns = [section.column, *(name for name in section.columns if name != section.column)]
    text = function if section.column is None else f"{function}({', '.join(map(str, columns))})"
    origins = [origin for name in columns for origin in stream.origins(name, AGGREGATION, text)]
    if section.where is not None:
        origins += stream.in_expression(section.where, FILTER)
    if FUNCTIONS[function].in_order:
        declared = stream.declared
        for part in (declared.event_time, declared.arrival_time, declared.id):
            origins += stream.origins(part, SORT, text)
    return origins


def _ranking(query: TopKQuery, stream: _StreamColumns) -> dict[str, list[Origin]]:
    score = query.topk.score
    columns = {
        "rank": stream.origins(score, SORT),
        "id": stream.origins(stream.declared.id),
        "score": stream.origins(score),
    }
    return columns | {name: stream.origins(name) for name in query.topk.select}


def _pairs(
    query: EmdJoinQuery | SpatialJoinQuery, streams: Mapping[str, _StreamColumns]
) -> tuple[dict[str, list[Origin]], list[Origin]]:
    """Return the origins of the columns of pairs, and the origins that decide which pairs there are."""
    section: Any = query.emd_join if isinstance(query, EmdJoinQuery) else query.spatial_join
    columns: dict[str, list[Origin]] = {}
    for name, stream in streams.items():
        columns |= {
            f"{name}_id": stream.origins(stream.declared.id),
            f"{name}_time": stream.origins(stream.declared.event_time),
        }
    times = [origin for each in streams.values() for origin in each.origins(each.declared.event_time, JOIN)]
    compared = [*_compared(section, streams)]
    matched = [] if query.table is not None else [*times]
    declared = [] if query.table is None else [section.table.valid_from, section.table.valid_to]
    if valid := [name for name in declared if name is not None]:
        matched += [*times, *(Origin(TABLE, name, JOIN) for name in valid)]
    matched += [origin for stream, column in compared for origin in _side(streams, stream, column, JOIN)]
    computed = [origin for stream, column in compared for origin in _side(streams, stream, column, TRANSFORMATION)]
    if isinstance(query, SpatialJoinQuery):
        if section.table is not None:
            columns["right_id"] = [Origin(TABLE, section.table.id, IDENTITY)]
        if query.window is not None:
            columns |= {name: [each._replace(way=TRANSFORMATION) for each in times] for name in _OF_WINDOWS}
    else:
        columns |= {"distance": computed} if section.distances else {}
    for name, side, column in section.selection:
        columns[name] = computed if side is None else _side(streams, _side_name(streams, side), column, IDENTITY)
    condition = query.pair_condition
    if condition is not None:
        for qualified in Expression(condition, SIDES).columns:
            side_name, _, column = qualified.partition(".")
            name = _side_name(streams, SIDES.index(side_name))
            matched += [each._replace(expression=condition) for each in _side(streams, name, column, FILTER)]
    return columns, matched


def _compared(section: Any, streams: Mapping[str, _StreamColumns]) -> Iterable[tuple[str, str]]:
    """Yield the columns by which tuples are compared, with the names of their streams."""
    for side, name in enumerate(streams):
        columns = (
            [section.histogram] if hasattr(section, "histogram") else section.geometry.columns(side).named.values()
        )
        yield from ((name, column) for column in columns)
    if getattr(section, "table", None) is not None:
        yield TABLE, section.table.geometry


def _side_name(streams: Mapping[str, _StreamColumns], side: int) -> str:
    return SIDES[side] if SIDES[side] in streams else TABLE


def _side(streams: Mapping[str, _StreamColumns], name: str, column: str, way: str) -> list[Origin]:
    return [Origin(TABLE, column, way)] if name == TABLE else streams[name].origins(column, way)


def _distinct(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    return tuple(dict.fromkeys(origins))


def _names(origins: Iterable[Origin]) -> str:
    return ", ".join(dict.fromkeys(origin.column for origin in origins))
