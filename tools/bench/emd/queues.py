"""The queues of the tasks in a simulation: waiting and finished work."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tailrace.ground.arrow.columns import Floats
from tailrace.partition.feedback_balancing import estimated_load


class Work(NamedTuple):
    """The work that a batch brings to a task: its tuples of R, their processing time, and by span what is balanced."""

    tuples: float
    work_ms: float
    span: Floats
    load: Floats

    def part(self, share: float) -> Work:
        """Return a share of it."""
        return Work(self.tuples * share, self.work_ms * share, self.span, self.load * share)


@dataclass
class TaskQueue:
    """The first-in-first-out queue of a task; `done` is the work processed in a feedback period."""

    waiting: deque[Work] = field(default_factory=deque)
    done: list[Work] = field(default_factory=list)

    @property
    def behind_ms(self) -> float:
        """The processing time of the waiting work."""
        return sum(work.work_ms for work in self.waiting)

    def run(self, ms: float) -> None:
        """Let the task work for so long."""
        while self.waiting:
            work = self.waiting.popleft()
            share = 1.0 if work.work_ms <= ms else ms / work.work_ms
            self.done.append(work.part(share))
            ms -= share * work.work_ms
            if share < 1:
                self.waiting.appendleft(work.part(1 - share))
                return


class PeriodLoad(NamedTuple):
    """The load of a feedback period: the processed load of each span (V_true), and V_est, shape (tasks,)."""

    span: Floats
    load: Floats
    estimated: Floats


class Queues:
    """The queues of all tasks. A task works on a batch as long as the batch lasts; the rest waits."""

    def __init__(self, tasks: int, batch_ms: int) -> None:
        self.queues = [TaskQueue() for _ in range(tasks)]
        self._batch_ms = batch_ms

    def add(self, batch: Sequence[Work]) -> Floats:
        """Add a batch, and let the tasks work for its length; return the time until each task finishes it, in ms."""
        for queue, work in zip(self.queues, batch, strict=True):
            queue.waiting.append(work)
        end_ms = np.array([queue.behind_ms for queue in self.queues])
        for queue in self.queues:
            queue.run(self._batch_ms)
        return end_ms

    def take_load(self) -> PeriodLoad:
        """Return the load of the feedback period that is over, and begin the next one."""
        done = [work for queue in self.queues for work in queue.done]
        processed = np.array([sum(work.tuples for work in queue.done) for queue in self.queues])
        load = np.array([sum(work.load.sum() for work in queue.done) for queue in self.queues])
        waiting = np.array([sum(work.tuples for work in queue.waiting) for queue in self.queues])
        estimated = estimated_load(processed + waiting, processed, load)
        for queue in self.queues:
            queue.done = []
        span = np.concatenate([np.zeros(0), *(work.span for work in done)])
        return PeriodLoad(span, np.concatenate([np.zeros(0), *(work.load for work in done)]), estimated)
