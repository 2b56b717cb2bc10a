"""Facts (configuration changes): versions by subject, pruning, and no new version without a change of value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.disorder.policies import policy_of
from tailrace.engine.batch_header import BatchHeader, next_facts
from tailrace.ground.facts import Fact, newest, prune, stamp

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
        facts = next_facts(facts, policy, "declared", tick, complete, batch)
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
    facts = next_facts((), policy, "declared", None, None, 0)
    assert facts[0].value.keys() > {"policy", "error", "risk"}, "some are left to their defaults"
    earlier = stamp((), "settings", {"policy": "hybrid", "error": 0.05, "risk": 0.05}, 0, "declared")
    assert next_facts(earlier, policy, "declared", 5, 4, 1) == earlier


@pytest.mark.parametrize("facts", [(), (Fact("settings", 1, 0, {"policy": "none"}, "declared"),)])
def test_a_header_is_restored_from_its_bytes(facts):
    header = BatchHeader(3, facts, 5, closes=True)
    assert BatchHeader.unpack(header.pack()) == header
