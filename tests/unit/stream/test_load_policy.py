"""The policy of the number of tasks: bursts raise it, calm lowers it, and it does not flap."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tailrace.query.declared import declared_query
from tailrace.storage.rescale_request import RescaleRequest
from tailrace.stream.load_policy import BUSY_MS, CALM_MS, LOWERS_AFTER, RAISES_AFTER, LoadPolicy
from tailrace.stream.task_number import BY_HAND, DECLARED, TaskNumber

BUSY, CALM, BETWEEN = BUSY_MS, CALM_MS, (BUSY_MS + CALM_MS) // 2


def numbers(durations: Iterable[int], least: int = 2, most: int = 8, policy: LoadPolicy | None = None) -> list[int]:
    """The number of tasks of each batch, and of the one after them."""
    policy, tasks = policy or LoadPolicy(least, most), [least]
    for took_ms in durations:
        policy.observe(tasks[-1], 100, took_ms)
        wanted = policy.wanted(tasks[-1])
        tasks.append(tasks[-1] if wanted is None else wanted[0])
    return tasks


def test_a_burst_doubles_the_number_within_three_batches_and_calm_halves_it() -> None:
    tasks = numbers([BUSY] * 4 * RAISES_AFTER + [CALM] * 3 * LOWERS_AFTER)
    assert tasks[: 4 * RAISES_AFTER + 1] == [2, 2, 4, 4, 4, 4, 8, 8, 8]
    assert RAISES_AFTER < 3
    assert [(a, b) for a, b in pairwise(tasks) if b < a] == [(8, 4), (4, 2)]
    assert numbers([BUSY] * 20, most=5)[-1] == 5


def test_nothing_changes_between_the_bounds_nor_by_a_single_batch() -> None:
    assert set(numbers([BETWEEN] * 100)) == {2}
    assert set(numbers([BUSY, BETWEEN, BUSY, CALM] * 25)) == {2}
    raised = numbers([BUSY] * RAISES_AFTER + ([CALM] * (LOWERS_AFTER - 1) + [BETWEEN]) * 3)
    assert set(raised[RAISES_AFTER:]) == {4}


def test_a_slow_move_and_what_came_meanwhile_raise_nothing() -> None:
    assert numbers([BUSY, BUSY, 60_000, BUSY] + [BETWEEN] * 20)[2:] == [4] * 23
    lowered = numbers([BUSY] * RAISES_AFTER + [CALM] * (LOWERS_AFTER + 2) + [60_000, BUSY, BETWEEN])
    assert lowered[-3:] == [2, 2, 2]


def test_a_slow_batch_without_rows_is_no_burst() -> None:
    policy = LoadPolicy(2, 8)
    for _ in range(10):
        policy.observe(2, 0, BUSY)
    assert policy.wanted(2) is None


def test_a_burst_soon_after_a_lowering_makes_the_next_one_wait_longer() -> None:
    policy, burst = LoadPolicy(2, 4), [BETWEEN, BETWEEN] + [BUSY] * RAISES_AFTER + [BETWEEN, BETWEEN]
    cycle = burst + [CALM] * LOWERS_AFTER
    first = numbers(cycle, policy=policy)
    assert first[-1] == 2
    second = numbers(cycle + [CALM] * LOWERS_AFTER, policy=policy)
    assert (policy.patience, second[len(cycle)], second[-1]) == (2, 4, 2)
    for _ in range(5):
        numbers(burst + [CALM] * min(2 * policy.patience, 8) * LOWERS_AFTER, policy=policy)
    assert policy.patience == 8


@given(st.lists(st.sampled_from([BUSY, CALM, BETWEEN]), max_size=400), st.integers(1, 8), st.integers(1, 56))
def test_the_number_stays_within_its_bounds_and_changes_seldom(durations, least, more) -> None:
    tasks = numbers(durations, least, least + more)
    assert all(least <= each <= least + more for each in tasks)
    changes = [at for at, (a, b) in enumerate(pairwise(tasks)) if a != b]
    assert all(later - earlier >= RAISES_AFTER for earlier, later in pairwise(changes))


def test_a_policy_a_request_and_an_edit_are_stamped_once_and_a_replay_decides_nothing() -> None:
    request = list[RescaleRequest]()
    number = TaskNumber(2, 0, (2, 8), lambda: request[-1] if request else None, LoadPolicy(2, 8))
    facts = number.stamped((), 0, 0)
    assert not facts
    for _ in range(RAISES_AFTER):
        number.observe(2, 10, BUSY)
    facts = number.stamped(facts, 5, 3)
    assert facts == number.stamped((), 5, 3), "an entry that was not written is planned again, the same"
    (fact,) = facts
    assert (fact.batch, fact.since, fact.value["tasks"], fact.value["before"]) == (3, 5, 4, 2)
    assert fact.evidence.startswith("burst: 2 batches")
    number.observe(4, 10, BUSY)
    assert number.stamped(facts, 9, 4) == facts
    request.append(RescaleRequest("one", 6))
    facts = number.stamped(facts, 9, 4)
    assert (facts[-1].value["tasks"], facts[-1].evidence) == (6, BY_HAND)
    assert number.stamped(facts, 9, 5) == facts, "a request is taken up once"
    request.append(RescaleRequest("two", 6))
    facts = number.stamped(facts, 9, 5)
    assert facts[-1].value["since"] == 4, "a request for the number in force leaves the plans in force"
    restarted = TaskNumber(2, 0, (3, 5), lambda: request[-1])
    facts = restarted.stamped(facts, 9, 6)
    assert (facts[-1].value["tasks"], facts[-1].evidence) == (5, DECLARED), "within the bounds of an edit"
    rebuilt = TaskNumber(3, 7, (3, 5), lambda: request[-1])
    assert rebuilt.stamped(facts, 9, 7) == facts, "the rebuild has begun with the number of the file"


def test_the_section_elasticity_bounds_the_number_and_is_no_part_of_the_structure() -> None:
    stream = {"source": {"format": "json", "path": "in"}, "event_time": "at", "id": "id"}
    declared = {"name": "q", "kind": "aggregate", "streams": {"s": stream}, "window": "1 s", "parallelism": 2}
    declared |= {"aggregate": {"function": "count"}}
    plain, elastic = declared_query(declared), declared_query(declared | {"elasticity": {"most": 8}})
    assert (plain.task_bounds, elastic.task_bounds) == ((2, 2), (2, 8))
    assert plain.structure() == elastic.structure()
