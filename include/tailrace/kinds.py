"""The registry of the query kinds: a new kind is a room beside `aggregate`, and a line here.

A query only loads the room of its own kind, as the other rooms take as long to import as all the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tailrace.kind.column_use import of_side
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.pair_condition import PairCondition
from tailrace.kind.protocol import Kind
from tailrace.query.joins import EmdJoinQuery, SpatialJoinQuery
from tailrace.query.query import Query
from tailrace.query.windowed import AggregateQuery, TopKQuery
from tailrace.windows.sliding import Sliding


def _aggregate(query: AggregateQuery, types: Sequence[ColumnTypes]) -> Kind:
    from tailrace.aggregate.planning import aggregate_of

    return aggregate_of(query.window.windows, query.aggregate, types[0], types[0].of_keys(query.key_names))


def _topk(query: TopKQuery, types: Sequence[ColumnTypes]) -> Kind:
    from tailrace.topk.kind import TopK

    section, uses = query.topk, of_side(query.topk.uses(), 0)
    keys = types[0].key, types[0].id, types[0].of_keys(query.key_names)
    score, *selected = types[0].of_carried(use.part for use in uses).values()
    own: dict[str, Any] = {"method": section.method, "selected": dict(zip(section.select, selected, strict=True))}
    own |= {"score_type": score, "k": section.k, "descending": section.order == "descending"}
    return TopK(query.window.windows, uses, *keys, **own)


def _emd_join(query: EmdJoinQuery, types: Sequence[ColumnTypes]) -> Kind:
    from tailrace.emd_join.kind import EmdJoin
    from tailrace.emd_join.planning import plan_of

    section, (left, right) = query.emd_join, types
    search_plan, bins = plan_of(section), len(section.costs)
    return EmdJoin(
        query.window.size_ms,
        (left, right),
        bins=bins,
        search=search_plan.search,
        method=search_plan.method,
        explanation=search_plan.explanation,
        distances=section.distances,
        selection=section.selection,
        condition=PairCondition.parse(section.where, types, "emd_join.where"),
        uses=section.uses,
    )


def _spatial_join(query: SpatialJoinQuery, types: Sequence[ColumnTypes]) -> Kind:
    from tailrace.spatial_join.planning import explanation_of, input_of, stream_join_of, table_lookup_of
    from tailrace.spatial_join.streams.interval_join import SpatialIntervalJoin
    from tailrace.spatial_join.streams.window_join import SpatialWindowJoin
    from tailrace.spatial_join.table.table_join import SpatialTableJoin

    section, (left, right) = query.spatial_join, types
    condition = PairCondition.parse(section.where, types, "spatial_join.where")
    if section.join == "table":
        return SpatialTableJoin(
            column_types=(left, right),
            geometry=input_of(section, 0),
            lookup=table_lookup_of(section),
            explanation=explanation_of(section),
            selection=section.selection,
            condition=condition,
            answers_unmatched=section.table is not None and section.table.on_no_match == "null",
            uses=section.uses,
        )
    parts: dict[str, Any] = {"join": stream_join_of(section), "explanation": explanation_of(section)}
    parts |= {"selection": section.selection, "condition": condition, "uses": section.uses}
    if section.interval is not None:
        reach_ms, interval = section.interval.reach_ms, section.interval.bounds_ms
        return SpatialIntervalJoin(reach_ms, (left, right), interval=interval, bins=section.bin_ms, **parts)
    assert query.window is not None
    sliding = Sliding(query.window.size_ms, query.window.slide_ms)
    return SpatialWindowJoin(sliding.size_ms - 1, (left, right), sliding=sliding, **parts)


KINDS: dict[str, Callable[[Any, Sequence[ColumnTypes]], Kind]] = {
    "aggregate": _aggregate,
    "topk": _topk,
    "emd_join": _emd_join,
    "spatial_join": _spatial_join,
}


def build(query: Query, types: Sequence[ColumnTypes] | None = None) -> Kind:
    """Build the kind of a declared query, given the column types of each of its streams and its table."""
    inputs = len(query.streams) + (query.table is not None)
    return KINDS[query.kind](query, types or [ColumnTypes()] * inputs)
