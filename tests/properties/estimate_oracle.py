"""Early answers scaled by the expected coverage, tuple by tuple in plain Python, from the raw log of arrivals."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import mean

AGES = [*range(0, 21, 2), *(math.ceil(20 * 1.1**power) for power in range(1, 169))]


@dataclass
class Row:
    """A tuple of the log: event and arrival time in ms, key and value."""

    event: int
    arrival: int
    key: str
    value: float


@dataclass
class Answer:
    """An early answer: the raw value, and the estimate where there is one."""

    raw: float
    value: float
    low: float | None
    high: float | None


def quantile(numbers: list[float], q: float) -> float:
    """The q-quantile, by linear interpolation."""
    ordered, place = sorted(numbers), (len(numbers) - 1) * q
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@dataclass
class Estimator:
    """The oracle over tumbling windows, with a constant slack K and ticks of 100 ms."""

    size: int
    k_ms: int
    counts: bool = False
    held: dict[int, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0] * len(AGES)))
    coverage: list[float] = field(default_factory=lambda: [1.0] * len(AGES))
    spread: list[float] = field(default_factory=lambda: [0.0] * len(AGES))

    def answers(self, log: list[Row]) -> dict[tuple[str, int], Answer]:
        """The answers of all windows that close before the end of the log."""
        ticks = defaultdict(list)
        for row in log:
            ticks[row.arrival // 100].append(row)
        t_max, measured, since, frontier = None, None, None, -math.inf
        arrived, answers = defaultdict(list), {}
        for tick in sorted(ticks):
            before = max(row.event for row in ticks[tick]) if t_max is None else t_max
            t_max = max([row.event for row in ticks[tick]] + ([] if t_max is None else [t_max]))
            since = t_max if since is None else since
            for row in ticks[tick]:
                end = row.event // self.size * self.size + self.size
                if end > frontier:
                    arrived[row.key, end].append(row.value)
                self._count(end, before - end, t_max - end, since, t_max)
            if measured is None or ended(t_max, self.size) // 4 > measured:
                self._measure(t_max)
                measured = ended(t_max, self.size) // 4
            frontier = max(frontier, t_max - self.k_ms)
            for key, end in [each for each in arrived if each[1] <= frontier]:
                answers[key, end] = self._answer(arrived.pop((key, end)), t_max - end)
        return answers

    def _count(self, end: int, low: int, high: int, since: int, t_max: int) -> None:
        if not (since <= end - self.size <= t_max) or end <= t_max // self.size * self.size - 96 * self.size:
            return
        high = max(high, low + 1)
        for place, age in enumerate(AGES):
            self.held[end][place] += round(min(max((age - low) / (high - low), 0.0), 1.0) * 65_536) / 65_536

    def _measure(self, t_max: int) -> None:
        ends = sorted(self.held)[-96:]
        older = [sum(self.held[end][place] for end in ends[: math.ceil(len(ends) / 2)]) for place in range(len(AGES))]
        age = next((age for age, many in zip(AGES, older, strict=True) if many >= 0.998 * older[-1]), 0)
        whole = [self.held[end] for end in ends if t_max - end >= age]
        if len(whole) < 8:
            return
        whole = whole[-64:]
        for place in range(len(AGES)):
            shares = [each[place] / each[-1] for each in whole]
            c = quantile(shares, 0.5)
            variance = ((quantile(shares, 0.8413) - quantile(shares, 0.1587)) / 2) ** 2
            sampling = c * (1 - c) * mean(1 / each[-1] for each in whole)
            self.coverage[place] = c
            self.spread[place] = math.sqrt(max(variance - sampling, 0) + math.pi / 2 * variance / len(whole))

    def _answer(self, values: list[float], age: int) -> Answer:
        values = [1.0] * len(values) if self.counts else values
        place = max(number for number, known in enumerate(AGES) if known <= age)
        part = (age - AGES[place]) / (AGES[place + 1] - AGES[place])
        c, spread = (each[place] * (1 - part) + each[place + 1] * part for each in (self.coverage, self.spread))
        raw = sum(values)
        scaled = raw / c
        error = math.sqrt((1 - c) * sum(value * value for value in values) + (raw * spread / c) ** 2) / c
        low, high = scaled - 1.96 * error, scaled + 1.96 * error
        return Answer(raw, raw, None, None) if low <= raw <= high else Answer(raw, scaled, low, high)


def ended(t_max: int, size: int) -> int:
    """The number of windows from the epoch on that have ended, less one: windows are numbered from 0."""
    return (t_max - size) // size
