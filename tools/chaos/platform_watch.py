"""A thread that looks at a stream from outside all the time: at its drivers, its commits and its problems."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise

import psutil
from live_driver import LiveDriver

from tailrace.drivers import fence
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

_PAUSE_S = 0.5


class PlatformWatch(threading.Thread):
    """Counts the living drivers of a query, and notes when it committed.

    Attributes
    ----------
    most_drivers : int
        The largest number of drivers that lived at one time.
    pids : list of int
        The drivers, in order of their starts.
    problems : list of (float, str)
        The problems in its status, each with the time at which it was first seen.
    """

    def __init__(self, driver: LiveDriver) -> None:
        super().__init__(daemon=True)
        self.driver, self.most_drivers = driver, 0
        self.pids: list[int] = []
        self.problems: list[tuple[float, str]] = []
        self._commits = [(time.monotonic(), driver.commits)]
        self._ended = threading.Event()
        self._look()

    def run(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            self._look()

    def stop(self) -> None:
        self._ended.set()
        self.join()

    def _look(self) -> None:
        drivers = drivers_among(fence.marked(self.driver.home))
        self.most_drivers = max(self.most_drivers, len(drivers))
        self.pids += [pid for pid in drivers if pid not in self.pids]
        if (commits := self.driver.commits) != self._commits[-1][1]:
            self._commits.append((time.monotonic(), commits))
        status = Status.read(Layout(self.driver.home))
        problem = None if status is None else status.problem
        if problem is not None and problem not in [text for _, text in self.problems[-1:]]:
            self.problems.append((time.monotonic(), problem))

    def commits_between(self, start_s: float, end_s: float) -> int:
        """The number of commits that were seen in an interval."""
        counts = [count for at_s, count in self._commits if at_s <= end_s]
        before = [count for at_s, count in self._commits if at_s <= start_s]
        return counts[-1] - before[-1]

    def longest_pause_s(self, start_s: float, end_s: float) -> float:
        """The longest time without a commit in an interval."""
        times = [start_s, *(at_s for at_s, _ in self._commits if start_s < at_s < end_s), end_s]
        return max(later - earlier for earlier, later in pairwise(times))


def drivers_among(processes: Iterable[psutil.Process]) -> list[int]:
    """The pids of the drivers that live, by their command lines.

    A process that a driver has just forked has its command line too, until it executes its own: it is no driver.
    """
    found = dict[int, int]()
    for process in processes:
        with suppress(psutil.Error):
            if "org.apache.spark.deploy.SparkSubmit" in process.cmdline() and not fence.dead(process):
                found[process.pid] = process.ppid()
    return [pid for pid, parent in found.items() if parent not in found]
