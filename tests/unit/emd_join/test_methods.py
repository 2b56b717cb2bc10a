"""The plans of the three methods, which follow from what the tasks measured."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.emd_join.methods import EmdDdsj, Head, Plan, ShuffleMethod
from tailrace.ground.facts import stamp

WIDTH = 0.5


def loads(span: list[int], load: list[float], tuples: list[float]) -> dict[str, np.ndarray]:
    return {name: np.array(values, float) for name, values in {"span": span, "load": load, "tuples": tuples}.items()}


def tasks_of(plan: Plan, keys: list[float], tasks: int) -> list[int]:
    rows = pa.record_batch({"key": keys, "id": [str(key) for key in keys]})
    facts = stamp((), "plan", dict(plan or {}), 0, "")
    return Head(WIDTH, 1).partition.assign(0, rows, facts, tasks).task.tolist()


def test_head_divides_by_tuples_once_and_emd_ddsj_by_load_each_time() -> None:
    measured = loads([0, 1, 2, 3], [9, 1, 1, 1], [1, 1, 1, 1])
    head = Head(WIDTH, 1).next_plan(None, measured, 2)
    assert head is not None
    assert head["bounds"][1] == 2  # two tuples for each
    assert Head(WIDTH, 1).next_plan(head, loads([7], [1], [1]), 2) is head
    ours = EmdDdsj(WIDTH, 1).next_plan(None, measured, 2)
    assert ours is not None
    assert ours["bounds"][1] < 2  # most of the load is in the first span
    assert EmdDdsj(WIDTH, 1).next_plan(ours, loads([7, 8], [1, 1], [1, 1]), 2)["bounds"] == [7, 8, 9]


def test_the_outermost_ranges_of_head_reach_to_the_ends_of_the_key_space() -> None:
    plan = Head(WIDTH, 1).next_plan(None, loads([0, 1, 2, 3], [0, 0, 0, 0], [1, 1, 1, 1]), 2)
    assert tasks_of(plan, [-1e300, -40.0, 0.0, 0.9, 1.0, 40.0, 41.0, 1e300], 2) == [0, 0, 0, 0, 1, 1, 1, 1]


def test_without_tuples_head_has_no_ranges_yet_and_shuffle_never_has_a_plan() -> None:
    assert Head(WIDTH, 1).next_plan(None, loads([], [], []), 2) is None
    assert ShuffleMethod(WIDTH, 1).next_plan(None, loads([0, 1], [5, 1], [1, 1]), 2) is None
