"""Expected coverage of a window when it closes: the share of tuples that had arrived by that age in earlier windows.

The *age* of a window is the distance of t_max beyond its end. For reference windows, which do not overlap, the number
of tuples at every age is stored. Coverage at an age is the median over the newest complete windows: a burst in less
than half of them, or a tuple that is days late, does not move it.

It follows from complete ticks, up to the tick at which a window closes: neither batches nor restarts change it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.disorder.arrival_curves import AGES, NO_CURVES, ArrivalCurves, CoverageCurves
from tailrace.disorder.error_model import Floats, Ints
from tailrace.disorder.tick_statistics import TickRows
from tailrace.ground.arrow import wire
from tailrace.ground.arrow.wire import Batches
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.windows import Windows

_PREFIX = "expected."
_MAX_WINDOWS = 96  # reference windows that are stored
_NEWEST = 64  # the most complete windows that count
_FEWEST = 8  # complete windows from which on coverage is expected
_MEASURE_EVERY = 4  # reference windows between measurements
_ROWS_AT_ONCE = 4_096


@dataclass
class ExpectedCoverage:
    """State of the measurement between ticks.

    Attributes
    ----------
    number : ndarray, shape (m,)
        The numbers of the reference windows, ascending.
    held : ndarray, shape (m, g)
        The tuples that each held at the ages `AGES`, see `ArrivalCurves`; tuples that come later count in none.
    coverage, spread : ndarray, shape (g,)
        The latest measurement, see `CoverageCurves`.
    stride : int
        One of this number of adjoining windows is a reference window. It is doubled while too few of the stored windows
        are complete, as with delays that are far longer than a window.
    since : int
        Windows that start earlier began before the first tick, and do not count.
    measured : int
        The number of reference windows that had ended at the latest measurement.
    """

    number: Ints
    held: Ints
    coverage: Floats
    spread: Floats
    stride: int = 1
    since: int = BEFORE_ALL
    measured: int = BEFORE_ALL

    @staticmethod
    def empty() -> ExpectedCoverage:
        whole = np.ones(len(AGES)), np.zeros(len(AGES))
        return ExpectedCoverage(np.zeros(0, np.int64), np.zeros((0, len(AGES)), np.int64), *whole)

    @property
    def is_empty(self) -> bool:
        """Whether no tick was observed so far, such as in a query that estimates nothing."""
        return self.since == BEFORE_ALL

    def pack(self) -> tuple[Batches, dict[str, int] | None]:
        """Serialize the state as record batches and JSON values; nothing if no tick was observed."""
        if self.is_empty:
            return {}, None
        arrays = {"number": self.number, "held": self.held.ravel(), "coverage": self.coverage, "spread": self.spread}
        batches = {f"{_PREFIX}{name}": pa.RecordBatch.from_pydict({"value": array}) for name, array in arrays.items()}
        return batches, {"stride": self.stride, "since": self.since, "measured": self.measured}

    @staticmethod
    def unpack(batches: Batches, values: dict[str, int] | None) -> tuple[ExpectedCoverage, Batches]:
        """Restore the state from the output of `pack`; return it, and the other batches."""
        arrays = {name: np.asarray(batch.column("value")) for name, batch in wire.under(_PREFIX, batches).items()}
        if values is None:
            return ExpectedCoverage.empty(), batches
        number, held, coverage, spread = (arrays[name] for name in ("number", "held", "coverage", "spread"))
        others = {name: batch for name, batch in batches.items() if not name.startswith(_PREFIX)}
        return ExpectedCoverage(number, held.reshape(-1, len(AGES)), coverage, spread, **values), others

    def advance(self, windows: Windows, before: Ints, t_max: Ints, counts: TickRows) -> CoverageCurves:
        """Add the tuples of n ticks, given t_max before and after each; return the curves in force at each tick."""
        if not len(t_max):
            return NO_CURVES
        if self.since == BEFORE_ALL:
            self.since = int(t_max[0])
        curves = [(0, self.coverage, self.spread)]
        first = 0
        while first < len(t_max):
            ended = windows.number(t_max) // (self._every(windows) * _MEASURE_EVERY)
            due = first + int(np.searchsorted(ended[first:], self.measured, side="right"))
            until = min(due + 1, len(t_max))
            part = counts.between(first, until)
            self._add(windows, before[first:until][part.at], t_max[first:until][part.at], part)
            if due < len(t_max):
                self._measure(windows, int(t_max[due]))
                self.measured = int(windows.number(t_max[due]) // (self._every(windows) * _MEASURE_EVERY))
                curves.append((due, self.coverage, self.spread))
            first = until
        return CoverageCurves.from_curves(curves)

    def _every(self, windows: Windows) -> int:
        """Return the distance of reference windows, in numbers of windows."""
        return -(-windows.size_ms // windows.slide_ms) * self.stride

    def _add(self, windows: Windows, before: Ints, after: Ints, rows: TickRows) -> None:
        """Add rows, given t_max before and after the tick of each.

        A window that closes between the two ages of a tick may or may not have held the tick's tuples. Between these
        ages they count in part, so that coverage does not jump when ticks are not aligned with windows.
        """
        every = self._every(windows)
        number = windows.number(windows.last_end(rows["pane"])) // every * every
        end = windows.end_of(number)
        start = windows.start(end)
        newest = windows.number(after) // every * every
        is_used = (number >= windows.number(windows.first_end(rows["pane"]))) & (start >= self.since)
        is_used &= (start <= after) & (number > newest - _MAX_WINDOWS * every)
        number, count = number[is_used], rows["count"][is_used]
        low = (before - end)[is_used]
        high = np.maximum((after - end)[is_used], low + 1)
        held = ArrivalCurves(self.number, self.held)
        for i in range(0, len(number), _ROWS_AT_ONCE):
            part = slice(i, i + _ROWS_AT_ONCE)
            held = held.add(number[part], low[part], high[part], count[part])
        self.number, self.held = held.number[-_MAX_WINDOWS:], held.held[-_MAX_WINDOWS:]

    def _measure(self, windows: Windows, t_max: int) -> None:
        """Measure the coverage of the complete windows by age, if there are enough."""
        curves = ArrivalCurves(self.number, self.held)
        ages = t_max - windows.end_of(self.number)
        complete = ages >= curves.completion_age
        if len(self.number) == _MAX_WINDOWS and complete.sum() < _MAX_WINDOWS // 3:
            self.stride *= 2
            stays = self.number % self._every(windows) == 0
            self.number, self.held = self.number[stays], self.held[stays]
        if complete.sum() >= _FEWEST:
            self.coverage, self.spread = ArrivalCurves(curves.number[complete], curves.held[complete]).expected(_NEWEST)
