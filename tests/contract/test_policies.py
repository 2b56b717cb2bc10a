"""What every slack policy promises. A new policy needs a line in SAMPLES."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness import again, stamp_settings
from tailrace.aggregate.functions import FUNCTIONS
from tailrace.aggregate.kind import Aggregate
from tailrace.disorder.clock import Clock
from tailrace.disorder.policies import POLICIES, policy_from_json
from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.tick_statistics import COUNTS, TickContents
from tailrace.disorder.ticks import Ticks
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.sliding import Sliding

PROMISE = {"error": 0.1, "risk": 0.2}
SAMPLES = {
    "none": {},
    "k_slack": {"k": "250 ms"},
    "mp_k_slack": {},
    "aq_k_slack": PROMISE,
    "hybrid": PROMISE,
    "quantile": PROMISE,
}
SAMPLES |= {"cache_duration": {"initial": "4 s"}}
WINDOWS = Sliding(200, 100)
every = pytest.mark.parametrize("name", SAMPLES)
# (gap to the tick before, tuples, smallest event time, span)
TICKS = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(-5000, 5000), st.integers(0, 3000)), max_size=12
)


def policy(name: str) -> SlackPolicy:
    return policy_from_json(json.dumps({"policy": name} | SAMPLES[name]))


def ticks_of(rows: list[tuple[int, int, int, int]]) -> Ticks:
    gap, count, low, span = np.array(rows, np.int64).reshape(-1, 4).T
    tick = np.cumsum(gap)
    return Ticks(tick, (tick + 1) * 10, count, low, low + span)


def brought(ticks: Ticks, function: str) -> TickContents:
    """Tuples of twenty keys for these ticks, evenly between the smallest and the largest event time of each."""
    kind = Aggregate(WINDOWS, function, {"value": "value"}, pa.string(), 0.5 if function == "quantile" else None)
    place = np.repeat(np.arange(len(ticks)), ticks.count)
    number = np.arange(len(place)) - np.repeat(np.cumsum(ticks.count) - ticks.count, ticks.count)
    share = number / np.maximum(ticks.count[place] - 1, 1)
    event = (ticks.min_event[place] + share * (ticks.max_event - ticks.min_event)[place]).astype(np.int64)
    columns = {"event_time": pa.array(event), "tick": pa.array(ticks.tick[place])}
    columns |= {"key": pa.array([f"k{i % 20}" for i in event]), "value": pa.array(1.0 + event % 7)}
    counts = pa.table([ticks.tick[place], WINDOWS.pane(event), np.ones_like(event)], schema=COUNTS)
    sample = pa.Table.from_batches([kind.sample(pa.RecordBatch.from_pydict(columns))])
    return TickContents(WINDOWS, counts, sample, kind.error_model)


def slack(name: str, ticks: Ticks, cuts: list[int], quiet: bool = False, function: str = "sum") -> list[int]:
    """K at each tick, taken in in pieces; between them the clock goes through bytes, and the stream may be quiet."""
    clock, found = Clock(), []
    stamp_settings(clock, policy(name).model_dump_json(), BEFORE_ALL)
    for a, b in zip([0, *cuts], [*cuts, len(ticks)], strict=True):
        clock = again(clock)
        frontier = clock.advance(ticks[a:b], brought(ticks[a:b], function))
        found += frontier.k_ms.tolist()
        if quiet:
            assert clock.close(frontier, clock.frontier + 1000).k_ms.tolist()[-1:] == (found or [0])[-1:]
    return found


def test_every_policy_has_a_sample() -> None:
    assert [policy(name).__class__ for name in SAMPLES] == list(POLICIES)


@every
@settings(max_examples=30, deadline=None)
@given(rows=TICKS)
def test_k_is_whole_milliseconds_from_zero_on(name: str, rows: list[tuple[int, int, int, int]]) -> None:
    found = slack(name, ticks_of(rows), [])
    assert len(found) == len(rows)
    assert all(isinstance(k, int) and k >= 0 for k in found)


@every
@settings(max_examples=40, deadline=None)
@given(rows=TICKS, function=st.sampled_from(sorted(FUNCTIONS)), data=st.data())
def test_k_is_a_function_of_the_ticks_however_they_are_cut(name: str, rows: list, function: str, data) -> None:
    ticks = ticks_of(rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4), label="cuts"))
    assert slack(name, ticks, cuts, function=function) == slack(name, ticks, [], function=function)


def stream_of(n: int) -> dict[str, np.ndarray]:
    """Tuples in order of arrival, a hundred of event time a tick: keys that come and go, all values 0.1 for long."""
    rng = np.random.default_rng(7)
    event = 5 * np.arange(n) - (rng.exponential(300, n) * (rng.random(n) < 0.3)).astype(np.int64)
    key = rng.integers(0, 40, n) + event // 4000
    return {
        "event_time": event,
        "tick": np.arange(n) // 20,
        "key": key,
        "value": np.where(event < 9000, 0.1, key + 1.0),
    }


def in_segments(kind: Aggregate, rows: dict[str, np.ndarray], ends: list[int]) -> TickContents:
    """What segments of the log tell, that end anywhere in a tick."""
    n = len(rows["tick"])
    counts, sample = [], []
    for low, high in itertools.pairwise([0, *ends, n]):
        part = {name: column[low:high] for name, column in rows.items()}
        columns = part | {"key": pa.array(part["key"].astype(str))}
        sample.append(pa.Table.from_batches([kind.sample(pa.RecordBatch.from_pydict(columns))]))
        pane = WINDOWS.pane(part["event_time"])
        counts.append(pa.table([part["tick"], pane, np.ones_like(pane)], schema=COUNTS))
    return TickContents(WINDOWS, pa.concat_tables(counts), pa.concat_tables(sample), kind.error_model)


def of_ticks(brought: TickContents, ticks: Ticks) -> TickContents:
    """What some ticks have brought."""
    tables = brought.counts, brought.sample
    counts, sample = (table.filter(pa.array(np.isin(table["tick"].to_numpy(), ticks.tick))) for table in tables)
    return replace(brought, counts=counts, sample=sample)


@every
@pytest.mark.parametrize("function", ["sum", "count", "median"])
def test_k_is_the_same_when_segments_end_inside_ticks_and_keys_come_and_go(name: str, function: str) -> None:
    rows = stream_of(6000)
    number, first = np.unique(rows["tick"], return_index=True)
    low, high = (ufunc.reduceat(rows["event_time"], first) for ufunc in (np.minimum, np.maximum))
    ticks = Ticks(number, (number + 1) * 10, np.full(len(number), 20), low, high)
    kind = Aggregate(WINDOWS, function, {"value": "value"}, pa.string(), None)
    ends = sorted(np.random.default_rng(3).choice(6000, 80, replace=False).tolist())
    found = []
    for segments, calls in (([], []), (ends, [40, 41, 150, 222])):
        told, clock, k_ms = in_segments(kind, rows, segments), Clock(), []
        stamp_settings(clock, policy(name).model_dump_json(), BEFORE_ALL)
        for a, b in itertools.pairwise([0, *calls, len(ticks)]):
            k_ms += clock.advance(ticks[a:b], of_ticks(told, ticks[a:b])).k_ms.tolist()
            clock = again(clock)
        found.append(k_ms)
    assert found[0] == found[1]
    assert name in ("none", "k_slack", "cache_duration") or len(set(found[0])) > 2


@every
@settings(max_examples=30, deadline=None)
@given(rows=TICKS, data=st.data())
def test_k_does_not_change_by_what_silence_closes(name: str, rows: list, data) -> None:
    ticks = ticks_of(rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4), label="cuts"))
    assert slack(name, ticks, cuts, quiet=True) == slack(name, ticks, [])


@every
def test_settings_survive_as_json(name: str) -> None:
    assert policy_from_json(policy(name).model_dump_json()) == policy(name)


@every
def test_settings_are_frozen(name: str) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        policy(name).policy = "other"  # type: ignore[misc]


@every
def test_settings_that_nobody_knows_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        policy_from_json(json.dumps({"policy": name, "strange": 1} | SAMPLES[name]))


@given(TICKS)
@settings(max_examples=20, deadline=None)
def test_none_never_waits(rows: list) -> None:
    assert set(slack("none", ticks_of(rows), [])) <= {0}


@given(TICKS)
@settings(max_examples=20, deadline=None)
def test_k_slack_waits_k(rows: list) -> None:
    assert set(slack("k_slack", ticks_of(rows), [])) <= {250}


@given(TICKS)
@settings(max_examples=30, deadline=None)
def test_mp_k_slack_waits_as_long_as_the_most_delayed_so_far_and_never_less(rows: list) -> None:
    ticks = ticks_of(rows)
    expected, t_max, largest = [], None, 0
    for low, high in zip(ticks.min_event.tolist(), ticks.max_event.tolist(), strict=True):
        t_max = high if t_max is None else max(t_max, high)
        largest = max(largest, t_max - low)
        expected.append(largest)
    assert slack("mp_k_slack", ticks, []) == expected == sorted(expected)
