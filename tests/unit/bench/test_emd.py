"""The experiments on EMD joins: the simulation with queues, the films, and the balance of the tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.emd import (
    balance,
    films,
)
from bench.emd.films import CASES, UNIT, as_streams, cut_film, join_query, scenes_copy
from bench.emd.queues import Queues, Work
from bench.emd.simulated import SimulatedRun
from bench.emd.simulation import SOLVES, Costs, QueuedEmdDdsj, simulate
from generators.sample_clips import read_clip

pytestmark = pytest.mark.slow

FREE = Costs(exact_ms=0.0, filter_ms=0.0)


def line_pairs(left: films.Masses, right: films.Masses, rate: int, threshold: float, reach_s: float) -> int:
    """The number of pairs by brute force: the L1 distance of cumulated shares."""
    cumulated = [np.cumsum(masses / masses.sum(axis=1, keepdims=True), axis=1) for masses in (left, right)]
    count = 0
    for i, row in enumerate(cumulated[0]):
        for j, other in enumerate(cumulated[1]):
            within = abs(i * (1000 // rate) - j * (1000 // rate)) <= 1000 * reach_s
            count += within and np.abs(row - other).sum() / UNIT <= threshold + 1e-9
    return count


def run(method: str, tasks: int, costs: Costs | None = FREE, **section: Any) -> SimulatedRun:
    declared = {"method": method, "threshold": 0.3, "scale": UNIT} | section
    return simulate(join_query(declared, "2 s"), as_streams(scenes_copy(120), 20), tasks, 1000, costs)


@pytest.mark.parametrize("method", balance.METHODS)
def test_a_simulation_finds_the_pairs_of_brute_force_by_any_method(method: str) -> None:
    pairs = line_pairs(*scenes_copy(120), 20, 0.3, 2)
    assert pairs > 50
    results = [run(method, tasks) for tasks in (1, 5)]
    assert [result.pairs.sum() for result in results] == [pairs, pairs]
    assert [result.tuples.sum() for result in results] == [120, 120]
    assert results[1].exact.shape == (6, 5)


def test_work_is_computed_from_costs_or_measured() -> None:
    priced = run("shuffle", 3, Costs(exact_ms=2.0, filter_ms=0.5))
    assert np.array_equal(priced.work_ms, 2.0 * priced.exact + 0.5 * priced.tuples)
    busiest_ms = priced.work_ms.sum(axis=0).max()
    assert priced.throughput == pytest.approx(120 / busiest_ms * 1000)
    after = (priced.latency_ms * priced.tuples).sum() / 120
    assert priced.mean_latency_ms == pytest.approx(500 + after)  # half a batch passes before its end
    assert (run("shuffle", 3, None).work_ms > 0).all()


def work(tuples: float, work_ms: float, *load: float) -> Work:
    return Work(tuples, work_ms, np.arange(float(len(load))), np.array(load))


def test_a_task_that_falls_behind_works_off_its_queue_in_order() -> None:
    queues = Queues(2, batch_ms=100)
    assert queues.add([work(10, 300, 40, 0), work(10, 50, 20, 5)]).tolist() == [300, 50]
    assert queues.add([work(10, 300, 0, 80), work(10, 50, 20, 5)]).tolist() == [500, 50]  # 200 ms of the first waited
    period = queues.take_load()
    by_span = {span: period.load[period.span == span].sum() for span in (0.0, 1.0)}
    assert by_span == {0.0: pytest.approx(40 * 2 / 3 + 40), 1.0: 10}  # task 0 did 200 of its first 300 ms
    # eq. (7): 20 tuples, of which 20 / 3 were processed and took 80 / 3: so each of the other 40 / 3 will take 4
    assert period.estimated.tolist() == pytest.approx([40 / 3 * 4, 0])
    assert queues.add([work(0, 0), work(0, 0)]).tolist() == [400, 0]  # what waits is not forgotten with the period
    assert queues.take_load().estimated.tolist() == pytest.approx([10 * 4, 0])  # 10 wait; a third of 10 took 40 / 3
    for _ in range(4):
        queues.add([work(0, 0), work(0, 0)])
    assert queues.take_load().estimated.tolist() == [0, 0]


def test_what_waits_grows_while_tasks_are_overloaded() -> None:
    queues = Queues(2, batch_ms=100)
    estimates = []
    for _ in range(3):
        for _ in range(5):
            queues.add([work(10, 1000, 20), work(10, 500, 20)])
        estimates.append(queues.take_load().estimated.tolist())
    for task in (0, 1):
        assert 0 < estimates[0][task] < estimates[1][task] < estimates[2][task]


def test_the_next_plan_gives_less_to_a_task_that_is_behind() -> None:
    def first_task(work_ms: float) -> int:
        """The spans of task 0 in the next plan, if its 10 spans, each of load 3, take so long, and 10 others have 1."""
        queues = Queues(2, batch_ms=100)
        queues.add(
            [Work(10, work_ms, np.arange(10.0), np.full(10, 3.0)), Work(10, 50, np.arange(10.0, 20), np.ones(10))]
        )
        plan = QueuedEmdDdsj(1.0, 1, queues).next_plan(None, {}, 2)
        assert plan is not None
        return int(plan["bounds"][1] - plan["bounds"][0])

    assert first_task(50) == 7  # 21 of 40
    assert first_task(200) < first_task(125) < 7


@pytest.mark.needs("long")
def test_tasks_that_fall_behind_have_latency_with_either_kind_of_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "CUT_RATE", 40)
    rows = balance.queues(4, lambda line: None)
    assert [row["plans regard queues"] for row in rows] == ["yes", "no"]
    assert all(row["longest latency s"] > 1 for row in rows)
    assert rows[0] != rows[1] | {"plans regard queues": "yes"}


def test_a_clip_goes_there_and_back_without_a_cut_of_ours() -> None:
    clip = read_clip("bikes")
    left, right = CASES[1].films(600)
    assert np.array_equal(left[:250], clip)
    assert np.array_equal(left[250:498], clip[-2:0:-1])
    assert np.array_equal(left[498:600], clip[:102])
    assert left.shape == right.shape == (600, 256)


def test_all_keys_jump_where_the_film_is_cut() -> None:
    film, same = cut_film(40, 10)
    assert np.array_equal(film, same)
    assert not film[:10, 128:].any()
    assert not film[10:, :128].any()


@pytest.mark.needs("long")
def test_the_balance_is_back_within_four_periods_of_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """By numbers of exact distances, which are the same in every run; the page has it by measured cost."""
    monkeypatch.setattr(balance, "CUT_RATE", 60)
    ours, head = balance.cut(12, lambda line: None, SOLVES)
    assert ours.imbalances[ours.at] > 2 * ours.former
    assert ours.periods is not None
    assert ours.periods <= 4
    assert head.periods is None
    assert ours.row()["period 0"] == ours.imbalances[ours.at]


@pytest.mark.needs("long")
def test_at_eight_tasks_the_imbalance_is_at_most_half_of_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "PARALLELISM", (8,))
    monkeypatch.setattr(balance, "METHODS", ("emd_ddsj", "head"))
    monkeypatch.setattr(balance, "FILMS", {"S ⋈ SS": scenes_copy})
    monkeypatch.setattr(balance, "PERIODS_MS", ())
    monkeypatch.setattr(balance, "SPANS", ())
    ours, head = balance.by_setting(25, 1, lambda line: None, SOLVES)
    assert (ours["method"], head["method"]) == ("emd_ddsj", "head")
    assert ours["exact"] == head["exact"] > 1000
    for figure in ("imbalance of the run", "imbalance of periods"):
        assert ours[figure] <= head[figure] / 2
