"""The query's clock: t_max, slack K (allowed lateness) and frontier F (the watermark), a function of ticks and facts.

The clock is deterministic: any process that runs it over the same tick statistics and facts computes the same F.

F advances no further than arrival allows. For t_max an event time counts only up to `skew` after the tuple's own
arrival (a bound of its stream, 1 min unless it is set); `StreamReader` cuts what is beyond. Otherwise one record from
the future would close all windows up to its time, and what comes for them would be late until arrival has caught up.

- Where events are behind their arrival, as nearly everywhere, and where clocks differ by less than `skew`, t_max is the
  largest event time as it came.
- Where event times are ahead by more, as of flights that leave early or of bookings, windows close by arrival: later by
  as much, and with more of their tuples. Nothing is lost. A constant difference of clocks is a larger `skew`.
- It is a function of the tuple alone: no tick, batch or order of reading changes it.

The record itself counts in its own windows, which stay open until arrival has come there.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.policies import policy_of
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import TickContents, TickRows, TickStatistics
from tailrace.disorder.ticks import Ticks
from tailrace.ground.facts import Fact, Facts
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.ground.wire import Batches

_OF_STREAMS = ("latest", "last_end")


@dataclass(frozen=True)
class Frontier:
    """The clock's values at each of n complete ticks, in order; `start` is F before the first of them.

    When the stream is quiet or ends, one more row follows: the last tick again, at which F moves on.

    Attributes
    ----------
    tick, end, t_max, k_ms, after, version : ndarray, shape (n,)
        The tick's number, its end in arrival time, t_max, K and F at its end, and the version of the facts in force.
    """

    start: int
    tick: NDArray[np.int64]
    end: NDArray[np.int64]
    t_max: NDArray[np.int64]
    k_ms: NDArray[np.int64]
    after: NDArray[np.int64]
    version: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.tick)

    @property
    def last(self) -> int:
        """F after the last tick."""
        return int(self.after[-1]) if len(self) else self.start

    def index(self, tick: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of each given tick; all of them must be here."""
        return np.searchsorted(self.tick, tick)

    def before(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return F before the tick at each index; a window that ends at or before it had closed by then."""
        return np.concatenate([[self.start], self.after])[index]

    def closing(self, window_end: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the tick at which each window closed."""
        return np.searchsorted(self.after, window_end)


@dataclass
class Clock:
    """State of the query's clock between ticks, as of the last complete one: `tick`, which ended at `end`.

    Attributes
    ----------
    latest, last_end : ndarray of shape (s,), or None
        Of each of s streams: the largest event time as far as it counts, and the end of the last tick in which it
        brought a tuple, or of the query's first one where it brought none; ms. None before the first tick.
    furthest : int
        The largest event time of all that came, in complete ticks or not, and however far ahead of its arrival.
    t_max : int
        The largest event time seen by the query: the least of `latest` over the streams that are not idle.
    largest : int
        The largest delay so far, ms.
    in_force : Fact or None
        The settings in force; None before the first tick.
    policy_state : dict
        The state of the policy in force.
    facts : tuple of Fact
        The settings in force at the next tick, and later ones. They come with each batch, and are no state.
    idle_ms : int
        The arrival time after which a stream without tuples is idle. It comes with each batch, and is no state.
    """

    t_max: int = BEFORE_ALL
    frontier: int = BEFORE_ALL
    k_ms: int = 0
    tick: int = BEFORE_ALL
    end: int = BEFORE_ALL
    latest: NDArray[np.int64] | None = None
    last_end: NDArray[np.int64] | None = None
    largest: int = 0
    furthest: int = BEFORE_ALL
    in_force: Fact | None = None
    policy_state: PolicyState = field(default_factory=dict)
    facts: Facts = ()
    idle_ms: int = AFTER_ALL

    @property
    def version(self) -> int:
        """The version of the settings in force; 0 before the first tick."""
        return 0 if self.in_force is None else self.in_force.version

    @property
    def coverage_threshold(self) -> float | None:
        """λ_thr, the coverage that the policy in force is to keep; None where it goes by none, or before a tick."""
        return None if self.in_force is None else policy_of(self.in_force.value).coverage_threshold(self.policy_state)

    def advance(self, ticks: Ticks, contents: TickContents | None = None) -> Frontier:
        """Complete these ticks, each later than those before: update t_max first, then K, then F.

        `contents` are the contents of the ticks; policies that use tick statistics alone do not need them.
        """
        contents = contents or TickContents.empty()
        start = self.frontier
        t_max = self._advance_t_max(ticks)
        # A delay is t_max − event_time, with t_max after the tuple's own tick: a tick's earliest tuple has its largest.
        largest = np.maximum.accumulate(np.maximum(t_max - ticks.min_event, self.largest))
        counts, sample = (TickRows.of(table, ticks) for table in (contents.counts, contents.sample))
        stats = TickStatistics(
            ticks, t_max, largest, self.t_max, start, contents.windows, counts, sample, contents.error_model
        )
        k_ms, version = self._slack(stats)
        after = np.maximum.accumulate(np.maximum(t_max - k_ms, start))
        if len(ticks):
            self.t_max, self.largest, self.k_ms, self.frontier, self.tick, self.end = (
                int(column[-1]) for column in (t_max, largest, k_ms, after, ticks.tick, ticks.end)
            )
        return Frontier(start, ticks.tick, ticks.end, t_max, k_ms, after, version)

    def close(self, frontier: Frontier, until: int) -> Frontier:
        """Move F on to `until` in one more row of the last tick, K and facts; `frontier` is the result of `advance`."""
        self.frontier = max(self.frontier, until)
        last = frontier.tick[-1] if len(frontier) else BEFORE_ALL
        row = (last, self.end, self.t_max, self.k_ms, self.frontier, self.version)
        columns = frontier.tick, frontier.end, frontier.t_max, frontier.k_ms, frontier.after, frontier.version
        return Frontier(frontier.start, *(np.append(column, value) for column, value in zip(columns, row, strict=True)))

    def last_closing(self, passed_ms: int) -> int:
        """Return the event time up to which answers close when all that arrived before `passed_ms` is complete.

        It is the largest one that came. While that lies beyond `passed_ms`, answers with tuples ahead stay open.
        """
        assert self.latest is not None
        newest = int(self.latest.max())
        return max(newest, self.furthest) if self.furthest <= passed_ms else newest

    def _advance_t_max(self, ticks: Ticks) -> NDArray[np.int64]:
        """Take in the event times of these ticks; returns t_max at each of them, which never falls.

        A stream is idle at a tick that ends more than `idle_ms` after the last one in which it brought a tuple. At
        least one stream is not: the tick has tuples. Before every stream has brought one, there is no t_max. That a
        stream is recorded as idle only lets ticks complete without it; it moves t_max no further than this.
        """
        if not len(ticks):
            return np.zeros(0, np.int64)
        if self.latest is None or self.last_end is None:
            streams = len(ticks.max_event)
            self.latest, self.last_end = np.full(streams, BEFORE_ALL), np.full(streams, ticks.end[0])
        last_end = np.where(ticks.max_event > BEFORE_ALL, ticks.end, BEFORE_ALL)
        last_end = np.maximum.accumulate(np.maximum(last_end, self.last_end[:, None]), axis=1)
        latest = np.maximum.accumulate(np.maximum(ticks.max_event, self.latest[:, None]), axis=1)
        idle = (ticks.end - last_end > self.idle_ms) & (latest > BEFORE_ALL)
        t_max = np.where(idle, AFTER_ALL, latest).min(axis=0)
        self.latest, self.last_end = latest[:, -1], last_end[:, -1]
        return np.maximum.accumulate(np.maximum(t_max, self.t_max))

    def _slack(self, stats: TickStatistics) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return K and the version of the settings in force at each tick."""
        k_ms, version = np.empty(len(stats), np.int64), np.empty(len(stats), np.int64)
        fact_index = np.searchsorted([fact.since for fact in self.facts], stats.ticks.tick, side="right") - 1
        frontier = stats.frontier
        for i in np.unique(fact_index):
            fact, (first, end) = self.facts[i], np.searchsorted(fact_index, [i, i + 1])
            tick_range = slice(int(first), int(end))
            part = stats.between(tick_range.start, tick_range.stop, frontier)
            state = self.policy_state if fact.version == self.version else {}
            k_ms[tick_range], self.policy_state = policy_of(fact.value).slack(part, state)
            version[tick_range], self.in_force = fact.version, fact
            frontier = max(frontier, int((part.t_max - k_ms[tick_range]).max()))
        return k_ms, version

    def pack(self) -> tuple[Batches, dict[str, Any]]:
        """Serialize the state as record batches and JSON values."""
        arrays = {name: value for name, value in self.policy_state.items() if isinstance(value, np.ndarray)}
        batches = {name: pa.RecordBatch.from_arrays([pa.array(value)], ["value"]) for name, value in arrays.items()}
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("facts", "idle_ms")}
        for name in _OF_STREAMS:
            values[name] = None if values[name] is None else values[name].tolist()
        values["in_force"] = None if self.in_force is None else asdict(self.in_force)
        values["policy_state"] = {name: value for name, value in self.policy_state.items() if name not in arrays}
        return batches, values

    @staticmethod
    def unpack(batches: Batches, values: dict[str, Any]) -> Clock:
        """Restore the state from the output of `pack`."""
        arrays = {name: np.asarray(batch.column("value")) for name, batch in batches.items()}
        fact = values["in_force"]
        restored = {"in_force": fact and Fact(**fact), "policy_state": values["policy_state"] | arrays}
        for name in _OF_STREAMS:
            restored[name] = None if values[name] is None else np.array(values[name], np.int64)
        if "furthest" not in values:  # in a state of an earlier version
            restored["furthest"] = max(values["latest"] or [BEFORE_ALL])
        return Clock(**{**values, **restored})
