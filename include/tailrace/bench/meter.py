"""What a pass costs: CPU seconds and peak memory of the driver, the JVM and the Python workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

_EVERY_S = 0.1
_MIB = 1 << 20


@dataclass(frozen=True)
class Cost:
    """Of a stretch of time: wall and CPU seconds, and the largest resident memory in MiB."""

    seconds: float
    cpu_s: float
    driver_mib: int
    jvm_mib: int
    workers_mib: int


class Meter:
    """Measures this process and all it has started, while it is entered.

    Parameters
    ----------
    of : int, optional
        Another process, with all that it has started, in place of this one.
    without : int, optional
        One of those that this one has started, left out with all that it has started itself.
    """

    def __init__(self, of: int | None = None, without: int | None = None) -> None:
        self._root = psutil.Process(of)
        self._without = None if without is None else psutil.Process(without)

    def __enter__(self) -> Meter:
        self._peak, self._stop = [0, 0, 0], threading.Event()
        self._before = {process: cpu_s for process, cpu_s, _ in self._look()}
        self._cpu, self._start = dict(self._before), time.perf_counter()
        self._watch = threading.Thread(target=self._watch_it, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        seconds = time.perf_counter() - self._start
        self._stop.set()
        self._watch.join()
        self._sample()
        cpu_s = sum(used - self._before.get(process, 0.0) for process, used in self._cpu.items())
        self.cost = Cost(seconds, cpu_s, *self._peak)

    def _watch_it(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._sample()

    def _sample(self) -> None:
        """Keep what each process has used so far: one that ends takes along what came after the last look alone."""
        now = [0, 0, 0]
        for process, cpu_s, (kind, rss) in self._look():
            self._cpu[process] = cpu_s
            now[kind] += rss // _MIB
        self._peak = [max(pair) for pair in zip(self._peak, now, strict=True)]

    def _look(self) -> Iterator[tuple[psutil.Process, float, tuple[int, int]]]:
        """Each process, its own CPU seconds, and its memory by what it is: the driver, a JVM, or a worker."""
        left_out = [] if self._without is None else _tree(self._without)
        for process in _tree(self._root):
            if process in left_out:
                continue
            try:
                with process.oneshot():
                    kind = 0 if process == self._root else 1 if process.name() == "java" else 2
                    yield process, sum(process.cpu_times()[:2]), (kind, process.memory_info().rss)
            except psutil.Error:
                continue


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
