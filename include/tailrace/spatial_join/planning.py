"""Plans a declared spatial join: its condition, its inputs, and its explanation for people."""

from __future__ import annotations

from tailrace.kind.column_use import fields_by_column, of_side
from tailrace.kind.explanation import KindExplanation
from tailrace.kind.selection import computed_of
from tailrace.partition.routes import RIGHT
from tailrace.spatial_join.geometry.metrics import Geodesic, Planar
from tailrace.spatial_join.geometry_input import GeometryInput
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.section import SpatialJoinSection
from tailrace.spatial_join.streams.stream_join import StreamJoin
from tailrace.spatial_join.table.table_lookup import TableLookup, TableSource


def condition_of(section: SpatialJoinSection) -> Condition:
    """Return the declared condition of a pair."""
    metric = Geodesic() if section.crs == "degrees" else Planar()
    return Condition(section.relation, section.limit, metric)


def input_of(section: SpatialJoinSection, side: int) -> GeometryInput:
    """Return the reader of a stream's geometries."""
    columns = section.geometry.columns(side).named
    return GeometryInput(columns, section.crs == "degrees", section.on_invalid == "make_valid")


def table_source_of(section: SpatialJoinSection) -> TableSource | None:
    """Return the declared dimension table, if there is one."""
    table = section.table
    if table is None:
        return None
    columns = {use.part: use.column for use in of_side(section.uses, RIGHT)}
    return TableSource(
        table.place,
        table.id,
        table.geometry,
        table.on_invalid,
        section.crs == "degrees",
        tuple(columns.items()),
        tuple(fields_by_column(section.uses, RIGHT).items()),
        table.format,
        (table.valid_from, table.valid_to),
    )


def table_lookup_of(section: SpatialJoinSection) -> TableLookup:
    """Return the lookup in the dimension table."""
    source = table_source_of(section)
    assert source is not None
    return TableLookup(source, condition_of(section), section.method)


def stream_join_of(section: SpatialJoinSection) -> StreamJoin:
    """Return the join of two streams' geometries."""
    inputs = input_of(section, 0), input_of(section, 1)
    return StreamJoin(
        inputs, condition_of(section), computed_of(section.selection), section.cells, section.method == "indexed"
    )


def explanation_of(section: SpatialJoinSection) -> KindExplanation:
    """Explain how a join is spread over tasks, and how its pairs are found."""
    grid = section.cells
    if section.join == "table":
        spread = "answered where it is read"
        if section.method != "indexed":
            method = "each row of the table is tested" if section.method == "native" else "DuckDB's spatial join"
            return KindExplanation(spread, method, f"method: {section.method} is declared")
        method = "points in polygons by a raster and indexed edges, all else by an R-tree of envelopes"
        return KindExplanation(spread, method, "each worker holds the whole table, and a tuple waits for no other")
    if grid is None:
        why = "method: native is declared" if section.method == "native" else "disjoint geometries are in any two cells"
        method = "a local index" if section.method == "indexed" else "nested loops over all pairs"
        return KindExplanation("right to all tasks, left by the hash of its id", method, why)
    spread = f"by {grid.n} × {grid.n} cells, left to all where partners may lie, balanced by the pairs found"
    reason = "pairs lie near each other, so a cell and its surroundings are enough to find them"
    return KindExplanation(spread, "points among points by sorted strips, all else by an R-tree of envelopes", reason)
