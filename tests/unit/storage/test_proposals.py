"""The table of proposals: the newest one for exactly these settings, read again only when the table changed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kit.fakes.memory_bucket import memory_bucket
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.storage import proposals as stored_proposals
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposal, Proposals
from tailrace.storage.tables import Tables
from tailrace.tables.calibration import PROPOSALS

POLICY = CacheDuration(policy="cache_duration")
OTHER_POLICY = POLICY.model_copy(update={"accuracy": 0.9})
DECLARED, OTHER = POLICY.model_dump_json(), OTHER_POLICY.model_dump_json()


def proposal(k_ms: int, declared: str = DECLARED, made_at: int = 1_700_000_000_000) -> Proposal:
    settings = POLICY.waiting(k_ms).model_dump_json()
    durations = ((k_ms - 100, 0.93), (k_ms, 0.96))
    return Proposal(
        made_at, declared, settings, k_ms, k_ms - 500, k_ms + 500, durations, 30, 0.96, 1_600_000, "so it is"
    )


@pytest.fixture
def layout(tmp_path):
    return Layout.for_query(tmp_path, "readings")


def test_without_a_table_or_rows_there_is_no_proposal(layout):
    proposals = Proposals(layout)
    assert proposals.newest(POLICY) is None
    Tables(layout).create({"proposals": PROPOSALS.schema()})
    assert proposals.newest(POLICY) is None


def test_an_added_proposal_is_read_back(layout):
    Proposals(layout).add(proposal(1200))
    newest_proposal = Proposals(layout).newest(POLICY)
    assert newest_proposal == proposal(1200)
    assert (newest_proposal.lower_ms, newest_proposal.upper_ms, newest_proposal.k_ms) == (700, 1700, 1200)
    Proposals(layout).add(Proposal(*[*vars(proposal(900)).values()][:8], None, 1, "tried"))
    assert Proposals(layout).newest(POLICY).accuracy is None


def test_the_newest_proposal_is_the_last_one_added_whatever_the_clock(layout):
    for k_ms, made_at in ((900, 2_000), (1200, 1_000), (800, 500)):
        Proposals(layout).add(proposal(k_ms, made_at=made_at))
        assert Proposals(layout).newest(POLICY).k_ms == k_ms


def test_proposals_are_separate_for_each_declared_policy(layout):
    Proposals(layout).add(proposal(900))
    Proposals(layout).add(proposal(1200, OTHER))
    assert Proposals(layout).newest(POLICY).k_ms == 900
    assert Proposals(layout).newest(OTHER_POLICY).k_ms == 1200
    assert Proposals(layout).newest(POLICY.waiting(1)) is None


def test_the_newest_proposal_is_in_force_and_before_it_the_declared_settings(layout):
    assert Proposals(layout).settings_in_force(POLICY) == (POLICY, "declared")
    Proposals(layout).add(proposal(900))
    assert Proposals(layout).settings_in_force(POLICY) == (POLICY.waiting(900), "so it is")


def test_the_table_is_read_once_per_new_proposal(layout, monkeypatch):
    read, reads = Tables.read, []
    monkeypatch.setattr(Tables, "read", lambda *args, **kwargs: reads.append(1) or read(*args, **kwargs))
    proposals, writer = Proposals(layout), Proposals(layout)
    for k_ms in (900, 1200):
        writer.add(proposal(k_ms))
        reads.clear()
        assert [proposals.newest(POLICY).k_ms for _ in range(5)] == [k_ms] * 5
        assert len(reads) == 1


def test_an_object_store_is_asked_once_a_second(monkeypatch):
    """A driver plans several times a second, and each listing of a bucket costs."""
    proposals, clock, asked = Proposals(Layout(memory_bucket(monkeypatch))), [100.0], []
    monkeypatch.setattr(stored_proposals, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(stored_proposals, "newest_commit", lambda table: asked.append(table.name))
    for clock[0] in (100.0, 100.2, 100.9, 101.0, 101.5, 102.1):
        assert proposals.settings_in_force(POLICY) == (POLICY, "declared")
    assert asked == ["proposals"] * 3


def test_what_a_store_that_is_away_does_not_tell_is_asked_again(monkeypatch):
    proposals, clock = Proposals(Layout(memory_bucket(monkeypatch))), [100.0]
    monkeypatch.setattr(stored_proposals, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def away(_: object) -> None:
        raise OSError("the store is away")

    monkeypatch.setattr(stored_proposals, "newest_commit", away)
    for _ in range(2):
        with pytest.raises(OSError, match="away"):
            proposals.settings_in_force(POLICY)


def test_a_disk_is_asked_at_each_plan(layout):
    proposals = Proposals(layout)
    for k_ms in (900, 1200):
        Proposals(layout).add(proposal(k_ms))
        assert proposals.settings_in_force(POLICY) == (POLICY.waiting(k_ms), "so it is")
