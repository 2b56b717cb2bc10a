"""Meter of a pass: CPU seconds and peak memory of the driver, the JVM and the Python workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import psutil

_EVERY_S = 0.1
_MIB = 1 << 20


@dataclass(frozen=True)
class Cost:
    """Cost of a period of time: wall and CPU seconds, and the largest resident memory in MiB."""

    seconds: float
    cpu_s: float
    driver_mib: int
    jvm_mib: int
    workers_mib: int


class Meter:
    """Context manager that measures this process and all its descendants.

    Parameters
    ----------
    of : int, optional
        Process id to measure in place of this one, with its descendants.
    without : iterable of int
        Process ids of descendants that are left out, with their own descendants.
    """

    def __init__(self, of: int | None = None, without: Iterable[int] = ()) -> None:
        self._root = psutil.Process(of)
        self._without = [psutil.Process(pid) for pid in without]

    def __enter__(self) -> Meter:
        self._peak, self._stop = [0, 0, 0], threading.Event()
        self._before = {process: cpu_s for process, cpu_s, _ in self._read_processes()}
        self._cpu, self._start = dict(self._before), time.perf_counter()
        self._thread = threading.Thread(target=self._sample_until_stop, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        seconds = time.perf_counter() - self._start
        self._stop.set()
        self._thread.join()
        self._sample()
        cpu_s = sum(total_s - self._before.get(process, 0.0) for process, total_s in self._cpu.items())
        self.cost = Cost(seconds, cpu_s, *self._peak)

    def _sample_until_stop(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._sample()

    def _sample(self) -> None:
        """Record the CPU seconds of each process, and the peak memory.

        For a process that ends, only its use after the last sample is lost.
        """
        memory_mib = [0, 0, 0]
        for process, cpu_s, (kind, rss) in self._read_processes():
            self._cpu[process] = cpu_s
            memory_mib[kind] += rss // _MIB
        self._peak = [max(pair) for pair in zip(self._peak, memory_mib, strict=True)]

    def _read_processes(self) -> Iterator[tuple[psutil.Process, float, tuple[int, int]]]:
        """Yield each process, its own CPU seconds, and its kind (0 driver, 1 JVM, 2 worker) and memory in bytes."""
        excluded_processes = {process for root in self._without for process in _tree(root)}
        for process in _tree(self._root):
            if process in excluded_processes:
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
