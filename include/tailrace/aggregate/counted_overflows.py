"""The aggregates of windows whose answers have a further column: how many sums of the window overflowed."""

from __future__ import annotations

import pyarrow as pa

from tailrace.aggregate.amend import AmendedAggregates
from tailrace.kind.overflows import OVERFLOWED


class CountedOverflows(AmendedAggregates):
    """Several aggregates, and the number of them that exceed their type in a window."""

    def finish(self, windows: pa.RecordBatch) -> dict[str, pa.Array]:
        answers = super().finish(windows)
        return answers | {OVERFLOWED: pa.array(self.overflows(windows, answers))}
