"""When a correction is asked for: once for each advance, by whomever, and again when it does not come."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kit.runs.late_tables import LateTables
from tailrace.correction import requests
from tailrace.correction.requests import (
    AT_ONCE,
    PATIENCE_MS,
    PAUSE_MS,
    CorrectionRequest,
    GapRule,
    due_interval,
    open_requests,
    request_correction,
)
from tailrace.correction.uncorrected import Uncorrected
from tailrace.ground.errors import Busy
from tailrace.storage.layout import Layout

GAP = GapRule(gap_ms=50, tick_ms=10, pane_ms=5)
NOW = 1_700_000_000_000


@pytest.fixture
def there(tmp_path: Path) -> LateTables:
    there = LateTables(Layout(tmp_path / "query"))
    there.late((110, 0), (120, 45))  # 50 ms, from the start of the first pane to the end of the last
    there.commit(125)
    return there


def advance(there: LateTables, arrived: int, pane: int, width: int = 50) -> None:
    """Late tuples that span more than Γ."""
    there.late((arrived, pane), (arrived, pane + width))
    there.commit(arrived)


def asked(there: LateTables, now_ms: int = NOW) -> tuple[int, int] | None:
    return request_correction(there.layout, GAP, now_ms)[0]


def test_nothing_is_asked_before_the_span_exceeds_the_gap(there):
    assert asked(there) is None
    assert not (there.layout.home / "_correction").exists()
    there.late((130, 50))
    assert asked(there) is None  # it is not committed
    there.commit(130)
    assert asked(there) == (100, 130)


def test_it_is_asked_once_for_each_advance(there):
    advance(there, 130, 0)
    assert asked(there) == (100, 130)
    later = NOW + PAUSE_MS
    assert asked(there, later) is None  # it is queued, waits, or runs
    there.late((140, 1000), (150, 1045))
    there.commit(150)
    assert asked(there, later) is None  # what is new does not span more than Γ, however far it is from the rest
    there.late((160, 950))
    there.commit(169)
    assert asked(there, later) == (130, 160)
    there.run(100, 130)
    there.run(130, 160)
    assert asked(there, later + PAUSE_MS) is None
    advance(there, 200, 0)
    assert asked(there, later + PAUSE_MS) == (160, 200)


def test_whoever_asks_next_knows_of_it(there):
    """A triggerer that was started again has nothing but the files."""
    advance(there, 130, 0)
    assert asked(there) == (100, 130)
    assert open_requests(Layout(there.layout.home)) == [CorrectionRequest(100, 130, NOW)]
    assert asked(LateTables(Layout(there.layout.home)), NOW + PAUSE_MS) is None


def test_two_that_ask_at_the_same_time_ask_once(there, monkeypatch):
    """The second one comes when the first has read what is uncorrected and noted, and has written nothing yet."""
    advance(there, 130, 0)

    def meanwhile(layout):
        monkeypatch.setattr(requests, "open_requests", open_requests)
        with pytest.raises(Busy):
            asked(there)
        return open_requests(layout)

    monkeypatch.setattr(requests, "open_requests", meanwhile)
    assert asked(there) == (100, 130)
    assert asked(there) is None


def test_what_does_not_come_is_asked_for_again(there):
    advance(there, 130, 0)
    assert asked(there) == (100, 130)
    assert asked(there, NOW + PATIENCE_MS - 1) is None
    there.late((140, 1000))
    there.commit(140)
    assert asked(there, NOW + PATIENCE_MS) == (100, 140)
    assert open_requests(there.layout) == [CorrectionRequest(100, 140, NOW + PATIENCE_MS)]


def test_a_clock_that_was_set_back_ends_no_watch(there):
    advance(there, 130, 0)
    assert asked(there) == (100, 130)
    assert asked(there, NOW - PATIENCE_MS) == (100, 130)


def test_of_what_was_asked_for_only_the_part_that_did_not_come_counts(there):
    advance(there, 130, 0)
    asked(there)
    advance(there, 200, 0, width=45)
    there.run(100, 130)
    assert asked(there, NOW + PATIENCE_MS) is None


def test_no_more_corrections_queue_up_than_can_be_of_use(there):
    for number in range(AT_ONCE):
        advance(there, 130 + number * 10, 0)
        assert asked(there, NOW + number * PAUSE_MS)
    last = NOW + AT_ONCE * PAUSE_MS
    advance(there, 200, 0)
    advance(there, 300, 0)
    assert asked(there, last) is None
    there.run(100, 130)
    assert asked(there, last) == (140, 300)


def test_events_do_not_come_so_close_together_that_airflow_takes_them_for_one(there):
    advance(there, 130, 0)
    assert asked(there)
    there.run(100, 130)
    advance(there, 140, 0)
    assert asked(there, NOW + PAUSE_MS - 1) is None
    assert asked(there, NOW + PAUSE_MS) == (130, 140)


@pytest.mark.parametrize("content", ["", "{", "[1]", '[{"at": 1}]', "{}"])
def test_a_note_that_cannot_be_read_is_as_none(there, content):
    advance(there, 130, 0)
    asked(there)
    (there.layout.home / "_correction" / "requests.json").write_text(content)
    assert asked(there) == (100, 130)
    assert open_requests(there.layout) == [CorrectionRequest(100, 130, NOW)]


def test_what_cannot_be_noted_is_not_asked_for(there, monkeypatch):
    """It would be asked for every two seconds."""
    advance(there, 130, 0)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(requests, "write_atomically", full)
    with pytest.raises(OSError, match="No space"):
        asked(there)


def test_it_says_how_things_stand(there, tmp_path):
    assert request_correction(Layout(tmp_path / "never"), GAP, NOW)[1] == "never has committed nothing yet"
    stands = "the uncorrected late tuples of query span {} of event time, and Γ is 50 ms"
    assert request_correction(there.layout, GAP, NOW)[1] == stands.format("50 ms")
    advance(there, 130, 0)
    told = stands.format("55 ms") + ": a correction is asked for, of what arrived in "
    assert (
        request_correction(there.layout, GAP, NOW)[1] == told + "[1970-01-01T00:00:00.100Z, 1970-01-01T00:00:00.130Z)"
    )
    told = stands.format("55 ms") + "; their correction is asked for, and again 15 min after 2023-11-14T22:13:20.000Z"
    assert request_correction(there.layout, GAP, NOW)[1] == told
    there.run(None, 130)
    assert request_correction(there.layout, GAP, NOW)[1] == "all late tuples of query are corrected, or none came yet"
    assert json.loads((there.layout.home / "_correction" / "requests.json").read_text())[0]["arrived_to"] == 130


class Advances(RuleBasedStateMachine):
    """Late tuples come, time goes by, corrections come or do not: held against sets of late tuples."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.until, self.late, self.corrected = NOW, 0, [], set()
        self.asked: list[CorrectionRequest] = []
        self.meant: list[tuple[int, set[int]]] = []  # of each time of asking the late tuples, by their numbers

    @rule(panes=st.lists(st.integers(0, 30), max_size=4))
    def come(self, panes):
        self.until += 10
        self.late += [(self.until, pane * 5) for pane in panes]

    @rule(ms=st.sampled_from([1000, PAUSE_MS, PATIENCE_MS // 2, PATIENCE_MS]))
    def wait(self, ms):
        self.now += ms

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def correct(self, data):
        low, high = data.draw(st.sampled_from(self.asked)).interval
        self.corrected |= {n for n, (arrived, _) in enumerate(self.late) if low < arrived <= high}
        self.covered = (*getattr(self, "covered", ()), (low, high))

    @rule()
    def look(self):
        open_ = set(range(len(self.late))) - self.corrected
        arrived, pane = np.array([self.late[n] for n in sorted(open_)], np.int64).reshape(-1, 2).T
        found = due_interval(
            Uncorrected(arrived, pane, getattr(self, "covered", ()), self.until), self.asked, GAP, self.now
        )
        on_its_way = [meant & open_ for at, meant in self.meant if self.now - at < PATIENCE_MS]
        free = open_.difference(*on_its_way)
        panes = [self.late[n][1] for n in free]
        too_far = bool(panes) and max(panes) + 5 - min(panes) > GAP.gap_ms
        held_back = sum(map(bool, on_its_way)) >= AT_ONCE or any(self.now - at < PAUSE_MS for at, _ in self.meant)
        assert (found is not None) == (too_far and not held_back)
        if found is not None:
            meant = {n for n in open_ if found[0] < self.late[n][0] <= found[1]}
            assert free <= meant
            self.asked.append(CorrectionRequest(*found, self.now))
            self.meant.append((self.now, meant))

    @invariant()
    def nothing_is_lost(self):
        """After long enough without anything new, what spans too far is asked for."""
        open_ = set(range(len(self.late))) - self.corrected
        panes = [self.late[n][1] for n in open_]
        if panes and max(panes) + 5 - min(panes) > GAP.gap_ms:
            arrived, pane = np.array([self.late[n] for n in sorted(open_)], np.int64).reshape(-1, 2).T
            late = Uncorrected(arrived, pane, getattr(self, "covered", ()), self.until)
            low, high = due_interval(late, self.asked, GAP, self.now + PATIENCE_MS)
            assert all(low < self.late[n][0] <= high for n in open_)


TestAdvances = Advances.TestCase
