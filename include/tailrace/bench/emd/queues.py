"""The queues of the tasks in a simulation: what waits in them, and the load that is estimated of it (eq. 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.ground.columns import Floats
from tailrace.partition.feedback_balancing import estimated_load


@dataclass(frozen=True)
class Costs:
    """What work takes a task, in ms: an exact distance, and the filters of one tuple of R (eq. 6)."""

    exact_ms: float
    filter_ms: float


@dataclass
class Queues:
    """The queues of the tasks over a feedback period; each attribute has the shape (tasks,).

    Attributes
    ----------
    behind_ms : ndarray
        The work that waits in each queue.
    tuples, load, work_ms : ndarray
        The tuples of R that came in the period, their exact distances, and the work that they take.
    """

    behind_ms: Floats
    tuples: Floats
    load: Floats
    work_ms: Floats

    @staticmethod
    def empty(tasks: int) -> Queues:
        return Queues(*np.zeros((4, tasks)))

    def add(self, tuples: Floats, load: Floats, work_ms: Floats, batch_ms: int) -> Floats:
        """Add a batch; returns the time from its end to each task's end with it, in ms."""
        self.tuples, self.load, self.work_ms = self.tuples + tuples, self.load + load, self.work_ms + work_ms
        done_ms = self.behind_ms + work_ms
        self.behind_ms = np.maximum(done_ms - batch_ms, 0.0)
        return done_ms

    def take_estimate(self) -> Floats:
        """V_est of each task at the end of a period, and the begin of the next one."""
        share = np.divide(self.behind_ms, self.work_ms, out=np.zeros(len(self.tuples)), where=self.work_ms > 0)
        waiting = self.tuples * np.minimum(share, 1.0)
        processed = self.tuples - waiting
        estimate = estimated_load(self.tuples, processed, self.load * processed / np.maximum(self.tuples, 1.0))
        self.tuples, self.load, self.work_ms = np.zeros((3, len(self.tuples)))
        return estimate
