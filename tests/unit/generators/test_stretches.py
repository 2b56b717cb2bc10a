"""Batches by stretches of arrival time, against a plain sort of all fixes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.fixes import Fixes
from generators.stretches import in_stretches

START = 1_700_000_000_000
STEP = 100

steps_of_fixes = st.lists(st.lists(st.tuples(st.integers(0, STEP - 1), st.integers(0, 500)), max_size=8), max_size=6)
"""For each step its fixes: milliseconds after its start, and the delay."""


def as_fixes(rows: list[tuple[int, int, int]]) -> Fixes:
    """Fixes of event and arrival times and numbers."""
    event, arrival, number = np.array(rows, np.int64).reshape(-1, 3).T
    return Fixes(event, arrival, number, number, number.astype(float), number.astype(float))


@given(steps_of_fixes, st.integers(1, 1000), st.booleans())
def test_they_are_the_groups_of_a_sorted_list(
    steps: list[list[tuple[int, int]]], stretch: int, one_outlier: bool
) -> None:
    everything: list[tuple[int, int, int]] = []
    numbered: list[list[tuple[int, int, int]]] = []
    for step, drawn in enumerate(steps):
        first = START + STEP * step
        far = 10**12 if one_outlier and step == 0 else 0
        rows = [
            (first + after, first + after + delay + far, len(everything) + i) for i, (after, delay) in enumerate(drawn)
        ]
        everything += rows
        numbered.append(rows)
    given_steps = ((START + STEP * (step + 1), as_fixes(rows)) for step, rows in enumerate(numbered))
    batches = [
        list(zip(batch.event_ms.tolist(), batch.arrival_ms.tolist(), batch.number.tolist(), strict=True))
        for batch in in_stretches(given_steps, START, stretch)
    ]
    in_order = sorted(everything, key=lambda row: row[1])  # ties stay
    assert batches == [list(group) for _, group in groupby(in_order, key=lambda row: (row[1] - START) // stretch)]


def test_a_stretch_comes_as_soon_as_it_is_complete() -> None:
    asked = 0

    def steps() -> Iterator[tuple[int, Fixes]]:
        nonlocal asked
        while True:
            asked += 1
            first = START + STEP * (asked - 1)
            yield first + STEP, as_fixes([(first, first + 150, asked)])

    batches = in_stretches(steps(), START, 2 * STEP)
    assert next(batches).number.tolist() == [1]
    assert asked == 2
    assert next(batches).number.tolist() == [2, 3]
    assert asked == 4
