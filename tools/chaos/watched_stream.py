"""A live stream whose answers go to places, with a reader at each: what is done to it, and what it comes back to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from answer_place import newest_as_of
from comparison import Tally
from faults import correct
from feeder import Feeder
from live_driver import END_S, LiveDriver, await_
from place_watch import PlaceWatch
from workloads import NAME, TICK_MS

from tailrace.drivers import driver_lifecycle
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

COULD_NOT_DELIVER = "all answers are committed, but "
"""What a command says whose place is away: the stream delivers its answers."""

_CORRECTS = "corrects this query"
_GIVE_UP_S, _LOOK_AGAIN_S, _DRAIN_S, _STOP_S = END_S, 0.2, 30.0, 10.0
_LOOKS = 2  # of a reader, of which the last began after now


@dataclass
class WatchedStream:
    """A live stream, and the places of its answers with their readers.

    Attributes
    ----------
    declared : dict
        The query file.
    problems : dict
        The problems that the stream has reported since `begin_outage`, each with the seconds until it did.
    pid : int, optional
        The driver that was started, or came back, as intended.
    """

    driver: LiveDriver
    feeder: Feeder
    watches: list[PlaceWatch]
    tally: Tally
    declared: Mapping[str, Any]
    problems: dict[str, float] = field(default_factory=dict)
    pid: int | None = None
    _since_s: float = 0.0

    @property
    def layout(self) -> Layout:
        return Layout(self.driver.home)

    def declare(self, **sections: object) -> None:
        """Write the query file, with other sections than before."""
        self.declared = {**self.declared, **sections}
        self.driver.file.write_text(json.dumps(self.declared))

    def deploy(self) -> None:
        """Let the host start a driver."""
        self.driver.deploy()
        self.await_other_pid(None)

    def await_other_pid(self, before: int | None) -> None:
        """Wait until the host has started a driver, after one with a pid."""
        await_(lambda: self.driver.pid not in (None, before), _GIVE_UP_S)
        self.pid = self.driver.pid

    def end(self) -> None:
        """Drain the driver as `tailrace drain` does: one that hangs at a place is stopped."""
        driver_lifecycle.drain(self.driver.host, self.layout, _DRAIN_S, _STOP_S)

    def run(self, verb: str, *words: str, **named: Any) -> str:
        """Run a command about the query, once no correction keeps it waiting; return what it said.

        A failure is wrong unless a place is away.
        """
        while True:
            command = self.driver.begin(verb, *words, **named)
            said, _ = command.communicate(timeout=_GIVE_UP_S)
            if not command.returncode or COULD_NOT_DELIVER in said:
                return said
            if _CORRECTS not in said:
                self.tally.blame(f"tailrace {verb} failed: {said[-300:]}")
                return said

    def begin_outage(self) -> None:
        """Forget the problems of before."""
        self.problems.clear()
        self._since_s = time.monotonic()

    def pass_s(self, seconds: float) -> None:
        """Let time pass; note the problems that the stream reports."""
        began_s = time.monotonic()
        while time.monotonic() - began_s < seconds:
            status = Status.read(self.layout)
            for problem in [] if status is None else status.problems:
                self.problems.setdefault(problem, time.monotonic() - self._since_s)
            time.sleep(_LOOK_AGAIN_S)

    def catch_up_s(self) -> float:
        """Wait until the stream has committed all that has arrived by now, without a problem; return the seconds."""
        due_ms = self.feeder.streams[NAME].arrival
        return self._elapsed_s(lambda: self._has_caught_up(due_ms))

    def show_s(self, watch: PlaceWatch) -> float:
        """Wait until a reader has seen all that the stream has answered by now; return the seconds."""
        newest_ms = newest_as_of(self.driver.home / "results")
        return self._elapsed_s(lambda: watch.has(newest_ms))

    def settle(self, what: str) -> None:
        """Correct all that is late, and wait until each reader has looked at what this gave."""
        if (problem := correct(self.driver, END_S)) is not None:
            self.tally.blame(f"{what}: {problem}")
        polls = [watch.place.reader.polls for watch in self.watches]
        for watch, before in zip(self.watches, polls, strict=True):
            await_(lambda watch=watch, before=before: watch.place.reader.polls >= before + _LOOKS, _GIVE_UP_S)
        if self.driver.pid != self.pid:
            self.tally.blame(f"{what}: the driver was started again")
            self.pid = self.driver.pid

    @contextmanager
    def other_tables(self, what: str) -> Iterator[None]:
        """Let what is done inside change the tables that answers come from; at the end each reader has seen it."""
        for watch in self.watches:
            watch.origin_may_change = True
        yield
        self.settle(what)
        for watch in self.watches:
            watch.origin_may_change = False

    def _has_caught_up(self, due_ms: int) -> bool:
        status = Status.read(self.layout)
        if status is None or status.problem is not None or status.committed is None:
            return False
        return status.committed >= due_ms - due_ms % TICK_MS

    def _elapsed_s(self, condition: Callable[[], bool]) -> float:
        """Wait for a condition; return how long it took.

        Raises
        ------
        TooLong
            When it does not hold after ten minutes.
        """
        since_s = time.monotonic()
        await_(condition, _GIVE_UP_S)
        return time.monotonic() - since_s
