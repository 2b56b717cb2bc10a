"""Method `adaptive` in columns: the k best tuples of each pane, merged when a window closes.

It is exact under disorder.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tailrace.disorder.clock import Frontier
from tailrace.operators import window
from tailrace.operators.window import PaneState
from tailrace.topk.best import Best
from tailrace.windows.windows import Windows


@dataclass(frozen=True)
class Columnar:
    """Method `adaptive`: the candidates of a window are at most k of each of its panes.

    A pane is as long as the greatest common divisor of size and slide. If that is much shorter than the slide, there
    are many panes and more candidates.
    """

    windows: Windows
    best: Best
    key_type: pa.DataType

    moves = False

    def start(self) -> PaneState:
        return PaneState.empty(self.key_type, self.best.types)

    def restore(self, batches: dict[str, pa.RecordBatch]) -> PaneState:
        return PaneState.from_arrow(batches, self.best.types)

    def step(
        self, state: PaneState, partials: pa.Table, frontier: Frontier
    ) -> tuple[PaneState, pa.RecordBatch, pa.RecordBatch]:
        return window.step(self.windows, self.best, state, partials, frontier)
