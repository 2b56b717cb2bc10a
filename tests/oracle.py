"""The slow, obvious answer to an aggregate query over one disordered source partition.

Written from the public contract alone ("Semantics that every kind keeps") and sharing nothing with the engine: loops,
dicts, ints and exactly rounded float sums. Times are integer milliseconds. To be read beside the contract, not fast.

How to use it, in a test that holds the engine against it::

    outcome = stream(tuples, settings)                       # what the stream answers, and what it registers as late
    truth = batch(tuples, settings, before=x)                # the batch answer over what arrived before x, no repeats
    missed(outcome, a, b)                                    # the windows that a correction for [a, b) has to recompute
    corrected(outcome, tuples, settings, a, b)               # ... and what they hold afterwards (None: nothing)
    latest(outcome, tuples, settings, [(a, b), ...])         # what a reader sees after these corrections, in any order

Not here: quarantine, several source partitions, idleness and quiet queries, `deduplicate: true`, joins, top-k.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Policy = str | tuple[str, int]  # 'none' | ('k_slack', k) | 'mp_k_slack'
Window = tuple[str | None, int, int]  # key, start, end


class Tuple(NamedTuple):
    event_time: int
    arrival_time: int
    id: object
    key: str | None
    value: float


@dataclass(frozen=True)
class Settings:
    """One query. `changes`: (n, policy), a fact that holds from the first tick with tuples whose number is >= n."""

    size: int
    slide: int
    tick: int  # 0: each tuple is a tick of its own, numbered by its position
    function: str = "sum"  # sum | count | avg
    policy: Policy = "none"
    changes: tuple[tuple[int, Policy], ...] = ()  # in the order of their versions: the first of them is version 2

    @property
    def pane(self) -> int:
        return math.gcd(self.size, self.slide)


class Answer(NamedTuple):
    value: float
    tuples: int
    k_ms: int
    as_of: int
    facts_version: int
    sum_abs: float


class Truth(NamedTuple):
    value: float
    tuples: int
    sum_abs: float


class Corrected(NamedTuple):
    """A later version of an answer (the contract does not say which K or facts version it carries)."""

    value: float
    tuples: int
    as_of: int
    sum_abs: float


class Late(NamedTuple):
    tuple: Tuple
    position: int
    tick: int
    frontier: int  # F before its tick
    end: int  # the end of its tick, at which it counts as arrived
    pane_start: int
    windows: tuple[tuple[int, int], ...]  # those of its windows that had closed before it


class Tick(NamedTuple):
    tick: int
    end: int
    t_max: int
    k_ms: int
    frontier: int
    facts_version: int


@dataclass
class Outcome:
    answers: dict[Window, Answer] = field(default_factory=dict)
    late: dict[tuple[str | None, int, int], int] = field(default_factory=dict)  # (key, pane_start, tick) -> tuples
    late_tuples: list[Late] = field(default_factory=list)  # in order of position
    trace: list[Tick] = field(default_factory=list)  # the completed ticks
    pending: list[Tuple] = field(default_factory=list)  # of the newest tick, where it stays incomplete
    frontier: int | None = None  # F in the end; a flush moves it to the last of the ends of the open windows

    @property
    def as_of(self) -> int | None:
        """The end of the last completed tick: what the stream has committed up to. None before the first one."""
        return self.trace[-1].end if self.trace else None

    def closed(self, end: int) -> bool:
        """Whether a window with this end has closed by the end of the run."""
        return self.frontier is not None and end <= self.frontier


def windows_of(event_time: int, size: int, slide: int) -> list[tuple[int, int]]:
    """Every [j * slide, j * slide + size) with the event time in it, for whole j of any sign, the earliest first."""
    assert 0 < slide <= size
    found = []
    start = (event_time // slide) * slide  # the last start at or before the event time; // is the floor
    while event_time < start + size:
        found.append((start, start + size))
        start -= slide
    return found[::-1]


def pane_of(event_time: int, settings: Settings) -> int:
    return (event_time // settings.pane) * settings.pane


def ticks_of(tuples: Sequence[Tuple], tick: int) -> list[tuple[int, int]]:
    """The (number, end) of each tuple's tick: by the largest arrival so far in the partition."""
    found = []
    largest: int | None = None
    for position, item in enumerate(tuples):
        largest = item.arrival_time if largest is None else max(largest, item.arrival_time)
        if tick == 0:
            found.append((position, largest + 1))
        else:
            number = largest // tick
            found.append((number, (number + 1) * tick))
    return found


def aggregate(function: str, values: Sequence[float]) -> Truth:
    total = math.fsum(values)
    sum_abs = math.fsum(abs(value) for value in values)
    if function == "sum":
        value = total
    elif function == "count":
        value = float(len(values))
    elif function == "avg":
        value = total / len(values)
    else:
        raise ValueError(function)
    return Truth(value, len(values), sum_abs)


def _facts_at(settings: Settings, number: int) -> tuple[int, Policy]:
    """The version and the policy in force at a tick."""
    version, policy = 1, settings.policy
    for later, (first, changed) in enumerate(settings.changes, start=2):
        if first <= number:
            version, policy = later, changed
    return version, policy


def stream(tuples: Sequence[Tuple], settings: Settings, flush: bool = True) -> Outcome:
    """What the stream answers. flush=True: a bounded run. flush=False: `--keep-open`, its newest tick incomplete."""
    outcome = Outcome()
    numbers = ticks_of(tuples, settings.tick)

    by_tick: dict[int, list[int]] = {}  # tick number -> positions; numbers never fall, so these are in order
    for position, (number, _) in enumerate(numbers):
        by_tick.setdefault(number, []).append(position)
    if not flush and by_tick:
        newest = max(by_tick)
        outcome.pending = [tuples[position] for position in by_tick.pop(newest)]

    held: dict[Window, list[float]] = {}  # the values of every window, as far as they came while it was open
    t_max: int | None = None
    largest_delay = 0
    frontier: int | None = None

    for number, positions in by_tick.items():
        end = numbers[positions[0]][1]

        # 1. The tuples are taken in. What closed, closed at an earlier tick: by the frontier as it stands.
        for position in positions:
            item = tuples[position]
            missing = []
            for start, stop in windows_of(item.event_time, settings.size, settings.slide):
                if frontier is not None and stop <= frontier:
                    missing.append((start, stop))
                else:
                    held.setdefault((item.key, start, stop), []).append(item.value)
            if missing:
                assert frontier is not None
                pane = pane_of(item.event_time, settings)
                outcome.late_tuples.append(Late(item, position, number, frontier, end, pane, tuple(missing)))
                row = (item.key, pane, number)
                outcome.late[row] = outcome.late.get(row, 0) + 1

        # 2. t_max, then K (delays are measured against t_max as updated by this very tick).
        for position in positions:
            event_time = tuples[position].event_time
            t_max = event_time if t_max is None else max(t_max, event_time)
        assert t_max is not None
        for position in positions:
            largest_delay = max(largest_delay, t_max - tuples[position].event_time)
        version, policy = _facts_at(settings, number)
        if policy == "none":
            k_ms = 0
        elif policy == "mp_k_slack":
            k_ms = largest_delay
        else:
            name, k_ms = policy  # type: ignore[misc]
            assert name == "k_slack"

        # 3. The frontier, which never falls.
        frontier = t_max - k_ms if frontier is None else max(frontier, t_max - k_ms)
        outcome.trace.append(Tick(number, end, t_max, k_ms, frontier, version))

        # 4. Every window with end <= F closes.
        for window, values in held.items():
            if window not in outcome.answers and window[2] <= frontier:
                value, count, sum_abs = aggregate(settings.function, values)
                outcome.answers[window] = Answer(value, count, k_ms, end, version, sum_abs)

    outcome.frontier = frontier
    if flush and outcome.trace:
        last = outcome.trace[-1]
        for window, values in held.items():
            if window not in outcome.answers:
                value, count, sum_abs = aggregate(settings.function, values)
                outcome.answers[window] = Answer(value, count, last.k_ms, last.end, last.facts_version, sum_abs)
                assert outcome.frontier is not None
                outcome.frontier = max(outcome.frontier, window[2])
    return outcome


def distinct(tuples: Sequence[Tuple], tick: int, before: int | None = None) -> list[Tuple]:
    """Those that arrived before `before` (None: all), and of those with the same id the first in order of arrival.

    Order of arrival: by tick, as tuples count as arrived at its end; within one by arrival time, then by position.
    """
    numbers = ticks_of(tuples, tick)
    order = []
    for position, item in enumerate(tuples):
        number, end = numbers[position]
        if before is None or end <= before:
            order.append((number, item.arrival_time, position))
    order.sort()
    seen = set()
    kept = []
    for _, _, position in order:
        if tuples[position].id not in seen:
            seen.add(tuples[position].id)
            kept.append(tuples[position])
    return kept


def batch(tuples: Sequence[Tuple], settings: Settings, before: int | None = None) -> dict[Window, Truth]:
    """Every window (closed or not) over every tuple that arrived before `before`, repeats removed."""
    held: dict[Window, list[float]] = {}
    for item in distinct(tuples, settings.tick, before):
        for start, stop in windows_of(item.event_time, settings.size, settings.slide):
            held.setdefault((item.key, start, stop), []).append(item.value)
    return {window: aggregate(settings.function, values) for window, values in held.items()}


def arrived_in(late: Late, a: int, b: int) -> bool:
    """Whether it arrived before b and not before a; it 'arrived before x' when the end of its tick is at most x."""
    return a < late.end <= b


def missed(outcome: Outcome, a: int, b: int) -> set[Window]:
    """What a correction for [a, b) recomputes: the windows that closed before a late tuple which arrived in it."""
    touched = set()
    for late in outcome.late_tuples:
        if arrived_in(late, a, b):
            for start, stop in late.windows:
                touched.add((late.tuple.key, start, stop))
    return touched


def corrected(
    outcome: Outcome, tuples: Sequence[Tuple], settings: Settings, a: int, b: int
) -> dict[Window, Corrected | None]:
    """Their next versions; None: nothing is left in the window (all repeats), so an earlier answer is retracted."""
    truth = batch(tuples, settings, before=b)
    versions: dict[Window, Corrected | None] = {}
    for window in missed(outcome, a, b):
        if window in truth:
            value, count, sum_abs = truth[window]
            versions[window] = Corrected(value, count, b, sum_abs)
        else:
            versions[window] = None
    return versions


def latest(
    outcome: Outcome, tuples: Sequence[Tuple], settings: Settings, intervals: Iterable[tuple[int, int]]
) -> dict[Window, Corrected]:
    """What a reader sees after these corrections: per window the greatest as_of, on a tie the correction."""
    best: dict[Window, tuple[int, Corrected | None]] = {}
    for window, answer in outcome.answers.items():
        best[window] = (answer.as_of, Corrected(answer.value, answer.tuples, answer.as_of, answer.sum_abs))
    for a, b in intervals:
        for window, version in corrected(outcome, tuples, settings, a, b).items():
            if window not in best or best[window][0] <= b:  # two corrections with the same b hold the same
                best[window] = (b, version)
    return {window: version for window, (_, version) in best.items() if version is not None}


def close(value: float, expected: float, sum_abs: float) -> bool:
    """The contract's 'same': within 1e-9 times the sum of the absolute values."""
    return abs(value - expected) <= 1e-9 * sum_abs
