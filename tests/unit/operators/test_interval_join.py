"""The incremental interval join, tick by tick, against pairs computed by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.disorder.clock import Frontier
from tailrace.operators.chunk import Chunk
from tailrace.operators.interval_join import Matches, PairState, step

TYPES = {"id": pa.string(), "event_time": pa.int64(), "tick": pa.int64(), "tuples": pa.int64()}
LOWER, UPPER = -15, 30
KEPT = UPPER, -LOWER


def rows(*tuples: tuple[str, int]) -> pa.Table:
    """Rows of tick 1 with these ids and event times."""
    return pa.table([*zip(*[(name, time, 1, 1) for name, time in tuples], strict=True)] or [[]] * 4, pa.schema(TYPES))


def match(left: list[Chunk], right: list[Chunk], new: int) -> Matches:
    """All pairs within the interval."""
    one, two = (
        np.concatenate([np.zeros(0, np.int64), *(np.asarray(chunk.rows["event_time"]) for chunk in side)])
        for side in (left, right)
    )
    apart = two[None] - one[:, None]
    return Matches(*np.nonzero((apart >= LOWER) & (apart <= UPPER)))


def state(left: pa.Table, right: pa.Table) -> PairState:
    return PairState.from_chunks(
        {name: (Chunk(side.to_batches()[0]),) for name, side in (("left", left), ("right", right))}
    )


def frontier(before: int, after: int) -> Frontier:
    """F before the tick 1, and after it."""
    tick, zero = np.array([1]), np.zeros(1, np.int64)
    return Frontier(before, tick, tick, zero, zero, np.array([after]), zero)


@pytest.mark.parametrize(
    ("stored", "arrived", "met"),
    [
        (("left", 70), ("right", 90), True),
        (("left", 69), ("right", 90), False),
        (("right", 85), ("left", 90), True),
        (("right", 84), ("left", 90), False),
    ],
)
def test_a_late_tuple_meets_what_its_partners_side_still_keeps(stored, arrived, met):
    """F is 100: left ones are kept from 70 on, right ones from 85 on. A state holds older rows for some time.

    So does a state of before the sides had bounds of their own, which kept rows of both for the larger one.
    """
    held = {"left": ("a", 0), "right": ("b", 0)} | {stored[0]: ("ab"[stored[0] == "right"], stored[1])}
    came = {"left": rows(), "right": rows()} | {arrived[0]: rows(("ba"[arrived[0] == "left"], arrived[1]))}
    before = state(rows(held["left"]), rows(held["right"]))
    _, pairs, late = step(KEPT, match, before, (came["left"], came["right"]), frontier(100, 100))
    found = [(a, b) for a, b in zip(pairs.left["id"].to_pylist(), pairs.right["id"].to_pylist(), strict=True)]
    assert found == ([("a", "b")] if met else [])
    assert [each.num_rows for each in late] == [arrived[0] == side for side in ("left", "right")], "and is registered"


def test_each_side_is_stored_for_its_own_bound():
    """Paper 003, eq. 5: S_1 is kept for T_ub, and S_2 for -T_lb."""
    times = [("x", time) for time in range(60, 101)]
    after, _, _ = step(KEPT, match, PairState(), (rows(*times), rows(*times)), frontier(0, 100))
    held = [
        [time for chunk in side.chunks for time in chunk.rows["event_time"].to_pylist()]
        for side in (after.left, after.right)
    ]
    assert [min(times) for times in held] == [70, 85]
