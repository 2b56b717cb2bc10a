"""Deliveries beside a stream: one at a time, again after a failure, and the last one before the driver ends."""

from __future__ import annotations

import errno
import re
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from kit.suite.waiting import PATIENCE_S
from tailrace.delivery import places as places_module
from tailrace.delivery.places import Place, deliver_all
from tailrace.ground.errors import Busy, Damaged, Problem, Refused
from tailrace.ground.retries import Retries
from tailrace.stream import delivery as module
from tailrace.stream.delivery import EVERY_S, IDLE_S, Delivery, complete

BUSY = Busy([Problem("wh", "another process brings the table current up to date", "to wait for it")])
AWAY = OSError(errno.EIO, "Input/output error")


class Clock:
    """A manual clock, in s."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


class Reporter:
    """What a delivery says."""

    committed = 7_000

    def __init__(self) -> None:
        self.problems: list[str | None] = []
        self.delivered_to: list[int | None] = []
        self.buffer: list[str | None] = []
        self.away: set[str] = set()

    def report_problem(self, part: str, problem: str | None) -> None:
        if part == "buffer of current":
            self.buffer.append(problem)
            return
        assert part == "current"
        self.problems.append(problem)

    def place_away(self, part: str, is_away: bool = True) -> None:
        self.away = self.away | {part} if is_away else self.away - {part}

    def delivered(self, place: str, committed: int | None) -> None:
        assert place == "current"
        self.delivered_to.append(committed)


class Desk:
    """A delivery whose calls end when they are let go."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.reporter = clock, Reporter()
        self.calls: list[float] = []
        self.failures: list[BaseException] = []
        self.gate = threading.Event()
        self.gate.set()
        self.delivery = Delivery(Place("current", self.deliver), self.reporter, retries=Retries(clock.monotonic))

    def deliver(self, wait_s: float) -> None:
        self.calls.append(wait_s)
        assert self.gate.wait(PATIENCE_S)
        if self.failures:
            raise self.failures.pop(0)

    def advance(self, batches: int) -> None:
        """Advance, and again once the delivery that this began has ended."""
        self.delivery.advance(batches)
        if (running := self.delivery._running) is not None:
            assert running.wait(PATIENCE_S)
            self.delivery.advance(batches)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


@pytest.fixture
def desk(clock: Clock) -> Desk:
    return Desk(clock)


def test_what_is_committed_is_delivered_once(desk, clock):
    desk.advance(0)
    clock.now_s += EVERY_S + IDLE_S - 1
    desk.advance(0)
    assert len(desk.calls) == 1
    desk.advance(3)
    assert len(desk.calls) == 2
    assert desk.reporter.delivered_to == [7_000, 7_000]


def test_once_in_a_while_it_looks_for_what_others_have_left(desk, clock):
    desk.advance(1)
    clock.now_s += EVERY_S + IDLE_S + 1
    desk.advance(1)
    assert len(desk.calls) == 2


def test_a_place_is_away_from_the_start_until_it_has_answers_and_while_deliveries_fail(desk, clock):
    away = [desk.reporter.away]
    for failures in ([], [AWAY], [BUSY], []):
        desk.failures = failures
        desk.advance(1)
        away.append(desk.reporter.away)
        clock.now_s += EVERY_S + IDLE_S + 1
    assert away == [{"current"}, set(), {"current"}, {"current"}, set()]


def test_a_place_that_holds_the_stream_is_away_though_its_deliveries_end(desk, clock):
    desk.advance(1)
    assert not desk.delivery.holds(2)
    clock.now_s += desk.delivery.buffer_s + 1
    assert desk.delivery.holds(2)
    assert desk.reporter.away == {"buffer of current"}
    desk.advance(2)
    assert not desk.delivery.holds(2)
    assert desk.reporter.away == set()


def test_the_next_one_begins_after_a_while(desk, clock):
    desk.advance(1)
    clock.now_s += EVERY_S - 1
    desk.advance(2)
    assert len(desk.calls) == 1
    clock.now_s += 2
    desk.advance(2)
    assert len(desk.calls) == 2


def test_one_runs_at_a_time_and_nothing_waits_for_it(desk, clock):
    desk.gate.clear()
    for batches in range(1, 50):
        desk.delivery.advance(batches)
        clock.now_s += EVERY_S
    assert len(desk.calls) <= 1
    desk.gate.set()


@pytest.mark.parametrize(("took_s", "pause_s"), [(0.1, EVERY_S), (3.0, 30.0), (30.0, 45.0)])
def test_one_that_takes_long_leaves_more_time_for_the_batches(desk, clock, took_s, pause_s):
    desk.gate.clear()
    desk.delivery.advance(1)
    clock.now_s += took_s
    desk.gate.set()
    assert desk.delivery._running.wait(PATIENCE_S)
    clock.now_s += 1  # a batch may run meanwhile
    desk.delivery.advance(1)
    clock.now_s -= 1
    clock.now_s += pause_s - took_s - 0.01
    desk.advance(2)
    assert len(desk.calls) == 1
    clock.now_s += 0.02
    desk.advance(2)
    assert len(desk.calls) == 2


def test_a_failure_is_reported_and_tried_again(desk, clock):
    desk.failures = [AWAY]
    desk.advance(1)
    assert desk.reporter.problems[-1].endswith("it is tried again")
    assert desk.reporter.delivered_to == []
    clock.now_s += 60
    desk.advance(1)
    assert desk.reporter.problems[-1] is None
    assert desk.reporter.delivered_to == [7_000]


def test_another_process_that_delivers_is_no_problem(desk, clock):
    desk.failures = [BUSY]
    desk.advance(1)
    assert desk.reporter.problems == []
    clock.now_s += 60
    desk.advance(1)
    assert len(desk.calls) == 2


def test_another_process_that_delivers_for_long_is_reported_until_a_delivery_ends(desk, clock):
    desk.failures = [BUSY] * 3
    for _ in range(2):
        desk.advance(1)
        clock.now_s += 119
    assert desk.reporter.problems == []
    desk.advance(1)
    assert desk.reporter.problems == ["behind: another process has delivered for more than 2 min"]
    clock.now_s += 60
    desk.advance(1)
    assert desk.reporter.problems[-1] is None
    clock.now_s += 119
    desk.failures = [BUSY]
    desk.advance(2)
    assert desk.reporter.problems[-1] is None


def test_a_delivery_that_runs_for_long_is_reported_until_it_ends(desk, clock):
    desk.gate.clear()
    desk.delivery.advance(1)
    clock.now_s += 120
    desk.delivery.advance(1)
    assert desk.reporter.problems == []
    clock.now_s += 1
    desk.delivery.advance(1)
    assert desk.reporter.problems == ["behind: a delivery has run for more than 2 min"]
    desk.gate.set()
    assert desk.delivery._running.wait(PATIENCE_S)
    desk.delivery.advance(1)
    assert desk.reporter.problems[-1] is None


def test_a_place_holds_the_stream_once_its_buffer_is_full_until_it_has_what_it_lacked(desk, clock):
    buffer_s = desk.delivery.buffer_s
    assert buffer_s == 86_400
    desk.failures = [AWAY] * 2
    desk.advance(1)
    assert not desk.delivery.holds(1)
    clock.now_s += buffer_s
    assert not desk.delivery.holds(2)
    clock.now_s += 1
    assert desk.delivery.holds(2)
    desk.advance(2)
    assert desk.delivery.holds(2)
    clock.now_s += 60
    desk.advance(2)
    assert not desk.delivery.holds(2)
    assert [problem is None for problem in desk.reporter.buffer] == [False, False, True]


def test_the_time_that_a_place_lacks_answers_begins_with_the_oldest_of_them(desk, clock):
    desk.advance(1)
    clock.now_s += 2 * desk.delivery.buffer_s
    assert not desk.delivery.holds(1)  # nothing has come since
    assert not desk.delivery.holds(2)
    desk.gate.clear()
    desk.delivery.advance(2)
    began_s = clock.now_s
    clock.now_s += desk.delivery.buffer_s
    desk.gate.set()
    assert desk.delivery._running.wait(PATIENCE_S)
    desk.delivery.advance(3)
    assert not desk.delivery.holds(3)
    clock.now_s = began_s + desk.delivery.buffer_s + 1  # batch 3 may be as old as the delivery of batch 2
    assert desk.delivery.holds(3)
    assert not Delivery(desk.delivery.place, desk.reporter, buffer_s=-1.0).holds(0)  # no batch yet


def test_a_stream_that_waited_goes_on_once_less_than_half_a_buffer_is_lacking(desk, clock):
    buffer_s, waiting = desk.delivery.buffer_s, []
    assert not desk.delivery.holds(1)
    clock.now_s += buffer_s + 1
    assert desk.delivery.holds(2)
    for share in (0.75, 0.25):  # of a buffer, that a delivery takes, which batches follow
        desk.gate.clear()
        desk.delivery.advance(desk.delivery._delivered + 2)
        clock.now_s += share * buffer_s
        desk.gate.set()
        assert desk.delivery._running.wait(PATIENCE_S)
        desk.delivery.advance(9)
        waiting.append(desk.delivery.holds(9))
        clock.now_s += 60
    assert waiting == [True, False]


def test_a_place_beside_the_tables_holds_no_stream(desk, clock):
    beside = Delivery(replace(desk.delivery.place, holds_streams=False), desk.reporter)
    for delivery, holds in ((beside, False), (desk.delivery, True)):
        assert not delivery.holds(1)
        clock.now_s += delivery.buffer_s + 1
        assert delivery.holds(1) == holds


@pytest.mark.parametrize("batches", [1, 2])
def test_the_last_one_has_all(desk, batches):
    desk.advance(1)
    desk.delivery.finish(batches)
    assert len(desk.calls) == batches


def test_one_that_hangs_holds_no_drain_up(desk, monkeypatch):
    monkeypatch.setattr(module, "LAST_S", 0.01)
    desk.gate.clear()
    desk.delivery.finish(1)
    assert desk.reporter.delivered_to == []
    assert "the next driver adds them" in desk.reporter.problems[-1]
    desk.gate.set()


def test_who_waits_for_all_gets_the_failure(desk):
    desk.failures = [AWAY]
    with pytest.raises(RuntimeError, match=r"all answers are committed.*Input/output error"):
        desk.delivery.complete()
    desk.delivery.complete()
    assert desk.reporter.delivered_to == [7_000]


class Panic(BaseException):
    """A panic of a library in another language."""


def test_a_panic_of_a_library_ends_no_stream(desk):
    desk.failures = [Panic("Cannot start a runtime")]
    desk.advance(1)
    assert "Cannot start a runtime" in desk.reporter.problems[-1]


def places(away: str, failure: Exception, delivered: list[str]) -> tuple[Place, ...]:
    def deliver(name: str) -> None:
        if name == away:
            raise failure
        delivered.append(name)

    return tuple(Place(name, lambda wait_s, name=name: deliver(name)) for name in ("first", "second", "third"))


@pytest.mark.parametrize("away", ["first", "second", "third"])
@pytest.mark.parametrize(
    "failure",
    [
        AWAY,
        BUSY,
        Damaged([Problem("table late", "its log is lost", "a backup")]),
        Refused([Problem("table t", "it lacks the column n", "ALTER TABLE t ADD COLUMN n")]),
    ],
)
def test_a_place_that_fails_keeps_no_answers_from_the_others_and_the_job_says_so(monkeypatch, away, failure):
    delivered: list[str] = []
    monkeypatch.setattr(places_module, "places_of", lambda *of: places(away, failure, delivered))
    with pytest.raises(Damaged if isinstance(failure, Damaged) else RuntimeError, match=re.escape(str(failure))):
        deliver_all(None, None, None)
    assert sorted([*delivered, away]) == ["first", "second", "third"]


def test_a_run_that_ends_delivers_to_all_places_and_names_the_one_that_failed():
    delivered: list[str] = []
    reporter = Reporter()
    reporter.report_problem = lambda part, problem: reporter.problems.append(part)
    reporter.delivered = lambda place, committed: reporter.delivered_to.append(place)
    with pytest.raises(RuntimeError, match="all answers are committed, but first could not be brought up to date"):
        complete([Delivery(place, reporter) for place in places("first", AWAY, delivered)])
    assert reporter.problems == ["first"]
    assert delivered == reporter.delivered_to == ["second", "third"]
