"""`Feedback`: it adds up the load of the tasks and has a new partition plan at the end of each feedback period."""

from __future__ import annotations

import numpy as np
import pytest

from kit.draws.kind_samples import kind_of
from kit.fakes.toy_join import ToyJoin
from tailrace.engine.feedback import Feedback
from tailrace.ground.facts import TASKS, stamp

TOYS = ToyJoin(10, feedback_ms=100)


def batch(committed: int | None, *loads: list[tuple[str, list[float]]] | None) -> list[dict]:
    """The rows of `metrics` of a batch: the load of each task."""
    return [{"task": task, "committed": committed, "loads": load} for task, load in enumerate(loads)]


def load(letter: float, pairs: float) -> list[tuple[str, list[float]]]:
    return [("letter", [letter]), ("load", [pairs])]


def test_a_plan_follows_from_all_that_the_tasks_measured_in_the_period():
    feedback = Feedback(TOYS, 2)
    feedback.observe(batch(1_000, load(97, 2), None), ())
    feedback.observe(batch(1_099, load(98, 1), load(97, 3)), ())
    assert feedback.plan is None
    feedback.observe(batch(1_100, None, load(99, 5)), ())
    found = [[97, 0, 2], [97, 1, 3], [98, 0, 1], [99, 1, 5]]
    assert feedback.plan == {"salt": 1, "of": found, "tasks": 2}


def test_a_plan_is_taken_once_and_the_next_period_begins_at_the_end_of_the_last():
    feedback, plans = Feedback(TOYS, 2), []
    facts = stamp((), "plan", {"salt": 7}, 0, "")
    for committed in range(0, 500, 40):
        feedback.observe(batch(committed, load(97, 1), None), facts)
        plan = feedback.take(facts)
        assert feedback.take(facts) is None
        if plan is not None:
            plans.append((committed, plan["salt"], plan["of"]))
    assert plans == [(120, 8, [[97, 0, 4]])] + [(end, 8, [[97, 0, 3]]) for end in (240, 360, 480)]


def test_there_is_no_new_plan_where_the_kind_leaves_it_as_it_is():
    feedback = Feedback(TOYS, 2)
    for committed in (0, 100, 200):
        feedback.observe(batch(committed, [("letter", []), ("load", [])]), stamp((), "plan", {"salt": 7}, 0, ""))
    assert feedback.plan is None


def test_there_is_no_new_plan_where_nothing_was_measured():
    class Restless(ToyJoin):
        def next_plan(self, plan, loads, tasks):
            return {"salt": 0}

    feedback = Feedback(Restless(10, feedback_ms=100), 2)
    for committed in (0, 100, 200):
        feedback.observe(batch(committed, None, None), ())
    assert feedback.plan is None


def test_before_the_stream_has_reached_a_time_there_is_no_period():
    feedback = Feedback(TOYS, 2)
    for committed in (None, None, 500, 599):
        feedback.observe(batch(committed, load(97, 1), None), ())
        assert feedback.plan is None
    feedback.observe(batch(600, None, None), ())
    assert feedback.plan["of"] == [[97, 0, 4]]


@pytest.mark.parametrize(("kind", "tasks"), [(kind_of("sum"), 3), (TOYS, 1)])
def test_a_kind_that_does_not_balance_or_has_one_task_has_no_plans(kind, tasks):
    feedback = Feedback(kind, tasks)
    for committed in range(0, 1_000, 100):
        feedback.observe(batch(committed, *[load(97, 1)] * tasks), ())
    assert feedback.plan is None


def test_what_is_held_of_a_period_does_not_grow_with_its_batches():
    """A plan is that of the unsummed loads: for spans as far apart as they get, and beside the load for other sums."""
    random, held, loads = np.random.default_rng(3), [], []

    class Watched(ToyJoin):
        def next_plan(self, plan, loads, tasks):
            held.append({name: values.copy() for name, values in loads.items()})

    feedback = Feedback(Watched(10, feedback_ms=1_000), 4)
    for now in range(1_001):
        spans = [random.choice([-(2.0**52), -1.0, 0.0, 7.0, 2.0**52], 3).tolist() for _ in range(4)]
        measured = [random.integers(0, 9, (2, 3)).astype(float).tolist() for _ in range(4)]
        drawn = [
            [("span", span), ("load", load), ("tuples", tuples)]
            for span, (load, tuples) in zip(spans, measured, strict=True)
        ]
        loads += [
            (*row, task)
            for task, parts in enumerate(drawn)
            for row in zip(*(values for _, values in parts), strict=True)
        ]
        feedback.observe(batch(now, *drawn), ())
    (found,) = held
    assert len(found["load"]) == 5 * 4
    sums = {(span, task): [0.0, 0.0] for span, _, _, task in loads}
    for span, load, tuples, task in loads:
        sums[span, task] = [sums[span, task][0] + load, sums[span, task][1] + tuples]
    rows = zip(*(found[name].tolist() for name in ("span", "task", "load", "tuples")), strict=True)
    assert {(span, task): measured for span, task, *measured in rows} == sums


def test_loads_are_arrays_of_numbers_beside_the_task():
    seen = []

    class Watched(ToyJoin):
        def next_plan(self, plan, loads, tasks):
            seen.append(loads)

    feedback = Feedback(Watched(10, feedback_ms=1), 2)
    feedback.observe(batch(0, None, None), ())
    feedback.observe(batch(1, None, [("letter", [97.0, 98.0]), ("load", [2.0, 4.0])]), ())
    assert {name: values.tolist() for name, values in seen[0].items()} == {
        "letter": [97, 98],
        "load": [2, 4],
        "task": [1, 1],
    }
    assert all(values.dtype == np.float64 for values in seen[0].values())


def test_another_number_of_tasks_begins_a_period_and_takes_no_plan_of_the_former_one():
    feedback = Feedback(TOYS, 2)
    feedback.observe(batch(0, load(97, 2), None), ())
    feedback.observe(batch(100, load(97, 2), None), ())
    changed = stamp((), TASKS, {"tasks": 3, "before": 2, "since": 4}, 0, "", 4)
    assert feedback.take(changed) is None, "it is for two tasks"
    feedback.observe(batch(150, load(98, 1), None), ())
    feedback.observe(batch(190, load(97, 3), None, None), changed)
    feedback.observe(batch(290, None, load(99, 5), None), changed)
    assert feedback.plan == {"salt": 1, "of": [[97, 0, 3], [99, 1, 5]], "tasks": 3}
    assert feedback.take(changed) is not None


def test_a_request_for_the_number_in_force_leaves_the_period():
    feedback = Feedback(TOYS, 2)
    feedback.observe(batch(0, load(97, 2), None), ())
    same = stamp((), TASKS, {"tasks": 2, "before": 2, "since": 0}, 0, "", 4)
    feedback.observe(batch(100, load(98, 1), None), same)
    assert feedback.take(same) == {"salt": 1, "of": [[97, 0, 2], [98, 0, 1]], "tasks": 2}
