"""The registry of the methods that answer a top-k query; to add a method, add a line.

All methods are given the same frontier (the watermark) and partials of the same tuples (of which fewer are left out for
`sma`), and all register the same late tuples. They differ in how they compute the ranking, and in how they treat a
tuple that comes after one of its windows has closed:

- `adaptive` counts it in its windows that are still open.
- `list` does so too: paper 001's own method, a modified MinTopk with the lists C and D. Its answers are those of
  `adaptive`. It deviates from the paper in three points: list D holds all tuples that belong only to later windows, not
  just to the next one; tuples expire by the numbers of their windows; the answers under other durations are not stored,
  but measured from history.
- `gstopk` does so too (Zhu et al.: immediate answers over unordered streams, without waiting).
- `mintopk` (Yang et al.) assumes an ordered stream: it drops the tuple.
- `sma` (Mouratidis et al.) assumes a stream ordered by arrival: it treats the tuple as one that is just happening, and
  counts it in the next windows.

The last two follow paper 001's account of them (section 3.2): late tuples are "dropped, or put off to the next window".
So they are also wrong about windows that had not closed. The account fits two more readings of MinTopk: put off, it
would answer as `sma` does; dropped from closed windows only, as `gstopk` does. A correction over event time makes every
answer exact. A correction of an interval of arrival, as started by Γ and schedules, only does so for windows that had
closed.

References
----------
.. [1] Zhu, Wang, Yang, et al. Continuous top-k query over high speed unorder streaming data. Chinese Journal of
   Computers 41(8), 2018 (paper 001, reference 6).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tailrace.disorder.clock import Frontier
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.topk.best import Best
from tailrace.topk.candidate_lists import CandidateLists
from tailrace.topk.candidates import CandidateList, Waiting
from tailrace.topk.columnar import Columnar
from tailrace.topk.skyband import Skyband
from tailrace.windows.panes import Ints
from tailrace.windows.windows import Windows


class RankingMethod(Protocol):
    """The implementation of a method: it maintains the rankings of a task's windows as tuples arrive."""

    @property
    def moves(self) -> bool:
        """Whether late tuples may count in other windows than their own."""

    def start(self) -> Any:
        """Return the initial state of a task."""

    def restore(self, batches: dict[str, pa.RecordBatch]) -> Any:
        """Restore a state from the batches that its `to_arrow` returned."""

    def step(self, state: Any, partials: pa.Table, frontier: Frontier) -> tuple[Any, pa.RecordBatch, pa.RecordBatch]:
        """Advance a state to the frontier.

        Returns the new state; `key`, `time` (the window's end), `rank`, `id`, `score`, `tuples` of the windows that
        closed; and the late tuples, as `operators.window.late_partials` returns them.
        """


def _own_pane(pane: Ints, now: Ints) -> Ints:
    return pane


def _no_pane(pane: Ints, now: Ints) -> Ints:
    return np.full_like(pane, BEFORE_ALL)


def _current_pane(pane: Ints, now: Ints) -> Ints:
    return now


METHODS: dict[str, Callable[[Windows, Best, pa.DataType], RankingMethod]] = {
    "adaptive": Columnar,
    "list": partial(CandidateLists, ranking=Waiting, late=_own_pane),
    "sma": partial(CandidateLists, ranking=Skyband, late=_current_pane, moves=True),
    "mintopk": partial(CandidateLists, ranking=CandidateList, late=_no_pane),
    "gstopk": partial(CandidateLists, ranking=CandidateList, late=_own_pane),
}
