"""The slow, obvious answer to a join of two disordered streams by value and event time.

Written from the public contract alone ("Semantics that every kind keeps", Pairs) and sharing nothing with the engine:
loops, dicts and ints. A pair is a left and a right tuple of the same value whose event times lie at most `reach` apart.
Times are integer milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

LEFT, RIGHT = 0, 1


class Item(NamedTuple):
    event_time: int
    arrival_time: int
    id: str
    value: str


class Event(NamedTuple):
    """A record of silence in the log of both streams, after so many tuples of each have been read.

    `time`: both streams have passed this arrival time (a heartbeat). `idle`: a stream that is recorded as idle holds
    back neither ticks nor t_max, until its next tuple is read. `quiet`: nothing came for so long that F moves past
    everything.
    """

    read: tuple[int, int]
    time: int | None = None
    idle: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Join:
    """One query. `changes`: (n, K), a fact that holds from the first tick with tuples whose number is >= n."""

    reach: int
    tick: int
    k: int = 0
    changes: tuple[tuple[int, int], ...] = ()


class Pair(NamedTuple):
    as_of: int
    k_ms: int
    facts_version: int


class Placed(NamedTuple):
    """A tuple with its tick: the number and the end, after the largest tick of its stream so far."""

    side: int
    position: int
    item: Item
    tick: int
    end: int


def placed(side: int, items: Sequence[Item], tick: int) -> list[Placed]:
    found, largest = [], -1
    for position, item in enumerate(items):
        largest = max(largest, item.arrival_time)
        number, end = (position, largest + 1) if tick == 0 else (largest // tick, (largest // tick + 1) * tick)
        found.append(Placed(side, position, item, number, end))
    return found


def in_order(left: Sequence[Item], right: Sequence[Item], tick: int) -> list[list[Placed]]:
    """All tuples by ticks: with tick 0 each is one of its own, by arrival, then side, then position."""
    every = placed(LEFT, left, tick) + placed(RIGHT, right, tick)
    if tick == 0:
        every.sort(key=lambda one: (one.end, one.side, one.position))
        return [[one._replace(tick=number)] for number, one in enumerate(every)]
    by_tick: dict[int, list[Placed]] = {}
    for one in every:
        by_tick.setdefault(one.tick, []).append(one)
    return [by_tick[number] for number in sorted(by_tick)]


@dataclass
class Outcome:
    """What the stream answers, and what it registers as late: each late tuple with the frontier that it found."""

    pairs: dict[tuple[str, str], Pair]
    late: list[tuple[Placed, int]]
    t_max: int | None
    frontier: int | None


def joined(left: Sequence[Item], right: Sequence[Item], join: Join, both: bool = True) -> Outcome:
    """The stream's answers to a bounded run: every tick complete. F moves once both streams have brought a tuple."""
    outcome = Outcome({}, [], None, None)
    newest: list[int | None] = [None, None]
    kept: list[list[Item]] = [[], []]
    for tick in in_order(left, right, join.tick):
        number, end = tick[0].tick, tick[0].end
        version, k = 1, join.k
        for index, (since, changed) in enumerate(join.changes, 2):
            if number >= since:
                version, k = index, changed
        before = outcome.frontier
        for one in tick:
            if before is not None and one.item.event_time < before:
                outcome.late.append((one, before))
            others = kept[1 - one.side]
            for other in others:
                a, b = (one.item, other) if one.side == LEFT else (other, one.item)
                if a.value == b.value and abs(a.event_time - b.event_time) <= join.reach:
                    outcome.pairs.setdefault((a.id, b.id), Pair(end, k, version))
            kept[one.side].append(one.item)
            newest[one.side] = max(one.item.event_time, newest[one.side] or one.item.event_time)
        if newest[LEFT] is not None and newest[RIGHT] is not None:
            outcome.t_max = min(newest[LEFT], newest[RIGHT])
            frontier = outcome.t_max - k
            outcome.frontier = frontier if before is None else max(before, frontier)
            kept = [[item for item in side if item.event_time >= outcome.frontier - join.reach] for side in kept]
    return outcome


def first_arrivals(items: Iterable[Placed]) -> list[Item]:
    """Of tuples with the same id the first to arrive."""
    seen: dict[str, Item] = {}
    for one in sorted(items, key=lambda one: (one.tick, one.item.arrival_time, one.position)):
        seen.setdefault(one.item.id, one.item)
    return list(seen.values())


def batch(left: Sequence[Item], right: Sequence[Item], join: Join, before: int | None = None) -> set[tuple[str, str]]:
    """All pairs of what arrived before a point of arrival time, repeats left out."""
    sides = []
    for side, items in enumerate((left, right)):
        there = [one for one in placed(side, items, join.tick) if before is None or one.end <= before]
        sides.append(first_arrivals(there))
    return {
        (a.id, b.id)
        for a in sides[LEFT]
        for b in sides[RIGHT]
        if a.value == b.value and abs(a.event_time - b.event_time) <= join.reach
    }
