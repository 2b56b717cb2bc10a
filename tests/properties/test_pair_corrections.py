"""Corrected = batch for a join: over any intervals of arrival in any order, and over ranges of event time."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.pair_oracle import Item, Join, Read, batch_pairs
from kit.runs.memory_pair_tables import MemoryPairTables
from kit.suite.examples import drawn
from tailrace.correction.correction_range import CorrectionRange

SOME = drawn(60)
BASE = 10_000


@st.composite
def stream(draw: st.DrawFn) -> list[Item]:
    """Tuples out of order, late ones and repeats of ids among them; ids are integers or strings."""
    count = draw(st.integers(0, 10))
    integer, pool = draw(st.booleans()), draw(st.sampled_from([3, 8, 1000]))
    items, event = [], BASE
    for _ in range(count):
        event += draw(st.integers(0, 15))
        at = event - draw(st.sampled_from([0, 0, 0, 5, 30, 90]))
        name = draw(st.integers(0, pool)) - 2
        arrival = event + draw(st.integers(0, 10))
        items.append(Item(at, arrival, name if integer else str(name), draw(st.sampled_from("ab"))))
    return items


def echo(item: Item) -> Item:
    return item._replace(event_time=item.event_time + 1000, arrival_time=item.arrival_time + 1000)


@st.composite
def case(draw: st.DrawFn) -> MemoryPairTables:
    streams = draw(stream()), draw(stream())
    if draw(st.booleans()):  # the first tuples come again, so far away that no correction of the others reads them
        streams = tuple([*items, *map(echo, items[:3])] for items in streams)
    interval = draw(st.none() | st.sampled_from([(-7, 25), (5, 25), (-25, -7)]))
    reach = draw(st.sampled_from([0, 7, 25])) if interval is None else 25
    join = Join(reach, draw(st.sampled_from([10, 0, 3])), draw(st.sampled_from([0, 10])), interval=interval)
    where = draw(st.sampled_from([None, "left.arrival_time <= right.arrival_time + 3"]))
    if where is not None:
        join = replace(join, keeps=lambda left, right: left.arrival_time <= right.arrival_time + 3)
    cuts = tuple(sorted(draw(st.sets(st.integers(1, max(len(items) - 1, 1)), max_size=3))) for items in streams)
    cuts = tuple([cut for cut in at if cut < len(items)] for at, items in zip(cuts, streams, strict=True))
    return MemoryPairTables(streams, join, cuts, draw(st.booleans()), where)


def expected(desk: MemoryPairTables, corrections: list[tuple[int, object]]) -> dict:
    """The latest versions after corrections, given as (cut-off, whether it covers (left id and time, right ...)).

    The stream's versions and the corrections follow each other by as_of; a correction makes each pair that it covers,
    as it is known or as it is, what it is by the batch.
    """
    streamed = [
        (row["as_of"], (row["left_id"], row["right_id"]), (row["left_time"], row["right_time"]))
        for row in desk.results.to_pylist()
    ]
    state: dict[tuple, tuple] = {}
    known: set[tuple] = set()
    for point in sorted({as_of for as_of, *_ in streamed} | {cut_off for cut_off, _ in corrections}):
        for as_of, pair, times in streamed:
            if as_of == point:
                state[pair] = times
                known.add((pair, times))
        for _, covers in (one for one in corrections if one[0] == point):
            truth = desk.truth(point)
            for pair in {pair for pair, times in known | set(truth.items()) if covers(*zip(pair, times, strict=True))}:
                state.pop(pair, None)
                state |= {pair: truth[pair]} if pair in truth else {}
    return state


def assert_as_expected(desk: MemoryPairTables, corrections: list[tuple[int, object]]) -> None:
    """Also where repeats have brought a pair with other event times, which the correction does not read."""
    assert desk.latest() == expected(desk, corrections)


@SOME
@given(st.data(), case())
def test_all_intervals_in_any_order_and_again_give_the_batch_answer(data, case):
    points = sorted({one.end for side in case.placed for one in side})
    points = [points[0] - max(case.join.tick, 1), *points] if points else [0, 1]
    inner = data.draw(st.sets(st.sampled_from(points[1:]), max_size=2), label="bounds")
    every = list(itertools.pairwise([points[0], *sorted(inner - {points[-1]}), points[-1]]))
    more = data.draw(st.lists(st.sampled_from(every), max_size=1), label="again")
    for a, b in data.draw(st.permutations([*every, *more]), label="order"):
        case.correct(a, b)
    truth = case.truth(case.end)
    assert case.latest() == truth, "also what repeats had brought on time"
    log = [Read(side, item) for side, items in enumerate(case.streams) for item in items]
    assert truth.keys() == batch_pairs(log, case.join)
    case.revise(case.kind.answers.closed(CorrectionRange().bounds, 1 << 60), case.end, "all")
    assert case.latest() == truth


@SOME
@given(st.data(), case())
def test_a_range_of_event_time_gives_the_batch_answer_of_the_pairs_in_it(data, case):
    low = data.draw(st.integers(BASE - 90, BASE + 150))
    high = data.draw(st.integers(low + 1, BASE + 160))
    frontier = data.draw(st.sampled_from([low + 5, high, BASE + 500]))
    case.revise(case.kind.answers.closed((low, high), frontier), case.end, "some")

    def covers(left, right):
        times = left[1], right[1]
        return any(low <= time < high for time in times) and max(times) < frontier

    assert_as_expected(case, [(case.end, covers)])


@SOME
@given(case())
def test_of_right_pairs_the_version_stays(case):
    right = {pair for pair, times in case.latest().items() if case.truth(case.end).get(pair) == times}
    rows = case.revise(case.kind.answers.closed(CorrectionRange().bounds, 1 << 60), case.end, "all").to_pylist()
    assert not {(row["left_id"], row["right_id"]) for row in rows} & right
