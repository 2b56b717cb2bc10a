"""Brings a delivery target up to date while a stream runs its batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tailrace.delivery.places import WAIT_S, Place
from tailrace.ground.background import Background
from tailrace.ground.duration import format_duration
from tailrace.ground.errors import Busy, Refused
from tailrace.ground.retries import Retries
from tailrace.query.answers_section import AnswersSection
from tailrace.stream.failures import Failure
from tailrace.stream.status_reporter import StatusReporter

EVERY_S = 15.0
"""The time, in s, between deliveries of a live stream, so that no target is a minute behind."""

IDLE_S = 60.0
"""The time, in s, to the next delivery without a batch."""

_SHARE = 10  # of a delivery's duration: the time between slow deliveries
_LONGEST_S = 45.0
_BEHIND_S = 120.0  # without a delivery that ended
LAST_S = 5.0  # that a drain waits for a delivery, at most twice: its requester ends the driver after 30 s


@dataclass
class Delivery:
    """Deliveries to one target.

    Attributes
    ----------
    buffer_s : float
        The time, in s, for which the stream continues while the target lacks answers.
    """

    place: Place
    reporter: StatusReporter
    every_s: float = EVERY_S
    buffer_s: float = AnswersSection().buffer.total_seconds()
    retries: Retries = field(default_factory=Retries)
    _running: Background[object] | None = field(default=None, init=False)
    _began: tuple[int, float, int | None] = field(default=(-1, 0.0, None), init=False)
    _delivered: int = field(default=-1, init=False)
    _next_s: float = field(default=0.0, init=False)
    _ended_s: float = field(default=0.0, init=False)
    _busy_since_s: float | None = field(default=None, init=False)
    _lacks_since_s: float | None = field(default=None, init=False)
    _is_full: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.reporter.place_away(self.place.name)

    def advance(self, batches: int) -> None:
        """Begin a delivery if one is due, and handle the outcome of one that has ended.

        A delivery is due after a batch. Some are due without one, as a correction may have died before its delivery.

        Parameters
        ----------
        batches : int
            The number of committed batches.
        """
        if self._running is not None:
            if self._running.wait(0):
                self._end(self._running)
            else:
                self._report_behind(self._began[1], "a delivery has run")
            return
        is_due = time.monotonic() >= self._next_s + (0.0 if batches > self._delivered else IDLE_S)
        if is_due and self.retries.due:
            self._begin(batches, 0.0)

    def holds(self, batches: int) -> bool:
        """Return whether the stream has to wait for the target, as its buffer is full, or still half full; report it.

        Parameters
        ----------
        batches : int
            The number of committed batches. Batches of an earlier driver count as lacking from this one's start on.
        """
        now_s = time.monotonic()
        if batches <= max(self._delivered, 0):
            self._lacks_since_s = None
        elif self._lacks_since_s is None:
            self._lacks_since_s = now_s
        since_s = self._lacks_since_s
        most_s = self.buffer_s / 2 if self._is_full else self.buffer_s  # hysteresis, for a slow target
        is_full = self.place.holds_streams and since_s is not None and now_s - since_s > most_s
        if is_full or self._is_full:
            lag = f"it lacked answers for more than {format_duration(round(self.buffer_s * 1000))}"
            problem = f"{lag}: the stream takes nothing in until that is less than half of it (answers.buffer)"
            self._report(f"buffer of {self.place.name}", problem if is_full else None)
        self._is_full = is_full
        return is_full

    def finish(self, batches: int) -> None:
        """Deliver the rest before the driver of a live stream ends; after a failure the next driver does."""
        if self._running is not None and self._running.wait(LAST_S):
            self._end(self._running)
        if self._running is None and batches > self._delivered:
            last = self._begin(batches, LAST_S)
            if last.wait(LAST_S):
                self._end(last)
        if batches > self._delivered:
            self.reporter.report_problem(self.place.name, "it lacks the newest answers: the next driver adds them")

    def complete(self) -> None:
        """Deliver everything, for a waiting caller.

        Raises
        ------
        RuntimeError
            When it fails: the answers are committed, and the same command delivers them.
        """
        committed = self.reporter.committed
        try:
            self.place.deliver(WAIT_S)
        except Exception as error:
            reason = str(error) if isinstance(error, Refused) else Failure.classify(error).reason
            self.reporter.report_problem(self.place.name, reason)
            raise self.place.failure(reason) from error
        self.reporter.delivered(self.place.name, committed)

    def _begin(self, batches: int, wait_s: float) -> Background[object]:
        self._began = batches, time.monotonic(), self.reporter.committed

        def deliver() -> None:
            try:
                self.place.deliver(wait_s)
            finally:
                self._ended_s = time.monotonic()

        self._running = Background(deliver, f"delivery to {self.place.name}")
        return self._running

    def _end(self, ended: Background[object]) -> None:
        """Handle the outcome of a delivery."""
        self._running = None
        batches, began_s, committed = self._began
        self._next_s = began_s + max(self.every_s, min(_SHARE * (self._ended_s - began_s), _LONGEST_S))
        try:
            ended.result()
        except Busy:  # a correction is just delivering
            self._busy_since_s = began_s if self._busy_since_s is None else self._busy_since_s
            self._report_behind(self._busy_since_s, "another process has delivered")
            return
        except BaseException as error:  # also a panic of Delta's library: the stream continues
            self._busy_since_s = None
            self.retries.fail()
            self._report(self.place.name, f"{Failure.classify(error).reason}; it is tried again")
        else:
            self._delivered, self._busy_since_s = batches, None
            self._lacks_since_s = began_s  # answers committed meanwhile are missing there
            self.retries.succeed()
            self._report(self.place.name, None)
            self.reporter.delivered(self.place.name, committed)

    def _report_behind(self, since_s: float, reason: str) -> None:
        """Report the reason that keeps answers from the target for too long; the stream continues."""
        if time.monotonic() - since_s > _BEHIND_S:
            self._report(self.place.name, f"behind: {reason} for more than {_BEHIND_S / 60:.0f} min")

    def _report(self, part: str, problem: str | None) -> None:
        """Report a problem that keeps answers from the target; None means that it is over."""
        self.reporter.report_problem(part, problem)
        self.reporter.place_away(part, problem is not None)


def complete(deliveries: Sequence[Delivery]) -> None:
    """Deliver everything to all targets; a failing one does not keep answers from the others.

    Raises
    ------
    RuntimeError
        When one fails.
    """
    failures: list[RuntimeError] = []
    for delivery in deliveries:
        try:
            delivery.complete()
        except RuntimeError as failure:
            failures.append(failure)
    if failures:
        raise failures[0]
