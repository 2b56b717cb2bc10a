"""The slow, obvious answer to a join of two disordered streams by values that are alike, and by event time.

Written from the public contract alone ("Semantics that every kind keeps", Pairs) and sharing nothing with the engine:
loops, dicts and ints. A pair is a left and a right tuple of like values (the same ones, if nothing else is
said) whose event times lie at most `reach` apart.
Times are integer milliseconds. The log of both streams is a list of `Read`, `Wake` and `Silence`, in the order in
which they were recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import NamedTuple

LEFT, RIGHT = 0, 1


class Item(NamedTuple):
    event_time: int
    arrival_time: int
    id: str
    value: str


class Read(NamedTuple):
    """A tuple was read."""

    side: int
    item: Item


class Wake(NamedTuple):
    """A batch begins that has tuples of these streams: they are waited for from now on."""

    sides: tuple[int, ...]


class Silence(NamedTuple):
    """A record of silence. `heartbeats`: (side, time), that stream has passed this arrival time.

    `idle`: no tick waits for these streams until they wake; what they bring then is put into none that did not wait.
    `quiet`: nothing came of any stream for so long that all that came is complete, and F moves past it; none is idle.
    """

    heartbeats: tuple[tuple[int, int], ...] = ()
    idle: tuple[int, ...] = ()
    quiet: bool = False


Log = Sequence[Read | Wake | Silence]


@dataclass(frozen=True)
class Join:
    """One query. `changes`: (n, K), a fact that holds from the first tick with tuples whose number is >= n.

    `idle`: a stream that has brought nothing for longer than this, in arrival time, holds t_max back no longer.
    `deduplicate`: repeats of an id in a stream are dropped, while a tuple with this id is, or would be, kept.
    `alike`: whether a left and a right value make a pair. `keeps`: whether `where` keeps a pair of tuples.
    `interval`: from where to where the right time minus the left one lies, both ends included; None: within reach.
    `windows`: size and slide; then a pair is answered in each window that holds both, see `in_windows`.
    """

    reach: int
    tick: int
    k: int = 0
    changes: tuple[tuple[int, int], ...] = ()
    idle: int = 60_000
    deduplicate: bool = False
    alike: Callable[[str, str], bool] = eq
    keeps: Callable[[Item, Item], bool] = lambda left, right: True
    interval: tuple[int, int] | None = None
    windows: tuple[int, int] | None = None

    def ends(self, time: int) -> list[int]:
        """The ends of all windows that hold a time."""
        size, slide = self.windows
        return [start + size for start in range(time // slide * slide, time - size, -slide)][::-1]

    def kept(self, side: int) -> int:
        """How far behind F a tuple is kept: as much later a partner can be, 0 at least."""
        lower, upper = self.interval or (-self.reach, self.reach)
        return max(upper, 0) if side == LEFT else max(-lower, 0)

    def fits(self, left: Item, right: Item) -> bool:
        return self.alike(left.value, right.value) and self.keeps(left, right)

    def near(self, left: Item, right: Item) -> bool:
        lower, upper = self.interval or (-self.reach, self.reach)
        return lower <= right.event_time - left.event_time <= upper


class Pair(NamedTuple):
    left_time: int
    right_time: int
    as_of: int
    k_ms: int
    facts_version: int


class Placed(NamedTuple):
    """A tuple with the end of its tick, after the largest tick of its stream so far."""

    end: int
    side: int
    position: int
    item: Item


class Move(NamedTuple):
    """F moved: the tuples that were taken in before, F before and after, the end of the tick, its K and its facts."""

    members: list[Placed]
    before: int | None
    after: int | None
    end: int
    k: int
    version: int


@dataclass
class Outcome:
    """What the stream answers, and what it registers as late: (side, id) with the frontier that it found.

    `answered` and `registered` are the same as rows: an id that is forgotten may bring a pair, or be late, again.
    """

    pairs: dict[tuple[str, str], Pair] = field(default_factory=dict)
    late: dict[tuple[int, str], int] = field(default_factory=dict)
    answered: list[tuple[str, str, Pair]] = field(default_factory=list)
    registered: list[tuple[int, str, int]] = field(default_factory=list)
    repeats: int = 0
    t_max: int | None = None
    frontier: int | None = None
    moves: list[Move] = field(default_factory=list)


def placed(log: Log, tick: int) -> tuple[list[Placed], list[int]]:
    """The tuples in the order in which the log has them, and the ends of the last tick before each quiet."""
    found: list[Placed] = []
    quiets: list[int] = []
    newest: list[int | None] = [None, None]  # the end of the newest tick that a stream has reached
    idle: set[int] = set()
    count = [0, 0]

    def at_least(side: int, end: int) -> None:
        newest[side] = max(end, newest[side] if newest[side] is not None else end)

    def put_idle_after_the_other() -> None:
        for side in (LEFT, RIGHT):
            other = 1 - side
            if side in idle and other not in idle and newest[other] is not None:
                # With tick 0 the left one would come before a right one of the same time, which was not kept waiting.
                at_least(side, newest[other] + (1 if tick == 0 and side == LEFT else 0))

    for entry in log:
        if isinstance(entry, Read):
            arrival = entry.item.arrival_time
            at_least(entry.side, arrival + 1 if tick == 0 else (arrival // tick + 1) * tick)
            found.append(Placed(newest[entry.side], entry.side, count[entry.side], entry.item))
            count[entry.side] += 1
        elif isinstance(entry, Wake):
            put_idle_after_the_other()
            idle -= {*entry.sides}
        else:
            put_idle_after_the_other()
            for side, time in entry.heartbeats:
                at_least(side, time if tick == 0 else (time // tick + 1) * tick)
            idle |= {*entry.idle}
            put_idle_after_the_other()
            idle = set() if entry.quiet else idle
            if entry.quiet and found:
                last = max(one.end for one in found)
                quiets.append(last)
                at_least(LEFT, last + max(tick, 1))
                at_least(RIGHT, last + max(tick, 1))
    return found, quiets


def in_ticks(tuples: Iterable[Placed], tick: int) -> list[tuple[int, int, list[Placed]]]:
    """(number, end, tuples) of each tick in order; with tick 0 of each tuple, by arrival, then side, then position."""
    in_order = sorted(tuples)
    if tick == 0:
        return [(number, one.end, [one]) for number, one in enumerate(in_order)]
    by_end: dict[int, list[Placed]] = {}
    for one in in_order:
        by_end.setdefault(one.end, []).append(one)
    return [(end // tick - 1, end, by_end[end]) for end in sorted(by_end)]


def joined(log: Log, join: Join) -> Outcome:
    """What the stream gives in a bounded run over the log, in whose end every tick is complete.

    Ids are unique in each stream, or repeats are dropped.
    """
    outcome = Outcome()
    tuples, quiets = placed(log, join.tick)
    largest: list[int | None] = [None, None]
    came: list[int | None] = [None, None]  # the end of the last tick with a tuple of the stream
    kept: list[list[Item]] = [[], []]
    remembered: list[dict[str, int]] = [{}, {}]
    for number, end, members in in_ticks(tuples, join.tick):
        while quiets and quiets[0] < end:
            quiets.pop(0)
            pass_everything(outcome, largest, join)
            purge(outcome, join, kept)
        before, version, k = outcome.frontier, 1, join.k
        for index, (since, changed) in enumerate(join.changes, 2):
            if number >= since:
                version, k = index, changed
        firsts = first_tuples(members, outcome.frontier, join, remembered) if join.deduplicate else members
        outcome.repeats += len(members) - len(firsts)
        for one in firsts:
            if outcome.frontier is not None and one.item.event_time < outcome.frontier:
                outcome.late[one.side, one.item.id] = outcome.frontier
                outcome.registered.append((one.side, one.item.id, outcome.frontier))
            for other in kept[1 - one.side]:
                a, b = (one.item, other) if one.side == LEFT else (other, one.item)
                if join.fits(a, b) and join.near(a, b):
                    outcome.pairs[a.id, b.id] = pair = Pair(a.event_time, b.event_time, end, k, version)
                    outcome.answered.append((a.id, b.id, pair))
            kept[one.side].append(one.item)
        for one in members:
            newest = largest[one.side]
            largest[one.side] = one.item.event_time if newest is None else max(one.item.event_time, newest)
        came = [first if first is not None else end for first in came]
        came = [end if any(one.side == side for one in members) else came[side] for side in (LEFT, RIGHT)]
        waited_for = [largest[side] for side in (LEFT, RIGHT) if end - came[side] <= join.idle]
        if None not in largest:
            t_max = min(waited_for)
            outcome.t_max = t_max if outcome.t_max is None else max(outcome.t_max, t_max)
            frontier = outcome.t_max - k
            outcome.frontier = frontier if outcome.frontier is None else max(outcome.frontier, frontier)
        outcome.moves.append(Move(firsts, before, outcome.frontier, end, k, version))
        purge(outcome, join, kept)
    pass_everything(outcome, largest, join)
    return outcome


def first_tuples(
    members: list[Placed], frontier: int | None, join: Join, remembered: list[dict[str, int]]
) -> list[Placed]:
    """The tuples of a tick that are no repeats, of an earlier one or in the tick itself.

    By id, `remembered` has the largest F at which a tuple is kept.
    """
    found, here = [], set()
    for one in sorted(members, key=lambda one: (one.side, one.item.arrival_time, one.position)):
        until = remembered[one.side].get(one.item.id)
        if (one.side, one.item.id) not in here and (until is None or (frontier is not None and until < frontier)):
            found.append(one)
        here.add((one.side, one.item.id))
        last = (
            one.item.event_time + join.kept(one.side)
            if join.windows is None
            else join.ends(one.item.event_time)[-1] - 1
        )
        remembered[one.side][one.item.id] = last if until is None else max(until, last)
    return found


def pass_everything(outcome: Outcome, largest: list[int | None], join: Join) -> None:
    """F moves past every event time that was seen, and to the end of every window."""
    seen = [time for time in largest if time is not None]
    if seen:
        before, past = outcome.frontier, max(seen) + 1 if join.windows is None else join.ends(max(seen))[-1]
        outcome.frontier = past if before is None else max(before, past)
        outcome.moves.append(outcome.moves[-1]._replace(members=[], before=before, after=outcome.frontier))


def purge(outcome: Outcome, join: Join, kept: list[list[Item]]) -> None:
    for side in (LEFT, RIGHT):
        if outcome.frontier is not None:
            kept[side] = [item for item in kept[side] if item.event_time >= outcome.frontier - join.kept(side)]


def first_arrivals(tuples: Iterable[Placed], tick: int) -> list[Item]:
    """Of tuples with the same id the first to arrive: by tick, then arrival time, then position.

    With tick 0 each tuple has a tick of its own, in the order of the log, also where arrival goes backwards.
    """
    seen: dict[str, Item] = {}
    for one in sorted(tuples, key=lambda one: (one.end, one.item.arrival_time if tick else 0, one.position)):
        seen.setdefault(one.item.id, one.item)
    return list(seen.values())


def batch_pairs(log: Log, join: Join, before: int | None = None) -> set[tuple[str, str]]:
    """All pairs of what arrived before a point of arrival time, repeats left out."""
    arrived = [one for one in placed(log, join.tick)[0] if before is None or one.end <= before]
    left, right = (first_arrivals((one for one in arrived if one.side == side), join.tick) for side in (LEFT, RIGHT))
    return {(a.id, b.id) for a in left for b in right if join.fits(a, b) and join.near(a, b)}


class InWindow(NamedTuple):
    """A pair in a window."""

    left_id: str
    right_id: str
    end: int


def in_windows(log: Log, join: Join) -> tuple[dict[InWindow, Pair], dict[tuple[int, str], int]]:
    """The pairs of each window as it closes, of what came while it was open; and the late tuples with F before them.

    A window that ends at or before F has closed; a tuple is late if one that would hold it had.
    """
    answers: dict[InWindow, Pair] = {}
    late: dict[tuple[int, str], int] = {}
    came: list[tuple[Placed, int | None]] = []
    for move in joined(log, join).moves:
        for one in move.members:
            if move.before is not None and join.ends(one.item.event_time)[0] <= move.before:
                late[one.side, one.item.id] = move.before
            came.append((one, move.before))
        due = [(one, ends) for one, before in came if (ends := _closing(join.ends(one.item.event_time), before, move))]
        for left, left_ends in due:
            for right, right_ends in due:
                if left.side != LEFT or right.side != RIGHT or not join.fits(left.item, right.item):
                    continue
                pair = Pair(left.item.event_time, right.item.event_time, move.end, move.k, move.version)
                answers |= {InWindow(left.item.id, right.item.id, end): pair for end in left_ends & right_ends}
    return answers, late


def _closing(ends: Iterable[int], before: int | None, move: Move) -> set[int]:
    """The ends of the windows that were open when a tuple came, with F at `before`, and that close with a move of F."""
    return {
        end
        for end in ends
        if (before is None or before < end)
        and (move.before is None or move.before < end)
        and move.after is not None
        and end <= move.after
    }


def batch_in_windows(log: Log, join: Join) -> set[InWindow]:
    """All pairs in windows of all that arrived, repeats left out."""
    arrived = placed(log, join.tick)[0]
    left, right = (first_arrivals((one for one in arrived if one.side == side), join.tick) for side in (LEFT, RIGHT))
    return {
        InWindow(a.id, b.id, end)
        for a in left
        for b in right
        if join.fits(a, b)
        for end in {*join.ends(a.event_time)} & {*join.ends(b.event_time)}
    }
