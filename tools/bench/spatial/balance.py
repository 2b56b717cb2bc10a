"""The balance of a run's tasks: how many tasks tuples go to, and the largest task's shares of rows and pairs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from bench.progress import Row
from tailrace.ground.arrow.columns import Ints

SHARES = ("copies/tuple", "share of rows, largest task", "share of pairs, largest task")
"""The figures about several tasks."""


@dataclass(frozen=True)
class Balance:
    """Rows and pairs of the tasks, batch by batch.

    Attributes
    ----------
    batches : list of ndarray, shape (2, k)
        The rows of each task, and the pairs that it answered.
    """

    batches: list[Ints] = field(default_factory=list)

    def add(self, metrics: pa.Table) -> None:
        """Add a batch, by its rows of the table `metrics`."""
        in_order = metrics.sort_by("task")
        self.batches.append(np.array([in_order[name].to_numpy() for name in ("partials", "answers")]))

    @property
    def pairs(self) -> int:
        """The pairs of all batches."""
        return int(sum(batch[1].sum() for batch in self.batches))

    def figures(self, tuples: int) -> Row:
        """Return the figures for `tuples` tuples; shares are computed over the second half of the batches.

        By then plans follow the load; before the first plan, one task has all cells near each other.
        """
        rows = sum(batch[0].sum() for batch in self.batches)
        later = np.sum(self.batches[len(self.batches) // 2 :], axis=0)
        shares = later.max(axis=1) / np.maximum(later.sum(axis=1), 1)
        of_tasks = [float(rows / tuples), *shares.tolist()]
        return {"pairs": self.pairs} | dict(zip(SHARES, of_tasks, strict=True))
