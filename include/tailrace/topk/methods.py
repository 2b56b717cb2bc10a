"""The methods that answer a top-k query: a new one is a line in the registry.

All of them are told the same frontier and partials of the same tuples (of which fewer are left out for `sma`), and all
register the same late tuples. They differ in how they find the ranking, and in what a tuple does that comes when a
window of its own has closed:

- `adaptive` counts it in its windows that are still open. So do the list method of paper 001, whose answers `adaptive`
  gives, and `gstopk` (Zhu et al.: immediate answers over unordered streams, without waiting).
- `mintopk` (Yang et al.) takes the stream for ordered: the tuple is dropped.
- `sma` (Mouratidis et al.) takes the stream for ordered, by arrival: the tuple is taken for one that is just happening,
  and counts in the next windows.

The last two are what paper 001 tells of them (section 3.2): what is late is "dropped, or put off to the next window".
So they are wrong about windows, too, that had not closed. A correction over event time makes every answer exact; one
of an interval of arrival, as Γ and schedules start it, those of the windows that had closed.

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
from tailrace.panes.rows import Ints
from tailrace.topk.best import Best
from tailrace.topk.candidates import Candidates, Waiting
from tailrace.topk.columnar import Columnar
from tailrace.topk.listed import CandidateLists
from tailrace.topk.skyband import Skyband
from tailrace.windows.sliding import Sliding


class Method(Protocol):
    """How the rankings of a task's windows are found while its tuples come."""

    @property
    def moves(self) -> bool:
        """Whether late tuples count in other windows than their own."""

    def start(self) -> Any:
        """The state of a task that has seen nothing."""

    def restore(self, kept: dict[str, pa.RecordBatch]) -> Any:
        """The state that `to_arrow` gave."""

    def step(self, state: Any, partials: pa.Table, frontier: Frontier) -> tuple[Any, pa.RecordBatch, pa.RecordBatch]:
        """The new state; `key`, `time` (the window's end), `rank`, `id`, `score`, `tuples` of what closed; and what
        came late, as `panes.operator.registered` tells it."""


def _as_they_are(pane: Ints, now: Ints) -> Ints:
    return pane


def _dropped(pane: Ints, now: Ints) -> Ints:
    return np.full_like(pane, BEFORE_ALL)


def _just_now(pane: Ints, now: Ints) -> Ints:
    return now


LIST = partial(CandidateLists, ranking=Waiting, late=_as_they_are)
"""The method after paper 001: the reference that `adaptive` is held to.

What it has differently: list D holds all that belongs to later windows alone, and not to the next one only; what
expires goes by the numbers of the windows; the answers under other durations are not kept but measured from history.
"""

METHODS: dict[str, Callable[[Sliding, Best, pa.DataType], Method]] = {
    "adaptive": Columnar,
    "sma": partial(CandidateLists, ranking=Skyband, late=_just_now, moves=True),
    "mintopk": partial(CandidateLists, ranking=Candidates, late=_dropped),
    "gstopk": partial(CandidateLists, ranking=Candidates, late=_as_they_are),
}
