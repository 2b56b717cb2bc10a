"""The result of a simulated run: work, latency and counts of each batch and task, and derived figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.partition.feedback_balancing import load_imbalance


@dataclass(frozen=True)
class SimulatedRun:
    """A simulated run of b batches over k tasks.

    Attributes
    ----------
    batch_ms : int
        The length of a batch.
    exact, tuples, work_ms, solve_ms : ndarray, shape (b, k)
        The exact distances of each task, its tuples of R, the work for both, and the part of it for exact distances.
    latency_ms : ndarray, shape (b, k)
        The time from the end of a batch until the task finishes it.
    counts : sequence of Counter, of length b
        The pairs that each filter rejected or accepted.
    pairs : ndarray, shape (b,)
        The number of answers.
    plans : ndarray, shape (b,)
        The version of the partition plan in force; 0 before the first.
    directions : sequence of pair of Counter, of length b
        The counts of the searches in which tuples of R are the queries, and of those in which tuples of S are.
    """

    batch_ms: int
    exact: Floats
    tuples: Floats
    work_ms: Floats
    solve_ms: Floats
    latency_ms: Floats
    counts: Sequence[Counter[str]]
    pairs: Ints
    plans: Ints
    directions: Sequence[tuple[Counter[str], Counter[str]]]

    def since(self, first: int) -> SimulatedRun:
        """Return the run from a batch on."""
        parts = {name: part[first:] for name, part in vars(self).items() if name != "batch_ms"}
        return SimulatedRun(self.batch_ms, **parts)

    @property
    def total_counts(self) -> Counter[str]:
        """The counts of all batches."""
        return sum(self.counts, Counter[str]())

    @property
    def counts_by_direction(self) -> tuple[Counter[str], Counter[str]]:
        """The counts of all searches of S by tuples of R, and of all searches of R by tuples of S."""
        by_left, by_right = (sum((pair[side] for pair in self.directions), Counter[str]()) for side in (0, 1))
        return by_left, by_right

    @property
    def solving(self) -> float:
        """The share of the work that exact distances take."""
        return float(self.solve_ms.sum() / self.work_ms.sum())

    @property
    def imbalance(self) -> float:
        """(max − mean) / mean of the tasks' exact distances over the run (section 6.2)."""
        return load_imbalance(self.exact.sum(axis=0))

    def imbalances(self, batches: int) -> list[float]:
        """Return the imbalance of each stretch of `batches` batches; a remainder is left out."""
        ends = range(batches, len(self.exact) + 1, batches)
        return [load_imbalance(self.exact[end - batches : end].sum(axis=0)) for end in ends]

    @property
    def throughput(self) -> float:
        """The tuples of R a second that the busiest task can process."""
        return float(self.tuples.sum() / self.work_ms.sum(axis=0).max() * 1000)

    @property
    def mean_latency_ms(self) -> float:
        """The mean time from the arrival of a tuple of R until the task finishes it.

        Tuples arrive evenly, so on average half a batch passes to the end of their batch.
        """
        return self.batch_ms / 2 + self.task_latency_ms

    @property
    def task_latency_ms(self) -> float:
        """The mean time from a tuple of R's arrival at its task until the task finishes it (as in figure 10)."""
        return float((self.latency_ms * self.tuples).sum() / max(self.tuples.sum(), 1))
