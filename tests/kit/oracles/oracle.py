"""The slow, obvious answer to an aggregate query over one disordered source partition.

Written from the public contract alone ("Semantics that every kind keeps") and sharing nothing with the engine: loops,
dicts, ints and exactly rounded float sums. Times are integer milliseconds. To be read beside the contract, not fast.

How to use it, in a test that holds the engine against it::

    outcome = stream(tuples, settings)                       # what the stream answers, and what it registers as late
    truth = batch(tuples, settings, before=x)                # the batch answer over what arrived before x, no repeats
    missed(outcome, a, b)                                    # the windows that a correction for [a, b) has to recompute
    corrected(outcome, tuples, settings, a, b)               # ... and what they hold afterwards (None: nothing)
    latest(outcome, tuples, settings, [(a, b), ...])         # what a reader sees after these corrections, in any order

A live stream's log holds events of silence between its tuples (`Passed`). Who gives them to `stream` gives the same
ones to the others, as cut-offs go by the tuples' ticks::

    outcome = stream(tuples, settings, flush=False, passed=[Passed(3, 120), Passed(5, 900, quiet=True)])

Not here: quarantine, several source partitions, `deduplicate: true`, joins, top-k.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import NamedTuple, TypeVar
from zoneinfo import ZoneInfo

Policy = str | tuple[str, int]  # 'none' | ('k_slack', k) | 'mp_k_slack'
Window = tuple[str | None, int, int]  # key, start, end
V = TypeVar("V")


class Tuple(NamedTuple):
    event_time: int
    arrival_time: int
    id: object
    key: str | None
    value: float


class Passed(NamedTuple):
    """An event of silence, a recorded fact: after `position` tuples of the log, the source has passed arrival `time`.

    Each is a heartbeat: it stands in the tick of its time, and every smaller tick is complete. quiet: moreover nothing
    had come for `disorder.idle`. So the newest tick of tuples is complete too, whatever its number, the heartbeat
    stands after it, and the open windows close; while an event time lies beyond `time`, only those up to the last that
    holds t_max. Without a tuple since the last quiet it is a heartbeat and no more, but that these may close now.
    """

    position: int
    time: int
    quiet: bool = False


@dataclass(frozen=True)
class Settings:
    """One query. `changes`: (n, policy), a fact that holds from the first tick with tuples whose number is >= n."""

    size: int
    slide: int
    tick: int  # 0: each tuple is a tick of its own, numbered by its position
    function: str = "sum"  # sum | count | avg | min | max | median | quantile
    policy: Policy = "none"
    changes: tuple[tuple[int, Policy], ...] = ()  # in the order of their versions: the first of them is version 2
    q: float | None = None  # of function quantile
    skew: int | None = None  # for t_max an event time counts no further than so long after its arrival; None: as it is
    offset: int = 0  # by which the boundaries of windows and panes are moved
    days_of: str | None = None  # a time zone: the windows are its days, and size and slide say nothing

    def counted(self, item: Tuple) -> int:
        return item.event_time if self.skew is None else min(item.event_time, item.arrival_time + self.skew)

    @property
    def pane(self) -> int:
        return math.gcd(self.size, self.slide)

    def windows_of(self, event_time: int) -> list[tuple[int, int]]:
        """The windows that hold an event time, the earliest first."""
        if self.days_of is not None:
            return [day_of(event_time, self.days_of)]
        held = windows_of(event_time - self.offset, self.size, self.slide)
        return [(start + self.offset, stop + self.offset) for start, stop in held]


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


class LateTotal(NamedTuple):
    """The sum of the values of late tuples, or their number, by which a sum or a count is amended; else None."""

    total: float | None
    sum_abs: float


class Tick(NamedTuple):
    tick: int
    end: int
    t_max: int
    k_ms: int
    frontier: int
    facts_version: int


@dataclass
class Outcome:
    function: str
    answers: dict[Window, Answer] = field(default_factory=dict)
    late: dict[tuple[str | None, int, int], int] = field(default_factory=dict)  # (key, pane_start, tick) -> tuples
    late_tuples: list[Late] = field(default_factory=list)  # in order of position
    trace: list[Tick] = field(default_factory=list)  # the completed ticks
    pending: list[Tuple] = field(default_factory=list)  # of the newest tick, where it stays incomplete
    frontier: int | None = None  # F in the end; a flush or a quiet moves it to the last end of the open windows
    committed: int | None = None  # arrival time up to which all is taken in; None before anything came

    @property
    def as_of(self) -> int | None:
        """The end of the last completed tick with tuples. None before the first one."""
        return self.trace[-1].end if self.trace else None

    @property
    def late_totals(self) -> dict[tuple[str | None, int, int], LateTotal]:
        """Of the rows of `late`."""
        values: dict[tuple[str | None, int, int], list[float]] = {}
        for item in self.late_tuples:
            values.setdefault((item.tuple.key, item.pane_start, item.tick), []).append(item.tuple.value)
        of = {"sum": math.fsum, "count": len}.get(self.function, lambda those: None)
        return {row: LateTotal(of(those), math.fsum(abs(value) for value in those)) for row, those in values.items()}

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


def day_of(event_time: int, zone: str) -> tuple[int, int]:
    """The day of a time zone that holds an event time."""
    date = datetime.fromtimestamp(event_time // 1000, ZoneInfo(zone)).date() + timedelta(days=2)
    while midnight(date, zone) > event_time:
        date -= timedelta(days=1)
    return midnight(date, zone), midnight(date + timedelta(days=1), zone)


@cache
def midnight(day: date, zone: str) -> int:
    """The first quarter of an hour at which the clocks of a zone show a date, or a later one."""
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1)
    while moment.astimezone(ZoneInfo(zone)).date() < day:
        moment += timedelta(minutes=15)
    return int(moment.timestamp()) * 1000


def pane_of(event_time: int, settings: Settings) -> int:
    if settings.days_of is not None:
        return day_of(event_time, settings.days_of)[0]
    return (event_time - settings.offset) // settings.pane * settings.pane + settings.offset


def read_log(
    tuples: Sequence[Tuple], tick: int, passed: Sequence[Passed] = ()
) -> tuple[list[tuple[int, int]], tuple[int, int] | None]:
    """The (number, end) of each tuple's tick, and in the end those of the newest tick known, of a tuple or a silence.

    Every tick with a smaller number than the newest is complete. What arrives behind it, joins it.
    """
    silences: dict[int, list[Passed]] = {}
    for silence in passed:
        assert 0 <= silence.position <= len(tuples)
        silences.setdefault(silence.position, []).append(silence)

    found: list[tuple[int, int]] = []
    newest: tuple[int, int] | None = None
    largest: int | None = None  # arrival so far in the partition

    for position in range(len(tuples) + 1):
        for silence in silences.get(position, []):
            after_last = silence.quiet and len(found) > 0
            if tick == 0:
                number = position
                end = silence.time if largest is None else max(largest + 1, silence.time)
                if after_last:
                    end = max(end, found[-1][1] + 1)
            else:
                number = silence.time // tick
                if after_last:
                    number = max(number, found[-1][0] + 1)
                end = (number + 1) * tick
            newest = (number, end) if newest is None else (max(newest[0], number), max(newest[1], end))

        if position < len(tuples):
            arrival = tuples[position].arrival_time
            largest = arrival if largest is None else max(largest, arrival)
            if tick == 0:
                number, end = position, largest + 1
            else:
                number = largest // tick
                end = (number + 1) * tick
            newest = (number, end) if newest is None else (max(newest[0], number), max(newest[1], end))
            found.append(newest)
    return found, newest


def ticks_of(tuples: Sequence[Tuple], tick: int, passed: Sequence[Passed] = ()) -> list[tuple[int, int]]:
    """The (number, end) of each tuple's tick: by the largest arrival so far in the partition, or a later silence."""
    found, _ = read_log(tuples, tick, passed)
    return found


def quantile(values: Sequence[float], q: Fraction) -> float:
    """In order, the value at place q * (n - 1), counted from 0; between two places in proportion. Exactly rounded."""
    ordered = sorted(Fraction(value) for value in values)
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    if place == below:
        return float(ordered[below])
    return float(ordered[below] + (place - below) * (ordered[below + 1] - ordered[below]))


def aggregate(function: str, values: Sequence[float], q: float | None = None) -> Truth:
    total = math.fsum(values)
    sum_abs = math.fsum(abs(value) for value in values)
    if function == "sum":
        value = total
    elif function == "count":
        value = float(len(values))
    elif function == "avg":
        value = total / len(values)
    elif function == "min":
        value = min(values)
    elif function == "max":
        value = max(values)
    elif function == "median":
        value = float(statistics.median(Fraction(value) for value in values))
    elif function == "quantile":
        assert q is not None
        value = quantile(values, Fraction(q))
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


def _k_of(policy: Policy, largest_delay: int) -> int:
    if policy == "none":
        return 0
    if policy == "mp_k_slack":
        return largest_delay
    name, k_ms = policy  # type: ignore[misc]
    assert name == "k_slack"
    return k_ms


def stream(tuples: Sequence[Tuple], settings: Settings, flush: bool = True, passed: Sequence[Passed] = ()) -> Outcome:
    """What the stream answers. flush=True: a bounded run. flush=False: `--keep-open`, its newest tick incomplete."""
    outcome = Outcome(settings.function)
    numbers, newest = read_log(tuples, settings.tick, passed)
    if newest is not None:
        outcome.committed = newest[1] if flush else newest[1] - max(settings.tick, 1)

    by_tick: dict[int, list[int]] = {}  # tick number -> positions; numbers never fall, so these are in order
    for position, (number, _) in enumerate(numbers):
        by_tick.setdefault(number, []).append(position)
    if not flush and newest is not None:  # its own tuples, if it has any
        outcome.pending = [tuples[position] for position in by_tick.pop(newest[0], [])]

    held: dict[Window, list[float]] = {}  # the values of every window, as far as they came while it was open
    t_max: int | None = None
    largest_delay = 0
    frontier: int | None = None

    def close_up_to(reached: int, k_ms: int, as_of: int, facts_version: int) -> None:
        for window, values in held.items():
            if window not in outcome.answers and window[2] <= reached:
                value, count, sum_abs = aggregate(settings.function, values, settings.q)
                outcome.answers[window] = Answer(value, count, k_ms, as_of, facts_version, sum_abs)

    def close_all(before: int | None, taken_in: int, passed_time: float) -> int | None:
        """At a flush or a quiet, after the tick that was completed last and so many tuples. Gives F."""
        if before is None:  # no tuple came yet
            return None
        last = outcome.trace[-1]
        newest = max(item.event_time for item in tuples[:taken_in])
        _, last_end = settings.windows_of(newest if newest <= passed_time else last.t_max)[-1]
        close_up_to(last_end, last.k_ms, last.end, last.facts_version)
        return max(before, last_end)

    quiet = sorted((silence.position, float(silence.time)) for silence in passed if silence.quiet)
    for number, positions in by_tick.items():
        end = numbers[positions[0]][1]

        # 0. What was quiet before it. All that came before a quiet is complete, and of smaller ticks than what follows.
        while quiet and quiet[0][0] <= positions[0]:
            frontier = close_all(frontier, *quiet.pop(0))

        # 1. The tuples are taken in. What closed, closed at an earlier tick: by the frontier as it stands.
        for position in positions:
            item = tuples[position]
            missing = []
            for start, stop in settings.windows_of(item.event_time):
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
        counted = max(settings.counted(tuples[position]) for position in positions)
        t_max = counted if t_max is None else max(t_max, counted)
        largest_delay = max(largest_delay, *(t_max - tuples[position].event_time for position in positions))
        version, policy = _facts_at(settings, number)
        k_ms = _k_of(policy, largest_delay)

        # 3. The frontier, which never falls.
        frontier = t_max - k_ms if frontier is None else max(frontier, t_max - k_ms)
        outcome.trace.append(Tick(number, end, t_max, k_ms, frontier, version))

        # 4. Every window with end <= F closes.
        close_up_to(frontier, k_ms, end, version)

    for position, time in [*quiet, *([(len(tuples), math.inf)] if flush else [])]:
        frontier = close_all(frontier, position, time)
    outcome.frontier = frontier
    return outcome


def distinct(
    tuples: Sequence[Tuple], tick: int, before: int | None = None, passed: Sequence[Passed] = ()
) -> list[Tuple]:
    """Those that arrived before `before` (None: all), and of those with the same id the first in order of arrival."""
    return [tuples[position] for position, is_first in in_order(tuples, tick, before, passed) if is_first]


def in_order(
    tuples: Sequence[Tuple], tick: int, before: int | None, passed: Sequence[Passed] = ()
) -> list[tuple[int, bool]]:
    """The positions of what arrived before `before` (None: all) in order of arrival; whether no such id came before.

    Order of arrival: by tick, as tuples count as arrived at its end; within one by arrival time, then by position.
    """
    numbers = ticks_of(tuples, tick, passed)
    order = []
    for position, item in enumerate(tuples):
        number, end = numbers[position]
        if before is None or end <= before:
            order.append((number, item.arrival_time, position))
    order.sort()
    seen = set()
    found = []
    for _, _, position in order:
        found.append((position, tuples[position].id not in seen))
        seen.add(tuples[position].id)
    return found


def batch(
    tuples: Sequence[Tuple], settings: Settings, before: int | None = None, passed: Sequence[Passed] = ()
) -> dict[Window, Truth]:
    """Every window (closed or not) over every tuple that arrived before `before`, repeats removed."""
    held: dict[Window, list[float]] = {}
    for item in distinct(tuples, settings.tick, before, passed):
        for start, stop in settings.windows_of(item.event_time):
            held.setdefault((item.key, start, stop), []).append(item.value)
    return {window: aggregate(settings.function, values, settings.q) for window, values in held.items()}


def arrived_in(late: Late, a: int, b: int) -> bool:
    """Whether it arrived before b and not before a; it 'arrived before x' when the end of its tick is at most x."""
    return a < late.end <= b


def recomputed(
    outcome: Outcome, tuples: Sequence[Tuple], settings: Settings, a: int, b: int, passed: Sequence[Passed] = ()
) -> set[Window]:
    """The windows that a correction for [a, b) recomputes."""
    return missed(outcome, a, b) | repeated(outcome, tuples, settings, a, b, passed)


def missed(outcome: Outcome, a: int, b: int) -> set[Window]:
    """The windows that closed before a late tuple which arrived in [a, b)."""
    touched = set()
    for late in outcome.late_tuples:
        if arrived_in(late, a, b):
            for start, stop in late.windows:
                touched.add((late.tuple.key, start, stop))
    return touched


def repeated(
    outcome: Outcome, tuples: Sequence[Tuple], settings: Settings, a: int, b: int, passed: Sequence[Passed] = ()
) -> set[Window]:
    """The windows answered in [a, b) that hold a repeat of an id."""
    again = [tuples[i] for i, is_first in in_order(tuples, settings.tick, b, passed) if not is_first]
    holding = {(one.key, *w) for one in again for w in settings.windows_of(one.event_time)}
    return {window for window in holding & outcome.answers.keys() if a < outcome.answers[window].as_of <= b}


def corrected(
    outcome: Outcome, tuples: Sequence[Tuple], settings: Settings, a: int, b: int, passed: Sequence[Passed] = ()
) -> dict[Window, Corrected | None]:
    """Their next versions; None: nothing is left in the window (all repeats), so an earlier answer is retracted."""
    truth = batch(tuples, settings, b, passed)
    versions: dict[Window, Corrected | None] = {}
    for window in recomputed(outcome, tuples, settings, a, b, passed):
        if window in truth:
            value, count, sum_abs = truth[window]
            versions[window] = Corrected(value, count, b, sum_abs)
        else:
            versions[window] = None
    return versions


def latest(
    outcome: Outcome,
    tuples: Sequence[Tuple],
    settings: Settings,
    intervals: Iterable[tuple[int, int]],
    passed: Sequence[Passed] = (),
) -> dict[Window, Corrected]:
    """What a reader sees after these corrections."""
    answers = {
        window: Corrected(one.value, one.tuples, one.as_of, one.sum_abs) for window, one in outcome.answers.items()
    }
    versions = [(b, corrected(outcome, tuples, settings, a, b, passed)) for a, b in intervals]
    return newest(outcome, answers, versions)


def newest(
    outcome: Outcome, answers: Mapping[Window, V], corrections: Iterable[tuple[int, Mapping[Window, V | None]]]
) -> dict[Window, V]:
    """Per window the version with the greatest as_of, on a tie that of a correction.

    Corrections are given as (as_of, versions), where None retracts the answer.
    """
    best: dict[Window, tuple[int, V | None]] = {
        window: (outcome.answers[window].as_of, answer) for window, answer in answers.items()
    }
    for as_of, versions in corrections:
        for window, version in versions.items():
            if window not in best or best[window][0] <= as_of:  # two corrections of the same as_of hold the same
                best[window] = (as_of, version)
    return {window: version for window, (_, version) in best.items() if version is not None}


def close(value: float, expected: float, sum_abs: float) -> bool:
    """The contract's 'same': within 1e-9 times the sum of the absolute values."""
    return abs(value - expected) <= 1e-9 * sum_abs
