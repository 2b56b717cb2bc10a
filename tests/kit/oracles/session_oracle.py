"""Sessions the slow, obvious way: loops over single tuples, from the rules alone; no code shared with the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Came(NamedTuple):
    """A tuple of a key, with the tick in which it came, and a value."""

    key: str | None
    event: int
    tick: int
    value: float = 0.0


Session = tuple[str | None, int, int]
"""Key, start and end."""


def sessions_of(tuples: Iterable[Came], gap: int) -> dict[Session, list[Came]]:
    """Return the sessions of all tuples, each with its tuples."""
    found: dict[Session, list[Came]] = {}
    tuples = list(tuples)
    for key in {each.key for each in tuples}:
        mine = sorted((each for each in tuples if each.key == key), key=lambda each: each.event)
        runs: list[list[Came]] = []
        for each in mine:
            if runs and each.event - runs[-1][-1].event <= gap:
                runs[-1].append(each)
            else:
                runs.append([each])
        found |= {(key, run[0].event, run[-1].event + gap): run for run in runs}
    return found


class Streamed(NamedTuple):
    """What a stream answers, (session, its tuples, the tick that closed it), and the tuples that are late."""

    answers: list[tuple[Session, list[Came], int]]
    late: list[Came]


def stream(tuples: Sequence[Came], gap: int, frontiers: Sequence[tuple[int, int]], start: int) -> Streamed:
    """Answer tuples tick by tick; `frontiers` has each tick with F after it, `start` is F before the first."""
    before, held, gone = start, list[Came](), list[Came]()
    answers, late = list[tuple[Session, list[Came], int]](), list[Came]()
    for tick, after in frontiers:
        came = [each for each in tuples if each.tick == tick]
        opened = sessions_of(held, gap)
        for each in came:
            is_inside = any(key == each.key and low <= each.event <= high for key, low, high in opened)
            touches = any(one.key == each.key and abs(one.event - each.event) <= gap for one in gone)
            if not is_inside and (each.event + gap <= before or touches):
                late.append(each)
        for (_, _, end), content in sessions_of([*held, *came], gap).items():
            if end <= before:
                gone += content
                came = [each for each in came if each not in content]
        held += came
        for session, content in sessions_of(held, gap).items():
            if session[2] <= after:
                answers.append((session, content, tick))
                gone += content
                held = [each for each in held if each not in content]
        before = after
    return Streamed(answers, late)
