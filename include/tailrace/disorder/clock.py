"""The query's clock: t_max, K and the frontier F, from the statistics of ticks and the facts in force alone.

Every task runs the same clock over the same ticks and so comes to the same F; nothing that a task holds can move it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.policies import policy_from_json
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.tick_statistics import TickContents, TickRows, TickStatistics
from tailrace.disorder.ticks import Ticks
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.ground.wire import Batches


@dataclass(frozen=True)
class Fact:
    """Settings in force from a tick on."""

    version: int
    from_tick: int
    settings: str


@dataclass(frozen=True)
class Frontier:
    """The clock at each of n complete ticks, in order; `start` is F before the first of them.

    A stream that is quiet, or ends, has a last one more: its last tick again, at which F moves on.

    Attributes
    ----------
    tick, end, t_max, k_ms, after, version : ndarray, shape (n,)
        The number of the tick, its end in arrival time, t_max, K and F at its end, and the facts in force.
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
        """F as it stands after the last tick."""
        return int(self.after[-1]) if len(self) else self.start

    def index(self, tick: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each of the given ticks, all of which must be here."""
        return np.searchsorted(self.tick, tick)

    def before(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """F as each tick found it: a window that ends at or before it had closed."""
        return np.concatenate([[self.start], self.after])[index]

    def closing(self, window_end: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the tick at which each window closed."""
        return np.searchsorted(self.after, window_end)


@dataclass
class Clock:
    """What the query's clock keeps between ticks: as of the last complete one, which ended at `end`.

    `policy_state` is that of the policy in force.
    """

    t_max: int = BEFORE_ALL
    frontier: int = BEFORE_ALL
    k_ms: int = 0
    end: int = BEFORE_ALL
    largest: int = 0
    version: int = 0
    facts: list[Fact] = field(default_factory=list)
    policy_state: PolicyState = field(default_factory=dict)

    @property
    def settings(self) -> str | None:
        """The newest settings, in force or about to be."""
        return self.facts[-1].settings if self.facts else None

    def stamp(self, settings: str, newest_tick: int) -> Fact:
        """Take up new settings from the first tick after `newest_tick`: nothing that was seen is touched by them."""
        version = self.facts[-1].version + 1 if self.facts else 1
        fact = Fact(version, max(newest_tick + 1, 0), settings)
        self.facts.append(fact)
        return fact

    def advance(self, ticks: Ticks, brought: TickContents | None = None) -> Frontier:
        """Complete these ticks, each later than those before: t_max first, then K, then F.

        `brought` is what came in them; policies that go by ticks alone need none of it.
        """
        brought = brought or TickContents.empty()
        start = self.frontier
        t_max = np.maximum.accumulate(np.maximum(ticks.max_event, self.t_max))
        # The delay of a tuple is t_max − event_time, t_max as its own tick leaves it: the largest is the earliest's.
        largest = np.maximum.accumulate(np.maximum(t_max - ticks.min_event, self.largest))
        counts, sample = (TickRows.of(table, ticks) for table in (brought.counts, brought.sample))
        stats = TickStatistics(
            ticks, t_max, largest, self.t_max, start, brought.windows, counts, sample, brought.error_model
        )
        k_ms, version = self._slack(stats)
        after = np.maximum.accumulate(np.maximum(t_max - k_ms, start))
        if len(ticks):
            self.t_max, self.largest, self.k_ms, self.frontier, self.end, self.version = (
                int(column[-1]) for column in (t_max, largest, k_ms, after, ticks.end, version)
            )
        return Frontier(start, ticks.tick, ticks.end, t_max, k_ms, after, version)

    def close(self, frontier: Frontier, until: int) -> Frontier:
        """Move F on to `until`, by the last tick, K and facts there were; `frontier` is what `advance` gave."""
        self.frontier = max(self.frontier, until)
        last = frontier.tick[-1] if len(frontier) else BEFORE_ALL
        row = (last, self.end, self.t_max, self.k_ms, self.frontier, self.version)
        columns = frontier.tick, frontier.end, frontier.t_max, frontier.k_ms, frontier.after, frontier.version
        return Frontier(frontier.start, *(np.append(column, value) for column, value in zip(columns, row, strict=True)))

    def _slack(self, stats: TickStatistics) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """K, and the version of the facts, at each tick."""
        k_ms, version = np.empty(len(stats), np.int64), np.empty(len(stats), np.int64)
        place = np.searchsorted([fact.from_tick for fact in self.facts], stats.ticks.tick, side="right") - 1
        frontier, in_force = stats.frontier, self.version
        for i in np.unique(place):
            fact, (first, end) = self.facts[i], np.searchsorted(place, [i, i + 1])
            mine = slice(int(first), int(end))
            part = stats.between(mine.start, mine.stop, frontier)
            state = self.policy_state if fact.version == in_force else {}
            k_ms[mine], self.policy_state = policy_from_json(fact.settings).slack(part, state)
            version[mine] = in_force = fact.version
            frontier = max(frontier, int((part.t_max - k_ms[mine]).max()))
        return k_ms, version

    def pack(self) -> tuple[Batches, dict[str, Any]]:
        """All of it as record batches and JSON values."""
        arrays = {name: value for name, value in self.policy_state.items() if isinstance(value, np.ndarray)}
        batches = {name: pa.RecordBatch.from_arrays([pa.array(value)], ["value"]) for name, value in arrays.items()}
        plain = {name: value for name, value in self.policy_state.items() if name not in arrays}
        return batches, asdict(self) | {"policy_state": plain}

    @staticmethod
    def unpack(batches: Batches, values: dict[str, Any]) -> Clock:
        """What `pack` gave."""
        arrays = {name: np.asarray(batch.column("value")) for name, batch in batches.items()}
        facts = [Fact(**fact) for fact in values["facts"]]
        return Clock(**{**values, "facts": facts, "policy_state": values["policy_state"] | arrays})
