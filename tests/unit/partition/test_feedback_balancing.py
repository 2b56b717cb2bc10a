"""The plans of feedback balancing: no plan of this shape has a lower load at its most loaded task."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.partition.feedback_balancing import estimated_load, load_imbalance, next_plan

EXACT = 1e-5  # the level is bisected to less than that share of the load


def algorithm_2(load: list[float], estimated: list[float]) -> tuple[list[int], set[int]]:
    """Lines 4 to 16 of Algorithm 2 as printed: m_1, …, m_{k−1} in spans, and hotSpanSet; spans are numbered from 1.

    "FOR EACH j" of line 12 is read as each one that no earlier task has.
    """
    k, l = len(estimated), len(load)  # noqa: E741 - the paper's name
    span = [0, *load]
    mean = (sum(estimated) + sum(load)) / k
    left = [mean - each for each in estimated]
    hot = {j for j in range(1, l + 1) if span[j] > mean}
    bounds, j = [], 0
    for i in range(k):
        while j < l:
            j += 1
            if j not in hot:
                left[i] -= span[j]
                if left[i] <= 0:
                    bounds.append(j)
                    break
    return (bounds + [l] * k)[: k - 1], hot


def lowest_maximum(load: list[float], hot: set[int], pending: list[float]) -> float:
    """The lowest load of the most loaded task, by trying all plans where each hot span is halved at a bound."""
    taken, rest, best = pending[0], pending[1:], np.inf
    if not rest:
        return np.inf if hot else taken + sum(load)
    for end in range(len(load) + 1):
        after = {place - end for place in hot if place >= end}
        best = min(best, max(taken, lowest_maximum(load[end:], after, rest)))
        if end == len(load):
            break
        if end in hot:
            half, later = load[end] / 2, {place - 1 for place in after if place > 0}
            best = min(best, max(taken + half, lowest_maximum(load[end + 1 :], later, [rest[0] + half, *rest[1:]])))
            break
        taken += load[end]
    return best


def loads_of_tasks(plan: dict, spans: list[int], load: list[float], estimated: list[float]) -> np.ndarray:
    """The load that a plan gives to each task beside the estimated one, were the next period as the last one."""
    tasks = np.array(estimated, float)
    for span, each in zip(spans, load, strict=True):
        (task,) = (i for i, (low, high) in enumerate(pairwise(plan["bounds"])) if low <= span < high)
        of = [task - 1, task] if span in plan["hot"] else [task]
        assert min(of) >= 0
        tasks[of] += each / len(of)
    return tasks


def planned(spans: list[int], load: list[float], estimated: list[float]) -> dict:
    return next_plan(None, np.array(spans), np.array(load, float), np.array(estimated, float), len(estimated))


@st.composite
def measured(draw, most_spans: int = 20, most_tasks: int = 9) -> tuple[list[int], list[float], list[float]]:
    """Spans in order, their loads, of which some may be very high, and the estimated load of each task."""
    spans = sorted(draw(st.sets(st.integers(-(2**52), 2**52) | st.integers(-20, 20), min_size=1, max_size=most_spans)))
    one = st.integers(0, 20) | st.sampled_from([0, 1, 1, 1, 100, 1_000])
    load = draw(st.lists(one, min_size=len(spans), max_size=len(spans)).filter(any))
    tasks = draw(st.integers(1, most_tasks))
    none = st.just([0] * tasks)
    estimated = draw(none | st.lists(st.integers(0, 60), min_size=tasks, max_size=tasks))
    return spans, load, estimated


@given(measured())
def test_bounds_ascend_and_every_load_has_a_task(drawn):
    spans, load, estimated = drawn
    plan = planned(*drawn)
    assert plan["bounds"] == sorted(plan["bounds"])
    assert len(plan["bounds"]) == len(estimated) + 1
    assert (plan["bounds"][0], plan["bounds"][-1]) == (spans[0], spans[-1] + 1)
    assert loads_of_tasks(plan, *drawn).sum() == pytest.approx(sum(load) + sum(estimated))


@given(measured())
def test_a_hot_span_goes_to_two_neighbouring_tasks_and_is_a_bound(drawn):
    spans, load, estimated = drawn
    plan = planned(*drawn)
    _, hot = algorithm_2(load, estimated)
    assert plan["hot"] == [spans[place - 1] for place in sorted(hot)]
    assert set(plan["hot"]) <= set(plan["bounds"][1:-1])


@drawn(100)
@given(measured(most_spans=6, most_tasks=4))
@example(([0, 1, 2], [0, 0, 5], [0, 0, 0]))
@example(([0, 1, 2, 3], [10, 1, 10, 1], [0, 0, 0]))
@example(([0, 1, 2], [3, 8, 3], [0, 6, 0, 0]))
def test_no_plan_has_a_lower_maximum(drawn):
    _, load, estimated = drawn
    _, hot = algorithm_2(load, estimated)
    lowest = lowest_maximum(load, {place - 1 for place in hot}, estimated)
    assert loads_of_tasks(planned(*drawn), *drawn).max() == pytest.approx(lowest, rel=EXACT)


@given(measured())
def test_without_a_hot_span_no_task_exceeds_the_mean_by_more_than_a_span_nor_the_algorithm_as_printed(drawn):
    spans, load, estimated = drawn
    bounds, hot = algorithm_2(load, estimated)
    if hot:
        return
    tasks, nothing = loads_of_tasks(planned(*drawn), *drawn), [0] * len(estimated)
    printed = {"bounds": [spans[0], *([*spans, spans[-1] + 1][m] for m in bounds), spans[-1] + 1], "hot": []}
    assert tasks.max() <= loads_of_tasks(printed, *drawn).max() * (1 + EXACT)
    tasks = loads_of_tasks(planned(spans, load, nothing), spans, load, nothing)
    if max(load) <= tasks.mean():
        assert tasks.max() <= (tasks.mean() + max(load)) * (1 + EXACT)


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=6), min_size=1, max_size=8))
def test_it_is_the_algorithm_as_printed_where_spans_fill_the_budgets(groups):
    load = [float(each) for group in groups for each in group]
    estimated = [float(max(map(sum, groups)) - sum(group)) for group in groups]
    bounds, _ = algorithm_2(load, estimated)
    assert planned(list(range(len(load))), load, estimated)["bounds"] == [0, *bounds, len(load)]


def test_the_shape_of_figure_5():
    """Task 1 has the first 3 spans, task 2 the 4th to the 8th; each has some load before it. By hand: mean 12."""
    load = [2, 4, 3, 2, 3, 1, 1, 4, 6, 4, 2]
    assert planned(list(range(1, 12)), load, [3, 1, 0]) == {"bounds": [1, 4, 9, 12], "hot": []}


def test_one_hot_span():
    """By hand: mean 10, so span −1 is hot; the lowest maximum is 14: 8 | 16/2 | 16/2 + 3 + 3."""
    assert planned([-9, -5, -1, 0, 7], [4, 4, 16, 3, 3], [0, 0, 0]) == {"bounds": [-9, -1, -1, 8], "hot": [-1]}


def test_neighbouring_hot_spans_share_a_task():
    plan = planned([3, 4, 5], [9, 9, 1], [0, 0, 0])
    assert plan == {"bounds": [3, 3, 4, 6], "hot": [3, 4]}
    assert loads_of_tasks(plan, [3, 4, 5], [9, 9, 1], [0, 0, 0]).tolist() == [4.5, 9, 5.5]


@pytest.mark.parametrize(("load", "tasks"), [(0.1, 6), (0.3, 10), (5, 4)])
def test_no_span_of_the_mean_load_is_hot_even_where_the_mean_is_rounded(load, tasks):
    spans = list(range(tasks))
    assert planned(spans, [load] * tasks, [0] * tasks) == {"bounds": [*spans, tasks], "hot": []}


def test_all_load_in_one_span_and_fewer_spans_than_tasks():
    assert planned([7], [5], [0, 0, 0]) == {"bounds": [7, 7, 8, 8], "hot": [7]}
    assert planned([7], [5], [0]) == {"bounds": [7, 8], "hot": []}


def test_a_task_with_more_before_it_than_the_level_gets_no_load():
    assert planned([0, 1, 2, 3], [2, 2, 2, 2], [0, 100, 0])["bounds"] == [0, 2, 2, 4]
    assert planned([0, 1, 2, 3], [2, 2, 2, 2], [100, 0, 0])["bounds"] == [0, 0, 2, 4]


def test_no_task_is_left_without_load_for_the_sake_of_a_level_that_only_one_needs():
    assert planned(list(range(9)), [1] * 9, [0] * 8)["bounds"] == [0, 2, 3, 4, 5, 6, 7, 8, 9]


def test_the_load_of_a_span_is_that_of_all_tasks_and_batches():
    spans, load = np.array([5.0, 3, 3, 9, 5, 3]), np.array([1.0, 1, 0, 3, 1, 1])
    assert next_plan(None, spans, load, np.zeros(2), 2) == planned([3, 5, 9], [2, 2, 3], [0, 0])


@pytest.mark.parametrize("plan", [None, {"bounds": [0, 1, 2], "hot": []}])
@pytest.mark.parametrize("spans", [[], [4, 5]])
def test_the_plan_stays_where_there_was_no_load(plan, spans):
    assert next_plan(plan, np.array(spans), np.zeros(len(spans)), np.ones(2), 2) == plan


def test_the_estimated_load_is_that_of_the_tuples_not_processed():
    received, processed = np.array([10, 10, 4, 3]), np.array([10, 4, 1, 0])
    assert estimated_load(received, processed, np.array([50.0, 8, 2, 0])).tolist() == [0, 12, 6, 12]
    assert estimated_load(received, np.zeros(4, int), np.zeros(4)).tolist() == [0] * 4


def test_the_load_imbalance_is_the_excess_of_the_most_loaded_task_over_the_mean():
    assert load_imbalance(np.array([4.0, 2, 6, 0])) == 1
    assert load_imbalance(np.zeros(3)) == 0
