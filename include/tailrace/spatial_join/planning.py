"""Plans a declared spatial join: its condition, its inputs, and its explanation for people."""

from __future__ import annotations

from tailrace.kind.explanation import Explanation
from tailrace.spatial_join.condition import Condition
from tailrace.spatial_join.geometry_input import GeometryInput
from tailrace.spatial_join.metrics import Geodesic, Planar
from tailrace.spatial_join.section import SpatialJoinSection
from tailrace.spatial_join.selection import DERIVED
from tailrace.spatial_join.stream_join import StreamJoin


def condition_of(section: SpatialJoinSection) -> Condition:
    """The condition of a pair, as it is declared."""
    metric = Geodesic() if section.crs == "degrees" else Planar()
    return Condition(section.relation, section.limit, metric)


def input_of(section: SpatialJoinSection, side: int) -> GeometryInput:
    """The reader of a stream's geometries."""
    columns = section.geometry.of(side).named
    return GeometryInput(columns, section.crs == "degrees", section.on_invalid == "make_valid")


def stream_join_of(section: SpatialJoinSection) -> StreamJoin:
    """The join of two streams' geometries."""
    derived = tuple(name for name in DERIVED if name in section.select)
    inputs = input_of(section, 0), input_of(section, 1)
    return StreamJoin(inputs, condition_of(section), derived, section.cells, section.method == "indexed")


def explanation_of(section: SpatialJoinSection) -> Explanation:
    """The explanation of how the join of two streams is spread, and how a task finds pairs."""
    grid = section.cells
    if grid is None:
        why = "method: native is declared" if section.method == "native" else "disjoint geometries are in any two cells"
        found = "a local index" if section.method == "indexed" else "nested loops over all pairs"
        return Explanation("right to all tasks, left by the hash of its id", found, why)
    spread = f"by {grid.n} × {grid.n} cells, left to all where partners may lie, balanced by the pairs found"
    reason = "pairs lie near each other, so a cell and its surroundings are enough to find them"
    return Explanation(spread, "points among points by sorted strips, all else by an R-tree of envelopes", reason)
