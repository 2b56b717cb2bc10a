"""The lists of cells hold the rows that were put before them, certain ones at the end; equal lists are one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.spatial_join.table.raster_levels import ContentsBuilder

CELLS = 5


def walked(contents, entry):
    rows = []
    while entry:
        rows.append((int(contents.row[entry]), bool(contents.is_certain[entry])))
        entry = int(contents.rest[entry])
    return rows[::-1]


@drawn(150)
@given(st.integers(1, 40), st.data())
def test_lists_are_those_of_python(rows, data):
    builder = ContentsBuilder(rows)
    lists, certain, expected = np.zeros(CELLS, np.int64), np.zeros(CELLS, np.int64), [[] for _ in range(CELLS)]
    for _ in range(2):
        pairs = data.draw(
            st.dictionaries(st.tuples(st.integers(0, CELLS - 1), st.integers(0, rows - 1)), st.booleans())
        )
        cell = np.array([at for at, _ in pairs], np.int64)
        row = np.array([number for _, number in pairs], np.int64)
        lists, certain = builder.add(certain, cell, row, np.array(list(pairs.values()), bool))
        before = [[pair for pair in one if pair[1]] for one in expected]
        new = [
            sorted(((row, sure) for (at, row), sure in pairs.items() if at == k), key=lambda p: (not p[1], p[0]))
            for k in range(CELLS)
        ]
        expected = [one + other for one, other in zip(before, new, strict=True)]
    contents = builder.contents()
    assert [walked(contents, int(entry)) for entry in lists] == expected
    assert [walked(contents, int(entry)) for entry in certain] == [
        [pair for pair in one if pair[1]] for one in expected
    ]
    assert len(set(lists.tolist())) == len(set(map(tuple, expected)))


def test_kinds_tell_lists_of_one_certain_row_apart():
    builder = ContentsBuilder(3)
    cell, row = np.array([1, 2, 3, 3]), np.array([2, 2, 0, 1])
    lists, _ = builder.add(np.zeros(4, np.int64), cell, row, np.array([True, False, True, True]))
    assert builder.contents().kinds[lists].tolist() == [0, 1, 2, 2]
