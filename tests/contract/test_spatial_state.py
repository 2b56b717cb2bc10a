"""What a spatial join of two streams stores: whole bins, which go when they can't match, and no pair with them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from bench.local_engine import LocalEngine
from kit.runs.spatial_runs import POINTS, START_MS, TEXTS, Run, interval, stream
from tailrace.operators import window_join
from tailrace.spatial_join.search.pair_search import LocalIndex

MINUTE, HOUR = 60_000, 3_600_000
SQUARE, INSIDE, OUTSIDE = "POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))", "POINT (0.5 0.5)", "POINT (2 2)"
NEAR = {"geometry": POINTS, "crs": "planar", "relation": "dwithin", "distance": 1.0, "extent": [0.0, 0.0, 99.0, 99.0]}


def clock(time: str) -> int:
    """ms from the start, which is at 09:00."""
    hours, minutes = map(int, time.split(":"))
    return (hours - 9) * HOUR + minutes * MINUTE


def stored_ms(engine: LocalEngine, part: str) -> list[list[int]]:
    """The event times of each chunk of a part of the state of all tasks, from the start on."""
    return [
        (np.asarray(chunk.rows.column("event_time")) - START_MS).tolist()
        for state in engine.states
        for chunk in state.state.chunks[part]
    ]


@pytest.mark.parametrize("tasks", [1, 3])
def test_the_example_of_an_interval_join(tasks):
    """Paper 003, Fig. 10: polygons contain points, from 15 min before to 30 min after them, in bins of 1 h.

    A polygon and two points of every minute, one of them outside. Of its elements, R_1 is the polygon of 10:20, p_1 the
    point of 10:10, and p_3 that of 11:10, as its interval is [10:40, 11:25].
    """
    minutes = np.arange(0, 4 * HOUR, MINUTE)
    left = stream(0, minutes, wkt=[SQUARE] * len(minutes))
    right = stream(1, np.repeat(minutes, 2), wkt=[INSIDE, OUTSIDE] * len(minutes))
    section = {"geometry": TEXTS, "crs": "planar", "relation": "contains", "bin": "1 h", "extent": [-3, -3, 3, 3]}
    section |= interval(-15 * MINUTE, 30 * MINUTE)
    bins: dict[int, dict[str, set[int]]] = {}

    def look(engine: LocalEngine, end_ms: int) -> None:
        chunks = {side: stored_ms(engine, side) for side in ("left", "right")}
        assert all(len({time // HOUR for time in chunk}) == 1 for side in chunks.values() for chunk in side), "eq. 4"
        bins[end_ms] = {side: {9 + times[0] // HOUR for times in chunks[side]} for side in chunks}

    cuts = range(5 * MINUTE, 4 * HOUR, 5 * MINUTE)
    answers = Run(section, (left, right), cuts=cuts, tasks=tasks).answers(look)
    found = defaultdict(list)
    for row in answers:
        found["l", row["left_time"]].append(row["right_time"])
        found["r", row["right_time"]].append(row["left_time"])

    def partners(side: str, time: str) -> list[int]:
        times = found[side, START_MS + clock(time)]
        return [int(each) - START_MS for each in sorted(times)]

    assert partners("l", "10:20") == list(range(clock("10:05"), clock("10:51"), MINUTE))
    assert partners("r", "10:10") == list(range(clock("9:40"), clock("10:26"), MINUTE))
    assert partners("r", "11:10") == list(range(clock("10:40"), clock("11:26"), MINUTE))
    assert {9 + time // HOUR for time in partners("r", "11:10")} == {10, 11}, "p_3 searches bins 10 and 11"
    assert len(answers) == sum(
        -15 * MINUTE <= other - one <= 30 * MINUTE for one in minutes.tolist() for other in minutes.tolist()
    )
    # Bin 11 has p_3. Of the points it stays for -T_lb after its end, to 12:15; of the polygons for T_ub, to 12:30.
    assert 11 in bins[clock("11:20")]["right"]
    assert bins[clock("12:15")] == {"left": {11, 12}, "right": {11, 12}}, "the last tick is not complete"
    assert bins[clock("12:20")] == {"left": {11, 12}, "right": {12}}
    assert bins[clock("12:30")] == {"left": {11, 12}, "right": {12}}
    assert bins[clock("12:35")] == {"left": {12}, "right": {12}}


@pytest.mark.needs("long")
@pytest.mark.parametrize(
    ("lower", "upper", "bin_s", "k_ms"),
    [  # any two of interval, bin and K
        (lower, upper, bin_s, (0, 7_000)[(row + column) % 2])
        for row, (lower, upper) in enumerate([(-15, 30), (0, 0), (5, 30), (-40, -3)])
        for column, bin_s in enumerate([None, 4, 60])
    ],
)
def test_the_state_of_an_interval_join_stays_level(lower, upper, bin_s, k_ms):
    """Eq. 5: a bin goes as a whole when no row of it can match, so rate × (bound + bin + slack) rows are stored."""
    per_s, seconds, every, reach = 4, 120, 4, max(abs(lower), abs(upper))
    kept = {"left": max(upper, 0), "right": max(-lower, 0)}
    bin_of = bin_s or max(upper - lower, reach // 16, 1)
    times = np.arange(0, seconds * 1000, 1000 // per_s)
    after = seconds * 1000 + 1000 * (reach + bin_of) + k_ms
    times = np.append(times, [after, after + 1])
    streams = tuple(stream(side, times, x=np.full(len(times), 50.0 * side), y=np.zeros(len(times))) for side in (0, 1))
    section = NEAR | interval(1000 * lower, 1000 * upper) | ({"bin": f"{bin_s} s"} if bin_s else {})
    sizes = []

    def look(engine: LocalEngine, end_ms: int) -> None:
        newest = int(np.sort(times[times < end_ms])[-2])  # the tick of the last one is not complete
        for side in ("left", "right"):
            chunks, bound = stored_ms(engine, side), newest - k_ms - 1000 * kept[side]
            assert sum(map(len, chunks)) <= per_s * (kept[side] + bin_of + k_ms / 1000 + 1 / per_s)
            numbers = {(START_MS + time) // (1000 * bin_of) for chunk in chunks for time in chunk}
            assert all((number + 1) * 1000 * bin_of > START_MS + bound for number in numbers), "a bin is over"
            held = {time for chunk in chunks for time in chunk}
            assert held >= {time for time in times.tolist() if bound <= time <= newest}, "what can match stays"
            sizes.append(len(held))

    run = Run(section, streams, k_ms, cuts=range(1000 * every, seconds * 1000 + 1, 1000 * every))
    assert run.answers(look) == []
    assert sizes[-2:] == [1, 1], "after a jump nothing old is left"


@pytest.mark.needs("long")
def test_an_interval_to_one_side_stores_half_of_what_one_to_both_sides_does():
    """Eq. 5: of [0, U] right tuples wait for nothing that is to come."""
    reach, seconds = 30, 120
    times = np.arange(0, seconds * 1000, 100)
    streams = tuple(stream(side, times, x=np.full(len(times), 50.0 * side), y=np.zeros(len(times))) for side in (0, 1))
    stored: dict[int, list[int]] = {}
    for lower in (-reach, 0):
        sizes = stored[lower] = []
        section = NEAR | interval(1000 * lower, 1000 * reach) | {"bin": "2 s"}
        run = Run(section, streams, cuts=range(1000, seconds * 1000 + 1, 1000))
        run.answers(
            lambda engine, end_ms, sizes=sizes: sizes.append(
                sum(len(chunk) for side in ("left", "right") for chunk in stored_ms(engine, side))
            )
        )
    steady = [np.mean(sizes[reach + 5 :]) for sizes in stored.values()]
    assert steady[1] == pytest.approx(steady[0] / 2, rel=0.05)


@pytest.mark.needs("long")
@pytest.mark.parametrize("restarts", ["files", "memory", "none"])
@pytest.mark.parametrize("join", ["interval", "window"])
@pytest.mark.parametrize("shapes", [False, True])
def test_a_batch_indexes_what_it_brings_and_not_what_is_stored(monkeypatch, tmp_path: Path, join, shapes, restarts):
    indexed: list[int] = []
    of = LocalIndex.from_geometries
    monkeypatch.setattr(
        LocalIndex, "from_geometries", lambda rows, condition: indexed.append(len(rows)) or of(rows, condition)
    )
    rate, reach, batches = 20, 64, 128
    times = np.arange(0, batches * 1000, 1000 // rate)
    random = np.random.default_rng(5)
    streams = []
    for side in (0, 1):
        x, y = random.uniform(0, 99, (2, len(times)))
        texts = [f"LINESTRING ({a} {b}, {a + 1} {b})" for a, b in zip(x, y, strict=True)]
        streams.append(stream(side, times, **({"wkt": texts} if shapes else {"x": x, "y": y})))
    section = NEAR | {"geometry": TEXTS if shapes else POINTS}
    window = (1000 * reach, 1000 * reach) if join == "window" else None
    section |= {} if window else interval(-1000 * reach, 1000 * reach)
    begun: list[int] = []
    run = Run(
        section,
        tuple(streams),
        cuts=range(1000, batches * 1000, 1000),
        window=window,
        restarts=restarts != "none",
        directory=tmp_path if restarts == "files" else None,
    )
    assert run.answers(lambda engine, end_ms: begun.append(sum(indexed)))
    full = begun[-2] - begun[reach]
    new = 2 * rate * (len(begun) - 2 - reach)
    assert full <= new * (2 + np.log2(reach)), "a row is indexed as it comes, and when its chunk is merged"


@pytest.mark.needs("long")
def test_a_window_that_closes_looks_at_the_pairs_that_are_due(monkeypatch):
    """All pairs wait for K, which is as long as many windows."""
    looked: list[int] = []
    closing = window_join._closing
    monkeypatch.setattr(
        window_join,
        "_closing",
        lambda windows, pairs, frontier: looked.append(len(pairs)) or closing(windows, pairs, frontier),
    )
    times = np.arange(0, 60_000, 50)
    streams = tuple(stream(side, times, x=np.zeros(len(times)), y=np.zeros(len(times))) for side in (0, 1))
    waiting: list[int] = []
    run = Run(NEAR, streams, k_ms=20_000, window=(1000, 500), cuts=range(500, 60_000, 500))
    answers = run.answers(lambda engine, end_ms: waiting.append(sum(map(len, stored_ms(engine, "pairs")))))
    assert max(waiting) > 15 * max(looked[:-1])
    assert sum(looked) <= 2 * len(answers)
