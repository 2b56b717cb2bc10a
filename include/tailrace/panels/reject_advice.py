"""Finds the line of a query file that would accept rejected records, by the reason, and the text to write there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tailrace.advice.quoting import scalar
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.expressions.written_names import written
from tailrace.ground.errors import Refused
from tailrace.panels.cells import cut
from tailrace.panels.panel import Shown
from tailrace.panels.query_view import QueryView
from tailrace.query.joins import SpatialJoinQuery
from tailrace.query.query import Query
from tailrace.query.yaml_file import FieldPath, YamlFile, read
from tailrace.sources.columns import SourceMapping
from tailrace.storage.deployed import DeployedQuery


class QueryLine(Shown):
    """A line of the query file in force.

    Attributes
    ----------
    advice : str
        What to write there so that such records are accepted, or left out, in sentences.
    """

    number: int
    text: str
    advice: str


class _Advice(NamedTuple):
    """A field of the query file, such as `streams.readings.bounds.ahead`, and the text to write there."""

    field: str
    text: str


@dataclass(frozen=True)
class _Reject:
    """A reason to reject records of a stream: the column that it names, and the fault."""

    query: Query
    stream: str
    columns: SourceMapping
    column: str

    @property
    def field(self) -> str | None:
        """The field of the query file that names the column."""
        parts = (part for part, name in self.columns.parts().items() if name == self.column)
        return next((field for field in map(self.columns.field_of, parts) if field is not None), None)

    def of_stream(self, field: str) -> str:
        return f"streams.{self.stream}.{field}"


def _null(reject: _Reject) -> _Advice | None:
    name, column = reject.column, written(reject.column)
    text = f"where: {scalar(f'{column} is not null')}, which leaves such records out"
    text += "; or a derived column with a value in its place"
    if name in reject.columns.key_parts.values():
        text += f", as columns: {{{name}: \"ifnull({column}, 'none')\"}}; or null_key: group, a group of such records"
    return None if reject.field is None else _Advice(reject.field, text)


def _not_finite(test: str) -> Callable[[_Reject], _Advice | None]:
    def advise(reject: _Reject) -> _Advice | None:
        name = reject.column
        column = written(name)
        condition = test.format(column)
        text = f"where: not ({condition}), which leaves such records out"
        if reject.columns.aggregated:
            text = f'columns: {{{name}: "if({condition}, null, {column})"}}, as aggregates leave nulls out; or {text}'
        return None if reject.field is None else _Advice(reject.field, text)

    return advise


def _unreadable(reject: _Reject) -> _Advice | None:
    text = (
        "the name of a column with times of ISO 8601, such as 2026-11-26T08:30:00Z, or of a derived column that makes "
        "such times of this one"
    )
    return None if reject.field is None else _Advice(reject.field, text)


def _unit(unit: str) -> Callable[[_Reject], _Advice | None]:
    def advise(reject: _Reject) -> _Advice | None:
        name = reject.column
        text = f"a derived column: columns: {{{name}: {unit.format(written(name))}}}"
        return None if reject.field is None else _Advice(reject.field, text)

    return advise


def _on_stream(field: str, text: str) -> Callable[[_Reject], _Advice | None]:
    return lambda reject: _Advice(reject.of_stream(field), text)


def _invalid(reject: _Reject) -> _Advice | None:
    if not isinstance(reject.query, SpatialJoinQuery) or reject.query.spatial_join.on_invalid == "make_valid":
        return None
    return _Advice("spatial_join.on_invalid", "on_invalid: make_valid, which mends such geometries")


def _far(reject: _Reject) -> _Advice | None:
    if not isinstance(reject.query, SpatialJoinQuery):
        return None
    return _Advice("spatial_join.crs", "crs: planar, if coordinates are in a plane; or x and y the other way round")


_ZONE = "what times without a zone mean, as timezone: Europe/Berlin"
_NAME = "(?P<name>.+?)"
_RULES: tuple[tuple[str, Callable[[_Reject], _Advice | None]], ...] = (
    (f"{_NAME} is null", _null),
    (f"{_NAME} is NaN", _not_finite("isnan({0})")),
    (f"{_NAME} is infinite", _not_finite("abs({0}) = cast('infinity' as double)")),
    (f"{_NAME} is no time that could be read: .*", _unreadable),
    (f"{_NAME} has (no|a) zone, and the first record has .*", _on_stream("timezone", _ZONE)),
    (f"{_NAME} out of bounds: .*epoch seconds.*", _unit("timestamp_seconds({0})")),
    (f"{_NAME} out of bounds: .*epoch microseconds.*", _unit("timestamp_micros({0})")),
    (f"{_NAME} out of bounds: .*epoch nanoseconds.*", _unit("timestamp_micros({0} div 1000)")),
    (
        f"{_NAME} out of bounds: too far ahead of arrival",
        _on_stream("bounds.ahead", "bounds: {ahead: …}, as far as event time may be ahead of arrival, such as 1 d"),
    ),
    (
        f"{_NAME} out of bounds: before the earliest accepted",
        _on_stream("bounds.earliest", "bounds: {earliest: …}, the first time to be accepted, such as 1990-01-01"),
    ),
    (
        f"{_NAME} out of bounds: later than the clock when it was read",
        _on_stream("bounds.skew", "bounds: {skew: …}, as far as clocks may differ, such as 5 min"),
    ),
    (f"{_NAME} is not valid: .*", _invalid),
    (f"{_NAME} (is no longitude|is no latitude|is not in degrees): .*", _far),
)
_EXPRESSION = re.compile(r"expression (?P<name>[^:]+): (?P<fault>.*)")
_REBUILD = "The stream was begun with this file: tailrace rebuild reads its source again with another one."


@dataclass(frozen=True)
class RejectAdvice:
    """Finds the line of a query file for a reason.

    Attributes
    ----------
    columns : dict
        The columns of each stream.
    lines : dict
        The number of the line of each field.
    text : list of str
        The lines of the file.
    """

    query: Query
    columns: Mapping[str, SourceMapping]
    lines: Mapping[FieldPath, int]
    text: list[str]

    @staticmethod
    def from_view(view: QueryView) -> RejectAdvice | None:
        """Return the advice for the file that the stream runs; None where it is not an existing YAML file."""
        deployed = DeployedQuery.read(view.layout)
        try:
            if deployed is not None:
                file, text = deployed.file, deployed.text
            elif view.file is not None:
                file, text = view.file, read(view.file)
            else:
                return None
            columns = CompiledQuery.declare(view.query).sources
            return RejectAdvice(view.query, columns, YamlFile(file, text).lines, text.splitlines())
        except Refused:  # the page reports the fault of the file elsewhere
            return None

    def line(self, stream: str, reason: str) -> QueryLine | None:
        """Return the line for a reason to reject a stream's records; None where no line would help."""
        if stream not in self.columns:
            return None
        advice = self._advice(stream, reason)
        if advice is None:
            return None
        number = self._number(advice.field)
        if number is None:
            return None
        text = self.text[number - 1].strip()
        return QueryLine(number=number, text=cut(text), advice=f"At {advice.field}, write {advice.text}. {_REBUILD}")

    def _advice(self, stream: str, reason: str) -> _Advice | None:
        columns = self.columns[stream]
        if match := _EXPRESSION.fullmatch(reason):
            return _of_expression(columns, match["name"], match["fault"])
        for pattern, advise in _RULES:
            if match := re.fullmatch(pattern, reason):
                return advise(_Reject(self.query, stream, columns, match["name"]))
        return None

    def _number(self, field: str) -> int | None:
        """Return the line of a field, or of the nearest enclosing section in the file."""
        path = tuple(field.split("."))
        above = (path[:length] for length in range(len(path), 0, -1))
        return next((self.lines[part] for part in above if part in self.lines), None)


def _of_expression(columns: SourceMapping, name: str, fault: str) -> _Advice | None:
    fields = {known: field for known, _, field in columns.expressions()}
    field = fields.get(name)
    if field is None:
        return None
    instead = "try_divide" if "zero" in fault else "try_cast" if "that is no" in fault else None
    text = "an expression that does not fail for them, by case or if"
    return _Advice(field, f"{instead}, which gives null in its place; or {text}" if instead else text)
