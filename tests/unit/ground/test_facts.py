"""Facts (configuration changes): versions by subject, pruning, and no new version without a change of value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.fakes.toy_join import ToyJoin
from tailrace.disorder.policies import policy_of
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.next_facts import next_facts, with_plan
from tailrace.engine.progress import Progress
from tailrace.ground.facts import Fact, newest, prune, stamp
from tailrace.partition.by_span import BySpan

KIND = ToyJoin(10)
POLICIES = [policy_of({"policy": "k_slack", "k": f"{k} ms"}) for k in (1, 2, 3)]


def test_each_subject_counts_its_own_versions():
    facts = stamp((), "settings", {"k": 1}, 0, "declared")
    facts = stamp(facts, "plan", {"spans": [3]}, 40, "balanced", batch=2)
    facts = stamp(facts, "settings", {"k": 2}, 9, "found", batch=3)
    assert facts[1:] == (
        Fact("plan", 1, 40, {"spans": [3]}, "balanced", 2),
        Fact("settings", 2, 9, {"k": 2}, "found", 3),
    )
    assert newest(facts, "settings").value == {"k": 2}
    assert newest(facts, "table") is None


@given(st.lists(st.integers(0, 20), max_size=8), st.integers(0, 25))
def test_pruning_keeps_every_fact_that_is_still_in_force(steps, since):
    facts = ()
    for number, at in enumerate(sorted(steps)):
        facts = stamp(facts, "settings", {"n": number}, at, "")
        facts = stamp(facts, "plan", {"n": number}, at, "")
    remaining = prune(facts, "settings", since)
    assert [fact for fact in remaining if fact.about == "plan"] == [fact for fact in facts if fact.about == "plan"]

    def at(known, tick):
        return [fact for fact in known if fact.about == "settings" and fact.since <= tick][-1:]

    assert all(at(remaining, tick) == at(facts, tick) for tick in range(since, 30))
    assert len([fact for fact in remaining if fact.about == "settings" and fact.since <= since]) <= 1


def in_force(facts, tick):
    return [fact for fact in facts if fact.since <= tick][-1:]


@given(st.lists(st.tuples(st.sampled_from(POLICIES), st.integers(0, 3)), min_size=1, max_size=12), st.integers(1, 4))
def test_a_changed_policy_is_stamped_and_holds_only_for_ticks_that_have_not_begun(steps, pending):
    facts, every, tick, previous = (), (), None, None
    for batch, (policy, ticks) in enumerate(steps):
        complete = None if tick is None else tick - pending
        progress = Progress(0, 0, False, tick, complete)
        facts = next_facts(facts, policy, "declared", progress, KIND, batch)
        header = BatchHeader(batch, facts)
        assert bool(header.stamped) == (policy != previous)
        assert all(fact.since == (0 if tick is None else tick + 1) for fact in header.stamped)
        assert policy_of(newest(facts, "settings").value) == policy
        every += header.stamped
        for due in range(0 if complete is None else max(complete + 1, 0), (tick or 0) + 2):  # ticks not complete yet
            assert in_force(facts, due) == in_force(every, due)
        assert sum(fact.since <= max(tick - pending + 1, 0) for fact in facts) == 1 if tick else True
        tick, previous = (tick or 0) + ticks, policy


def test_a_setting_added_with_its_default_makes_no_new_fact():
    policy = policy_of({"policy": "hybrid", "error": 0.05, "risk": 0.05})
    facts = next_facts((), policy, "declared", None, KIND, 0)
    assert facts[0].value.keys() > {"policy", "error", "risk"}, "some are left to their defaults"
    earlier = stamp((), "settings", {"policy": "hybrid", "error": 0.05, "risk": 0.05}, 0, "declared")
    assert next_facts(earlier, policy, "declared", Progress(0, 0, False, 5, 4), KIND, 1) == earlier


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 40)), min_size=1, max_size=12))
def test_a_plan_is_known_as_long_as_a_tuple_under_it_can_have_a_partner(steps):
    facts, frontier, newest_event, every = (), 0, None, []
    for batch, (event, moved) in enumerate(steps):
        progress = Progress(0, frontier, False, newest_event=newest_event)
        facts = with_plan(next_facts(facts, POLICIES[0], "declared", progress, KIND, batch), {}, "", progress, 1, batch)
        every.append((facts[-1].version, event))  # under each plan comes one tuple
        newest_event = event if newest_event is None else max(newest_event, event)
        frontier += moved
        plans = [fact.version for fact in facts if fact.about == "plan"]
        living = {version for version, time in every[:-1] if time + KIND.reach_ms >= progress.frontier}
        assert living <= {*plans}
        oldest_kept = plans[0]
        earlier = [time for version, time in every if version <= oldest_kept]
        assert len(plans) <= 2 or max(earlier) + KIND.reach_ms >= progress.frontier


@pytest.mark.parametrize(("frontier", "complete", "lives"), [(60, 3, True), (61, 2, True), (61, 3, False)])
def test_the_tuples_before_the_oldest_plan_are_forgotten_once_none_of_them_lives(frontier, complete, lives):
    """Up to 50 ms and tick 3, with a reach of 10 ms."""
    first = stamp((), "plan", {"bounds": [1]}, 4, "load", 1, 50, 3)
    progress = Progress(0, frontier, False, newest_tick=9, complete_tick=complete)
    facts = next_facts(first, POLICIES[0], "declared", progress, ToyJoin(10), 2)
    (plan,) = [fact for fact in facts if fact.about == "plan"]
    assert (plan.earlier_event, plan.earlier_tick) == ((50, 3) if lives else (None, None))
    assert plan.value == {"bounds": [1]}


def test_a_partition_that_goes_by_the_newest_plan_alone_is_given_no_other():
    class ByNewest(ToyJoin):
        partition = BySpan(1.0)

    facts = ()
    for batch in range(5):
        progress = Progress(0, 0, False, newest_event=10**15)
        facts = next_facts(facts, POLICIES[0], "declared", progress, ByNewest(10), batch)
        assert [fact.version for fact in facts if fact.about == "plan"] == [batch][: min(batch, 1)]
        facts = with_plan(facts, {}, "", progress, 1, batch)


@pytest.mark.parametrize("facts", [(), (Fact("settings", 1, 0, {"policy": "none"}, "declared"),)])
def test_a_header_is_restored_from_its_bytes(facts):
    header = BatchHeader(3, facts, 5, closes=True)
    assert BatchHeader.unpack(header.pack()) == header
