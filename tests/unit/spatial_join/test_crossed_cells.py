"""The cells that edges cross are all found, and few beside them."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.spatial_join.table.crossed_cells import CellBoxes, UnitEdges, boxes_of, crossed_cells, expand

WIDTH, SIDE = 16, 12

PLACE = st.one_of(
    st.integers(0, WIDTH * SIDE).map(float),
    st.integers(0, SIDE).map(lambda n: float(n * WIDTH)),
    st.floats(0, WIDTH * SIDE),
)


def cells_of(ends, boxes=None):
    ends = np.array(ends, float).reshape(-1, 4)
    ends = np.where(ends[:, :1] <= ends[:, 2:3], ends, ends[:, [2, 3, 0, 1]])
    edges = UnitEdges(*ends.T)
    count = len(ends)
    whole = CellBoxes(*(np.full(count, side) for side in (0, 0, SIDE - 1, SIDE - 1)))
    index, column, line = crossed_cells(edges, np.arange(count), boxes or whole, WIDTH)
    return set(zip(index.tolist(), column.tolist(), line.tolist(), strict=True)), len(index)


@drawn(200)
@given(st.lists(st.tuples(PLACE, PLACE, PLACE, PLACE), min_size=1, max_size=6))
def test_all_cells_that_an_edge_meets_are_found_once_and_none_farther_than_the_margins(drawn):
    found, count = cells_of(drawn)
    assert count == len(found)
    for index, ends in enumerate(drawn):
        line = shapely.LineString([ends[:2], ends[2:]])
        for column in range(SIDE):
            for row in range(SIDE):
                cell = shapely.box(column * WIDTH, row * WIDTH, (column + 1) * WIDTH, (row + 1) * WIDTH)
                if line.distance(cell) < 1e-9:
                    assert (index, column, row) in found
                elif (index, column, row) in found:
                    assert line.distance(cell) <= 2 * 2**0.5 + 1e-9 or abs(ends[0] - ends[2]) < 1


@pytest.mark.parametrize("turned", [False, True])
def test_cells_within_the_margin_are_found(turned):
    edge = (15.5, 40, 15.5, 44)
    edge = (edge[1], edge[0], edge[3], edge[2]) if turned else edge
    found = {(0, 2), (1, 2)}
    assert cells_of([edge])[0] == {(0, *(cell[::-1] if turned else cell)) for cell in found}


def test_a_slanted_edge_is_found_in_the_cells_of_its_sides_margin():
    """At the border of columns an edge of slope 8 is off by 8 units if its place is off by one."""
    found, _ = cells_of([(0, 0, 24, 192)])
    assert {(0, 0, 8), (0, 1, 7)} <= found


def test_all_of_a_steep_edge_counts_for_the_columns_in_whose_margin_it_is():
    assert {(0, 0, line) for line in range(SIDE)} <= cells_of([(16.5, 0, 16.5, 192)])[0]
    assert (0, 0, 11) in cells_of([(16.5, 0, 17.4, 192)])[0]
    assert (0, 1, 0) in cells_of([(14.6, 0, 15.5, 192)])[0]


def test_only_cells_of_the_box_are_found():
    box = CellBoxes(*(np.array([side]) for side in (2, 3, 4, 3)))
    assert cells_of([(0, 56, 192, 56)], box)[0] == {(0, 2, 3), (0, 3, 3), (0, 4, 3)}


def test_boxes_hold_the_margin():
    boxes = boxes_of(np.array([[16.5, 32, 63.5, 40], [18, 33.5, 62, 46]]), WIDTH)
    assert [side.tolist() for side in boxes] == [[0, 1], [1, 2], [4, 3], [2, 2]]
    assert boxes.sizes.tolist() == [10, 3]


def test_expand_lists_ranges():
    assert [column.tolist() for column in expand(np.array([5, 1, 9]), np.array([2, -1, 1]))] == [[0, 0, 2], [5, 6, 9]]
