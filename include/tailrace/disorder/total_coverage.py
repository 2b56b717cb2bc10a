"""Total coverage λ of a query: one share, received / (received + late), over all windows that have closed.

It follows from the tuple counts of ticks and panes alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.columns import Ints, group_sums
from tailrace.windows.windows import Windows


@dataclass
class TotalCoverage:
    """Coverage of all windows closed so far: the share of their tuples received before the closing.

    The coverage of a single window is defined in paper 002, section 1.2; here the counts are added up over windows.

    Attributes
    ----------
    received, missed : int
        Tuples of closed windows that arrived before the closing, and after it; a tuple counts in each of its windows.
    ends, counts : ndarray, shape (n,)
        The ends of the open windows, and the tuples that each has received so far.
    """

    received: int = 0
    missed: int = 0
    ends: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def observe(self, windows: Windows, counts: pa.Table, frontier: Frontier) -> None:
        """Add the tuple counts of complete ticks, and close the windows that the frontier (the watermark) has passed.

        `counts` has the columns `pane`, `tick` and `count`.
        """
        pane, tick, count = (counts.column(name).to_numpy() for name in ("pane", "tick", "count"))
        before = frontier.before(frontier.index(tick))
        first_end = windows.first_end(pane)
        first, last = windows.number(first_end), windows.number(windows.last_end(pane))
        is_late = first_end <= before
        until = np.minimum(last[is_late], windows.number(windows.end_until(before[is_late])))
        self.missed += int((count[is_late] * (until - first[is_late] + 1)).sum())
        first[is_late] = until + 1
        numbers, sums = _spread(first, last, count)
        ends = np.concatenate([self.ends, windows.end_of(numbers)])
        ends, (sums,) = group_sums(ends, np.concatenate([self.counts, sums]))
        closed = ends <= frontier.last
        self.received += int(sums[closed].sum())
        self.ends, self.counts = ends[~closed], sums[~closed]

    @property
    def share(self) -> float | None:
        """λ over all closed windows, in [0, 1]; None before the first one."""
        return self.received / (self.received + self.missed) if self.received + self.missed else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"ends": self.ends.tolist(), "counts": self.counts.tolist()}

    @staticmethod
    def from_json(state: dict[str, Any]) -> TotalCoverage:
        arrays = {name: np.array(state[name], np.int64) for name in ("ends", "counts")}
        return TotalCoverage(**state | arrays)


def _spread(first: Ints, last: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return the numbers of windows in the runs [first, last] of n rows, and the tuples that the rows bring to each.

    The runs are not expanded: with long windows, many rows lie in many windows.
    """
    some = first <= last
    first, after, count = first[some], last[some] + 1, count[some]
    at, (rows, tuples) = group_sums(
        np.concatenate([first, after]),
        np.concatenate([np.ones_like(first), -np.ones_like(after)]),
        np.concatenate([count, -count]),
    )
    steps = np.where(np.cumsum(rows) > 0, np.diff(at, append=at[-1:]), 0)
    run = np.repeat(np.arange(len(at)), steps)
    index = np.arange(len(run)) - np.repeat(np.cumsum(steps) - steps, steps)
    return at[run] + index, np.cumsum(tuples)[run]
