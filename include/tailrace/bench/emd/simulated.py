"""The result of a simulated run: work, latency and counts of each batch and task, and the figures made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.ground.columns import Floats, Ints
from tailrace.partition.feedback_balancing import load_imbalance


@dataclass(frozen=True)
class SimulatedRun:
    """A simulated run of b batches over k tasks.

    Attributes
    ----------
    batch_ms : int
        The length of a batch.
    exact, tuples, work_ms : ndarray, shape (b, k)
        The exact distances of each task, the tuples of R that came to it, and the work that both took.
    latency_ms : ndarray, shape (b, k)
        The time from the end of a batch to the task's end with it.
    counts : sequence of Counter, of length b
        The pairs that each filter rejected or accepted.
    pairs : ndarray, shape (b,)
        The answers.
    plans : ndarray, shape (b,)
        The version of the partition plan in force; 0 before the first.
    """

    batch_ms: int
    exact: Floats
    tuples: Floats
    work_ms: Floats
    latency_ms: Floats
    counts: Sequence[Counter[str]]
    pairs: Ints
    plans: Ints

    def since(self, first: int) -> SimulatedRun:
        """The run from a batch on."""
        exact, tuples, work_ms, latency_ms = (
            part[first:] for part in (self.exact, self.tuples, self.work_ms, self.latency_ms)
        )
        rest = self.counts[first:], self.pairs[first:], self.plans[first:]
        return SimulatedRun(self.batch_ms, exact, tuples, work_ms, latency_ms, *rest)

    @property
    def total_counts(self) -> Counter[str]:
        """The counts of all batches."""
        return sum(self.counts, Counter[str]())

    @property
    def imbalance(self) -> float:
        """(max − mean) / mean of the tasks' exact distances over the run (section 6.2)."""
        return load_imbalance(self.exact.sum(axis=0))

    def imbalances(self, batches: int) -> list[float]:
        """The imbalance of each stretch of so many batches; a rest is left out."""
        ends = range(batches, len(self.exact) + 1, batches)
        return [load_imbalance(self.exact[end - batches : end].sum(axis=0)) for end in ends]

    @property
    def throughput(self) -> float:
        """The tuples of R a second that the busiest task keeps up with."""
        return float(self.tuples.sum() / self.work_ms.sum(axis=0).max() * 1000)

    @property
    def mean_latency_ms(self) -> float:
        """The mean time from the arrival of a tuple of R to the task's end with it.

        Tuples arrive evenly, so it is half a batch to the end of their batch.
        """
        after = (self.latency_ms * self.tuples).sum() / max(self.tuples.sum(), 1)
        return float(self.batch_ms / 2 + after)
