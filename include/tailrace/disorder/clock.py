"""The query's clock: t_max, slack K (allowed lateness) and frontier F (the watermark), a function of ticks and facts.

The clock is deterministic: any process that runs it over the same tick statistics and facts computes the same F.

F advances to arrival + `skew` − K at most. For t_max an event time counts only up to `skew` after the tuple's own
arrival (a bound of its stream, 1 min by default); `StreamReader` cuts later ones. Otherwise one record from the future
would close all windows up to its time, and every tuple of these windows would be late until arrival has caught up.

- If events are behind their arrival, as nearly everywhere, or clocks differ by less than `skew`, t_max is the largest
event
  time.
- If event times are ahead by more, as with bookings, or flights that leave early, windows close by arrival: later by
the
  same time, and with more of their tuples. Nothing is lost. For a constant difference of clocks, declare a larger
  `skew`.
- The cut is a function of the tuple alone: it does not depend on ticks, batches or the order of reading.

The record itself counts in its own windows. They close when arrival comes within skew − K of their ends.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.arrival_curves import NO_CURVES, CoverageCurves
from tailrace.disorder.expected_coverage import ExpectedCoverage
from tailrace.disorder.policies import policy_of
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import TickContents, TickRows, TickStatistics
from tailrace.disorder.ticks import Ticks
from tailrace.ground.arrow.wire import Batches
from tailrace.ground.facts import Fact, Facts
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL

_OF_STREAMS = ("latest", "last_end")
_APART = ("facts", "idle_ms", "expected")


@dataclass(frozen=True)
class Frontier:
    """The table of the clock's values at n complete ticks, in order; `start` is F before the first tick.

    When the stream is silent or ends, one more row follows, at which F advances. It has the number of the last tick, or
    BEFORE_ALL if no tick was completed.

    Attributes
    ----------
    tick, end, t_max, k_ms, after, version : ndarray, shape (n,)
        The tick's number, its end in arrival time, t_max, K and F at its end, and the version of the facts in force.
    curves : CoverageCurves
        If answers are estimates: the expected coverage of windows that close at each tick.
    """

    start: int
    tick: NDArray[np.int64]
    end: NDArray[np.int64]
    t_max: NDArray[np.int64]
    k_ms: NDArray[np.int64]
    after: NDArray[np.int64]
    version: NDArray[np.int64]
    curves: CoverageCurves = NO_CURVES

    def __len__(self) -> int:
        return len(self.tick)

    @property
    def last(self) -> int:
        """F after the last tick."""
        return int(self.after[-1]) if len(self) else self.start

    def index(self, tick: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of each given tick; all must exist here."""
        return np.searchsorted(self.tick, tick)

    def before(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return F before the tick at each index; a window that ends at or before it had closed by then."""
        return np.concatenate([[self.start], self.after])[index]

    def closing(self, window_end: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the row at which each window closed; all must have closed within these rows."""
        return np.searchsorted(self.after, window_end)


@dataclass
class StreamClock:
    """State of the query's clock between ticks, as of the last complete one: `tick`, which ended at `end`.

    Attributes
    ----------
    latest, last_end : ndarray of shape (s,), or None
        For each of s streams: the largest event time that counts, and the end of the last tick in which it brought a
        tuple, or of the query's first tick if it brought none; ms. None before the first tick.
    furthest : int
        The largest event time of all tuples so far, even in incomplete ticks, and even far ahead of arrival.
    t_max : int
        The query's progress in event time: the least of `latest` over the streams that are not idle.
    largest : int
        The largest delay so far, ms.
    in_force : Fact or None
        The settings in force; None before the first tick.
    policy_state : dict
        The state of the policy in force.
    expected : ExpectedCoverage
        The measurement of the expected coverage; empty if no answers are estimates.
    facts : tuple of Fact
        The settings in force at the next tick, and later ones. They come with each batch and are not part of the state.
    idle_ms : int
        The arrival time without a tuple after which a stream is idle. It comes with each batch and is not part of the
        state.
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
    expected: ExpectedCoverage = field(default_factory=ExpectedCoverage.empty, compare=False)
    facts: Facts = ()
    idle_ms: int = AFTER_ALL

    @property
    def version(self) -> int:
        """The version of the settings in force; 0 before the first tick."""
        return 0 if self.in_force is None else self.in_force.version

    @property
    def coverage_threshold(self) -> float | None:
        """λ_thr, the coverage that the policy in force aims for; None if it uses none, or before the first tick."""
        return None if self.in_force is None else policy_of(self.in_force.value).coverage_threshold(self.policy_state)

    def advance(self, ticks: Ticks, contents: TickContents | None = None) -> Frontier:
        """Complete these ticks, which follow all earlier ones: update t_max first, then K, then F.

        `contents` are the tuples of the ticks, which some policies need beside the statistics.
        """
        contents = contents or TickContents.empty()
        start = self.frontier
        t_max = self._advance_t_max(ticks)
        # A delay is t_max − event_time, with t_max after the tuple's own tick. So the earliest tuple of a tick has its
        # largest delay.
        largest = np.maximum.accumulate(np.maximum(t_max - ticks.min_event, self.largest))
        counts, sample = (TickRows.from_table(table, ticks) for table in (contents.counts, contents.sample))
        curves = NO_CURVES
        if contents.estimates and len(ticks):
            before = np.append(self.t_max if self.tick > BEFORE_ALL else t_max[0], t_max[:-1])
            curves = self.expected.advance(contents.windows, before, t_max, counts)
        stats = TickStatistics(
            ticks, t_max, largest, self.t_max, start, contents.windows, counts, sample, contents.error_model, curves
        )
        k_ms, version = self._slack(stats)
        after = np.maximum.accumulate(np.maximum(t_max - k_ms, start))
        if len(ticks):
            self.t_max, self.largest, self.k_ms, self.frontier, self.tick, self.end = (
                int(column[-1]) for column in (t_max, largest, k_ms, after, ticks.tick, ticks.end)
            )
        return Frontier(start, ticks.tick, ticks.end, t_max, k_ms, after, version, curves)

    def close(self, frontier: Frontier, until: int) -> Frontier:
        """Append a copy of the last row with F raised to `until`; `frontier` is from `advance`."""
        self.frontier = max(self.frontier, until)
        last = frontier.tick[-1] if len(frontier) else BEFORE_ALL
        row = {"tick": last, "end": self.end, "t_max": self.t_max, "k_ms": self.k_ms, "after": self.frontier}
        row["version"] = self.version
        columns: dict[str, Any] = {name: np.append(getattr(frontier, name), value) for name, value in row.items()}
        return replace(frontier, curves=frontier.curves.until(len(frontier)), **columns)

    def last_closing(self, passed_ms: int) -> int:
        """Return the event time up to which answers close once all that arrived before `passed_ms` is complete.

        It is the largest event time so far. If that is beyond `passed_ms`, it is the largest event time that counts for
        t_max, and later answers stay open.
        """
        assert self.latest is not None
        newest = int(self.latest.max())
        return max(newest, self.furthest) if self.furthest <= passed_ms else newest

    def _advance_t_max(self, ticks: Ticks) -> NDArray[np.int64]:
        """Add the event times of these ticks; return t_max at each of them, which never decreases.

        A stream is idle at a tick that ends more than `idle_ms` after the last one in which it brought a tuple. At
        least one stream is not idle, since the tick has tuples. Before every stream has brought one, there is no t_max.
        The journal's record that a stream is idle only lets ticks complete without it; t_max does not change.
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
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _APART}
        expected, values["expected"] = self.expected.pack()
        for name in _OF_STREAMS:
            values[name] = None if values[name] is None else values[name].tolist()
        values["in_force"] = None if self.in_force is None else asdict(self.in_force)
        values["policy_state"] = {name: value for name, value in self.policy_state.items() if name not in arrays}
        return batches | expected, values

    @staticmethod
    def unpack(batches: Batches, values: dict[str, Any]) -> StreamClock:
        """Restore the state from the output of `pack`."""
        expected, batches = ExpectedCoverage.unpack(batches, values["expected"])
        arrays = {name: np.asarray(batch.column("value")) for name, batch in batches.items()}
        fact = values["in_force"]
        restored = {
            "in_force": fact and Fact(**fact),
            "policy_state": values["policy_state"] | arrays,
            "expected": expected,
        }
        for name in _OF_STREAMS:
            restored[name] = None if values[name] is None else np.array(values[name], np.int64)
        return StreamClock(**{**values, **restored})
