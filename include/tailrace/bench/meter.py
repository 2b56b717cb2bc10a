"""What a pass costs: CPU seconds and peak memory of the driver, the JVM and the Python workers."""

from __future__ import annotations

import threading
import time
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
    """Measures this process and all it has started, while it is entered."""

    def __enter__(self) -> Meter:
        self._peak, self._stop = [0, 0, 0], threading.Event()
        self._cpu, self._start = _cpu_seconds(), time.perf_counter()
        self._watch = threading.Thread(target=self._sample, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        seconds, cpu = time.perf_counter() - self._start, _cpu_seconds() - self._cpu
        self._stop.set()
        self._watch.join()
        self.cost = Cost(seconds, cpu, *self._peak)

    def _sample(self) -> None:
        while not self._stop.wait(_EVERY_S):
            now, me = [0, 0, 0], psutil.Process()
            for process in [me, *me.children(recursive=True)]:
                try:
                    kind = 0 if process == me else 1 if process.name() == "java" else 2
                    now[kind] += process.memory_info().rss // _MIB
                except psutil.NoSuchProcess:
                    continue
            self._peak = [max(pair) for pair in zip(self._peak, now, strict=True)]


def _cpu_seconds() -> float:
    """Of the whole tree, children that have ended included."""
    total, me = 0.0, psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total
