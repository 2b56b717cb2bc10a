"""Feedback balancing in simulation: drifting keys, a cut after which all keys are elsewhere, and unfinished batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tailrace.ground.facts import Facts, stamp
from tailrace.partition.by_span import BySpan, span_of
from tailrace.partition.feedback_balancing import estimated_load, load_imbalance, next_plan

TASKS, PERIODS, CUT, TUPLES, WIDTH = 8, 24, 12, 2_000, 5.0


def drifting_keys(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The keys of each period, and the exact EMDs of each tuple: three scenes that drift, and a cut."""
    random = np.random.default_rng(seed)
    scenes = random.uniform(0, 100, 3)
    for period in range(PERIODS):
        scenes = scenes + random.normal(0, 0.5, 3) + (150 if period == CUT else 0)
        scene = random.choice(3, TUPLES, p=[0.5, 0.3, 0.2])
        keys = scenes[scene] + random.normal(0, 1, TUPLES) * np.array([8, 3, 15])[scene]
        yield keys, random.poisson(np.array([10, 40, 5])[scene]).astype(float)


def tasks_of(keys: np.ndarray, facts: Facts) -> np.ndarray:
    rows = pa.RecordBatch.from_pydict({"id": np.arange(len(keys)), "key": keys})
    return BySpan(WIDTH).assign(0, rows, facts, TASKS).task


def next_facts(facts: Facts, keys: np.ndarray, load: np.ndarray, estimated: np.ndarray) -> Facts:
    return stamp((), "plan", next_plan(None, span_of(keys, WIDTH), load, estimated, TASKS), 0, "")


def imbalances(seed: int, plans: bool) -> np.ndarray:
    """The load imbalance of each period; with plans, each follows from the period before."""
    facts, each = (), []
    for keys, load in drifting_keys(seed):
        each.append(load_imbalance(np.bincount(tasks_of(keys, facts), load, TASKS)))
        if plans:
            facts = next_facts(facts, keys, load, np.zeros(TASKS))
    return np.array(each)


def test_plans_balance_drifting_keys_and_recover_one_period_after_a_cut():
    without, balanced = (np.mean([imbalances(seed, plans) for seed in range(3)], axis=0) for plans in (False, True))
    steady = balanced[2:CUT].mean()
    assert steady < without[2:CUT].mean() / 2
    assert balanced[CUT] <= without[CUT] + 0.01
    assert balanced[CUT + 1 :].max() < 1.5 * steady


def longest_queues(seed: int, capacity: float, estimates: bool) -> np.ndarray:
    """The load that the busiest task has still before it at the end of each period; tasks have a capacity a period.

    The first period brings three times the tuples, of which tasks cannot process all.
    """
    facts, longest = (), []
    queues = [np.zeros((0, 2)) for _ in range(TASKS)]
    streams = [drifting_keys(seed + number) for number in range(3)]
    for period in range(CUT):
        arrived = [next(stream) for stream in streams]
        keys, load = map(np.concatenate, zip(*arrived if period == 0 else arrived[:1], strict=True))
        task = tasks_of(keys, facts)
        rows = np.column_stack([keys, load])
        queues = [np.concatenate([queue, rows[task == number]]) for number, queue in enumerate(queues)]
        ends = [int(np.searchsorted(np.cumsum(queue[:, 1]), capacity, side="right")) for queue in queues]
        done = [queue[:end] for queue, end in zip(queues, ends, strict=True)]
        received, sums = np.array([len(queue) for queue in queues]), np.array([part[:, 1].sum() for part in done])
        estimated = estimated_load(received, np.array(ends), sums) if estimates else np.zeros(TASKS)
        facts = next_facts(facts, *np.concatenate(done).T, estimated)
        queues = [queue[end:] for queue, end in zip(queues, ends, strict=True)]
        longest.append(max(queue[:, 1].sum() for queue in queues))
    return np.array(longest)


def test_tasks_that_are_behind_catch_up_sooner_where_the_estimated_load_counts():
    capacity = 1.5 * 18 * TUPLES / TASKS
    without, counted = (
        np.mean([longest_queues(seed, capacity, estimates) for seed in range(3)], axis=0) for estimates in (False, True)
    )
    assert counted[0] == without[0] > capacity
    assert counted[1:].sum() < 0.8 * without[1:].sum()
