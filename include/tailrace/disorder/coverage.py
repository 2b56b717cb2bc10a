"""Window coverage λ = received / (received + late), the query's, from the counts of ticks and panes alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.columns import group_sums
from tailrace.disorder.clock import Frontier
from tailrace.windows.sliding import Sliding

Ints = NDArray[np.int64]


@dataclass
class Coverage:
    """How much of the windows closed so far had arrived when they closed (paper 002, section 1.2).

    Attributes
    ----------
    received, missed : int
        Tuples of closed windows that were there at the closing, and those that came after; a tuple counts once
        for each window.
    open : dict
        Tuples received so far, by the end of each window that is still open.
    """

    received: int = 0
    missed: int = 0
    open: dict[int, int] = field(default_factory=dict)

    def observe(self, windows: Sliding, counts: pa.Table, frontier: Frontier, flush: bool) -> None:
        """Take in how many tuples (`count`) each complete `tick` brought to each `pane`."""
        pane, tick, count = (counts.column(name).to_numpy() for name in ("pane", "tick", "count"))
        before = frontier.before(frontier.index(tick))
        row, end = windows.ends(pane, None, before)
        self.missed += int(count[row].sum())
        row, end = windows.ends(pane, before, None)
        for window, tuples in zip(*(column.tolist() for column in _by_end(end, count[row])), strict=True):
            self.open[window] = self.open.get(window, 0) + tuples
        closed = [window for window in self.open if flush or window <= frontier.last]
        self.received += sum(self.open.pop(window) for window in closed)

    @property
    def share(self) -> float | None:
        """λ over all closed windows, in [0, 1]; None before the first."""
        return self.received / (self.received + self.missed) if self.received + self.missed else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"open": sorted(self.open.items())}

    @staticmethod
    def from_json(kept: dict[str, Any]) -> Coverage:
        return Coverage(kept["received"], kept["missed"], dict(kept["open"]))


def _by_end(end: Ints, count: Ints) -> tuple[Ints, Ints]:
    ends, (sums,) = group_sums(end, count)
    return ends, sums
