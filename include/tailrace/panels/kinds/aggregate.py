"""The panel `kind` of an aggregate: each column of its answers."""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa

from tailrace.aggregate.function_section import FunctionSection
from tailrace.aggregate.named_section import NamedAggregateSection
from tailrace.ground.arrow.answer_columns import VALUE
from tailrace.panels.cells import plain
from tailrace.panels.kinds.calibration import newest_calibration
from tailrace.panels.kinds.request import KindAnswer, KindRequest
from tailrace.panels.panel import Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.query.windowed import AggregateQuery


class ShownAggregate(Shown):
    """A column of the answers.

    Attributes
    ----------
    function : str or None
        Null for an expression over other columns, which is in `of`.
    of : str or None
        The column of the values; null if tuples are counted.
    where : str or None
        The condition that selects its tuples.
    parameters : dict
        The function's parameters, such as q.
    type : str or None
        The Arrow type of its answers; null before the first batch.
    """

    name: str
    function: str | None
    of: str | None
    where: str | None
    parameters: dict[str, Any]
    type: str | None


class AggregateAnswer(KindAnswer):
    """The aggregates of a query, in the order of its answers' columns, and its windows in words."""

    kind: Literal["aggregate"] = "aggregate"
    aggregates: list[ShownAggregate]
    windows: str


def read(view: QueryView, request: KindRequest) -> AggregateAnswer:
    """Read the declared aggregates, and the types of their answers from the table."""
    query = view.query
    assert isinstance(query, AggregateQuery)
    section = query.aggregate
    each: dict[str, FunctionSection | NamedAggregateSection]
    each = {VALUE: section} if isinstance(section, FunctionSection) else dict(section.each)
    pieces = Pieces()
    types = pieces.read("aggregates", lambda: _types(view), pa.schema([]))
    note = "the stream has answered nothing yet: the types of its answers are not known"
    return AggregateAnswer(
        aggregates=[_shown(name, one, types) for name, one in each.items()],
        windows=query.window.windows.description,
        calibration=newest_calibration(view, pieces),
        note=None if types.names or pieces.damaged else note,
        damaged=pieces.damaged,
    )


def _types(view: QueryView) -> pa.Schema:
    """Return the schema of the answers; without columns before the first batch."""
    return view.tables.schema("results") if view.tables.has("results") else pa.schema([])


def _shown(name: str, section: FunctionSection | NamedAggregateSection, types: pa.Schema) -> ShownAggregate:
    expression = section.expression if isinstance(section, NamedAggregateSection) else None
    return ShownAggregate(
        name=name,
        function=section.function,
        of=section.column if expression is None else expression,
        where=section.where,
        parameters={} if section.function is None else plain(section.parameters_of(section.function)),
        type=str(types.field(name).type) if name in types.names else None,
    )
