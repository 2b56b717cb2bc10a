"""Hypothesis strategies for disordered streams, in one place: `disordered()` and `cuts(n)`.

Everything drawn is valid by the contract (event times from 2000-01-01 to less than arrival + 1 day, slide <= size,
k >= 1), small, and around 2020-01-01, so hundreds of cases run in seconds.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import strategies as st

from kit.oracles.oracle import Policy, Settings, Tuple

EPOCH = 1_577_836_800_000  # 2020-01-01T00:00:00Z
EARLIEST = 946_684_800_000  # 2000-01-01T00:00:00Z
HOUR = 3_600_000
DAY = 24 * HOUR

# (size, slide): tumbling, dividing, not dividing, sizes that are no multiple of any tick, neighbours
WINDOWS = [
    (100, 100),
    (500, 500),
    (500, 100),
    (1000, 250),
    (1000, 300),
    (700, 300),
    (250, 100),
    (333, 100),
    (130, 70),
    (101, 100),
    (60, 7),
    (3, 2),
    (1, 1),
]
ZONES = {  # days to begin at, around which clocks change
    "Europe/Berlin": ["2024-03-30", "2024-10-27", "2020-01-01"],
    "America/Sao_Paulo": ["2018-11-04", "2018-02-17"],
    "America/Havana": ["2024-03-10", "2024-11-03"],
    "Pacific/Apia": ["2011-12-29"],
    "Asia/Kathmandu": ["2020-01-01"],
}
TICKS = [100, 0, 1, 30, 250]
FUNCTIONS = ["sum", "count", "avg", "min", "max", "median", "quantile"]
QUANTILES = [0.9, 0.5, 0.25, 0.1, 1 / 3, 0.001, 0.999999]
KEYS = ["a", "b", "c", "", "clé", "A", "10", "9", "null", "with space", "x/y=z", "a\0", "a\0b"]


def policies(size: int) -> st.SearchStrategy[Policy]:
    lengths = st.one_of(st.integers(1, 50), st.integers(1, 3 * size + 1), st.sampled_from([100, size, 10 * HOUR]))
    return st.one_of(st.just("none"), st.builds(lambda k: ("k_slack", k), lengths), st.just("mp_k_slack"))


def values() -> st.SearchStrategy[float]:
    return st.one_of(
        st.integers(-100, 100).map(float),
        st.sampled_from([0.0, -0.0, 0.1, -0.1, 1e-12, -1e-12, 1e15, -1e15, 1e15 + 1, 1e100, -1e100]),
        st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False),
    )


@st.composite
def disordered(
    draw: st.DrawFn,
    max_tuples: int = 40,
    min_tuples: int = 0,
    duplicates: bool = False,
    changes: bool = False,
    ticks: list[int] | None = None,
    functions: list[str] | None = None,
    skews: bool = False,
    placed: bool = False,
) -> tuple[list[Tuple], Settings]:
    """A stream in order of position, and a query over it.

    duplicates: some ids come again, with other contents or the same (off, each id is its own: 't0', 't1', ...).
    changes: the policy may change once or twice in the course of the stream.
    ticks, functions: to draw from these only.
    skews: event times may be bounded for t_max by their arrival.
    placed: windows may have an offset, or be the days of a time zone.
    """
    size, slide = draw(st.sampled_from(WINDOWS))
    begin, shape = EPOCH, Settings(size, slide, 0)
    if placed:
        zone = draw(st.sampled_from([None] * 9 + [*ZONES]))
        if zone is None:
            shape = replace(shape, offset=draw(st.one_of(st.just(0), st.integers(1 - slide, slide - 1))))
        else:
            size = slide = DAY
            shape = Settings(size, slide, 0, days_of=zone)
            first_day = datetime.fromisoformat(draw(st.sampled_from(ZONES[zone]))).replace(tzinfo=UTC)
            begin = int(first_day.timestamp()) * 1000 + draw(st.integers(0, DAY))
    tick = draw(st.sampled_from(ticks or TICKS))
    function = draw(st.sampled_from(functions or FUNCTIONS))
    q = draw(st.sampled_from(QUANTILES)) if function == "quantile" else None
    policy = draw(policies(size))

    keys: list[str | None] = draw(st.sampled_from([[None], KEYS[:1], KEYS[:2], KEYS, [f"k{i}" for i in range(40)]]))
    step = max(tick, 1)
    gaps = st.one_of(
        st.integers(0, 30),
        st.integers(0, 300),
        st.just(0),  # the same arrival again
        st.sampled_from([1, step, step - 1, size]),
        st.integers(-2 * step - 10, -1),  # arrival goes backwards
        st.sampled_from([20 * size, 70_000, HOUR]),  # a big gap
    )
    # an event time: ('delay', ms before the arrival) or ('border', which window, its start or end, 1 ms beside it or 0)
    events = st.one_of(
        st.tuples(st.just("delay"), st.integers(0, 40), st.just(0), st.just(0)),
        st.tuples(st.just("delay"), st.integers(0, 3 * size), st.just(0), st.just(0)),
        st.tuples(st.just("delay"), st.integers(-200, -1), st.just(0), st.just(0)),
        st.tuples(st.just("border"), st.integers(-6, 2), st.sampled_from([0, size]), st.sampled_from([0, -1, 1])),
    )
    row = st.tuples(gaps, events, st.integers(0, len(keys) - 1), values())
    least = draw(st.sampled_from([min_tuples, 12, 25]))  # left to itself, Hypothesis draws lists of five or so
    rows = draw(st.lists(row, min_size=max(min_tuples, min(least, max_tuples)), max_size=max_tuples))

    tuples: list[Tuple] = []
    arrival = begin + draw(st.one_of(st.just(0), st.integers(-500, 500)))
    for position, (gap, (kind, number, side, beside), key, value) in enumerate(rows):
        arrival += gap
        event = arrival - number if kind == "delay" else _border(shape, arrival, number, side) + beside
        event = min(event, arrival + DAY - 1)
        tuples.append(Tuple(event, arrival, f"t{position}", keys[key], value))

    if tuples and draw(st.booleans()):  # one far outlier, behind or ahead
        position = draw(st.integers(0, len(tuples) - 1))
        offset = draw(st.sampled_from([-60_000, -HOUR, -40 * DAY, -7000 * DAY, 10_000, HOUR, DAY - 1]))
        old = tuples[position]
        tuples[position] = old._replace(event_time=max(EARLIEST, old.arrival_time + offset))

    if duplicates and len(tuples) > 1:
        for _ in range(draw(st.integers(0, 6))):
            first = draw(st.integers(0, len(tuples) - 2))
            again = draw(st.integers(first + 1, len(tuples) - 1))
            if draw(st.booleans()):  # only the id again
                tuples[again] = tuples[again]._replace(id=tuples[first].id)
            else:  # the whole tuple, sent twice
                tuples[again] = tuples[first]._replace(arrival_time=tuples[again].arrival_time)
                if tuples[again].event_time > tuples[again].arrival_time + DAY - 1:
                    tuples[again] = tuples[again]._replace(event_time=tuples[again].arrival_time)

    facts: list[tuple[int, Policy]] = []
    if changes and tuples:
        for position in sorted(draw(st.lists(st.integers(0, len(tuples) - 1), max_size=2))):
            largest = max(item.arrival_time for item in tuples[: position + 1])
            number = position if tick == 0 else largest // tick
            facts.append((number, draw(policies(size))))
    skew = draw(st.sampled_from([None, 0, 1, 100, 60_000])) if skews else None
    return tuples, replace(shape, tick=tick, function=function, policy=policy, changes=tuple(facts), q=q, skew=skew)


def _border(shape: Settings, arrival: int, number: int, side: int) -> int:
    """The start of a window some windows from the one that an arrival is in; or its end, if `side` is not 0."""
    start, end = shape.windows_of(arrival + number * shape.slide)[-1]
    return end if side else start


def cuts(n: int, max_cuts: int = 6) -> st.SearchStrategy[list[int]]:
    """Where a stream of n tuples is cut: rising positions between 1 and n - 1, so no piece is empty. See `pieces`."""
    if n < 2:
        return st.just([])
    return st.lists(st.integers(1, n - 1), unique=True, max_size=min(max_cuts, n - 1)).map(sorted)


def pieces(tuples: list[Tuple], at: list[int]) -> list[list[Tuple]]:
    """The stream cut at these positions."""
    borders = [0, *at, len(tuples)]
    return [tuples[start:end] for start, end in itertools.pairwise(borders)]
