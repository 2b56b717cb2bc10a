"""The contract of every slack policy: K depends on the ticks alone. A new policy needs a line in SAMPLES."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kit.draws import aggregates
from kit.draws.policy_ticks import Arrival, model_of, slacks, statistics_of
from kit.runs.harness import again, stamp_settings
from kit.suite.examples import drawn
from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.named_section import NAMED, NamedAggregatesSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.disorder.clock import StreamClock
from tailrace.disorder.error_model import Promises
from tailrace.disorder.policies import POLICIES, policy_from_json
from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.tick_statistics import COUNTS, TickContents
from tailrace.disorder.ticks import Ticks
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.kind.inputs import ColumnTypes
from tailrace.windows.calendar import Calendar
from tailrace.windows.sliding import Sliding
from tailrace.windows.windows import Windows

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
DAY = 86_400_000
every_policy = pytest.mark.parametrize("name", SAMPLES)
# (distance to the tick before, number of tuples, smallest event time, range of event times)
TICKS = st.lists(
    st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(-5000, 5000), st.integers(0, 3000)), max_size=12
)


SEVERAL = {
    "total": {"function": "sum", "column": "real"},
    "failures": {"function": "count", "where": "is_late"},
    "lowest": {"function": "min", "column": "whole", "where": "is_late"},
    "p90": {"function": "quantile", "q": 0.9, "column": "whole"},
    "mean": {"function": "avg", "column": "money"},
    "spread": {"function": "stddev", "column": "whole"},
    "users": {"function": "count_distinct", "column": "text", "approximate": True},
    "texts": {"function": "count_distinct", "column": "text"},
    "newest": {"function": "last", "column": "text"},
    "fit": {"function": "corr", "column": "whole", "other": "money"},
    "once": {"function": "sum_distinct", "column": "money"},
    "dearest": {"function": "max_by", "column": "text", "by": "money"},
    "length": {"expression": "length(newest)"},
    "rate": {"expression": "failures / tuples"},
}
WITH_THRESHOLDS = ["total", "failures", "lowest", "p90", "mean"]
TYPES = {"real": pa.float64(), "whole": pa.int64(), "money": pa.decimal128(18, 2), "text": pa.string()}


def several(names: tuple[str, ...] = tuple(SEVERAL)) -> Aggregate:
    """A kind with several answers: of functions with and without a condition, over nulls, and of expressions."""
    section = NamedAggregatesSection.model_validate(
        {"function": NAMED, "each": {name: SEVERAL[name] for name in names}}
    )
    carried = {f"value_{name}": dtype for name, dtype in TYPES.items()}
    carried |= {f"condition_{name}": pa.bool_() for name in names if "where" in SEVERAL[name]}
    return aggregate_of(WINDOWS, section, ColumnTypes(carried=carried))


def with_values(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Tuples with the columns of `several`, which follow from their values; a fifth of these are null."""
    value, event = (np.asarray(columns[name]) for name in ("value", "event_time"))
    is_null = event % 5 == 3
    whole = pa.array(np.where(is_null, 0, value.astype(np.int64)), mask=is_null)
    named = {
        "real": pa.array(value, mask=is_null),
        "whole": whole,
        "money": whole.cast(pa.int32()).cast(TYPES["money"]),
        "text": pa.array([None if null else f"{v:.0f}" for v, null in zip(value, is_null, strict=True)], pa.string()),
    }
    columns = columns | {f"value_{name}": column for name, column in named.items()}
    columns |= dict.fromkeys(("condition_failures", "condition_lowest"), pa.array(event % 3 == 1))
    columns |= {"arrival_time": columns["tick"], "id": pa.array([f"t{each}" for each in event.tolist()], pa.string())}
    columns |= dict.fromkeys((EVENT_US, ARRIVAL_US), pa.array(np.zeros_like(event)))
    return pa.RecordBatch.from_pydict(columns)


def policy(name: str, of: list[str] | None = None) -> SlackPolicy:
    promise = {} if of is None or name not in ("quantile", "hybrid", "aq_k_slack") else {"of": of}
    return policy_from_json(json.dumps({"policy": name} | SAMPLES[name] | promise))


def answers_of(name: str) -> list[str] | None:
    """The answers of `several` that a policy promises; None: all that are numbers."""
    return None if name == "quantile" else WITH_THRESHOLDS


def ticks_of(rows: list[tuple[int, int, int, int]]) -> Ticks:
    gap, count, smallest, span = np.array(rows, np.int64).reshape(-1, 4).T
    tick = np.cumsum(gap)
    return Ticks(tick, (tick + 1) * 10, count, smallest, (smallest + span)[None, :])


def kind_of(function: str) -> Aggregate:
    if function == "several":
        return several()
    return aggregates.kind_of(WINDOWS, function, **aggregates.with_q(function))


def contents_of(ticks: Ticks, function: str, promises: Promises = (None,)) -> TickContents:
    """Tuples of twenty keys for these ticks, evenly between the smallest and the largest event time of each."""
    kind = kind_of(function)
    index = np.repeat(np.arange(len(ticks)), ticks.count)
    number = np.arange(len(index)) - np.repeat(np.cumsum(ticks.count) - ticks.count, ticks.count)
    share = number / np.maximum(ticks.count[index] - 1, 1)
    event = (ticks.min_event[index] + share * (ticks.max_event[0] - ticks.min_event)[index]).astype(np.int64)
    columns = {"event_time": pa.array(event), "tick": pa.array(ticks.tick[index])}
    columns |= {"key": pa.array([f"k{i % 20}" for i in event]), "value": pa.array(1.0 + event % 7)}
    counts = pa.table([ticks.tick[index], WINDOWS.pane(event), np.ones_like(event)], schema=COUNTS)
    sample = pa.Table.from_batches([kind.sample(with_values(columns), promises)])
    return TickContents(WINDOWS, counts, sample, kind.error_model)


def slack(name: str, ticks: Ticks, cuts: list[int], quiet: bool = False, function: str = "sum") -> list[int]:
    """K at each tick; at the cuts the clock is serialised and, with `quiet`, the open windows close."""
    clock, slack_ms = StreamClock(), []
    declared = policy(name, answers_of(name) if function == "several" else None)
    stamp_settings(clock, declared.model_dump_json(), BEFORE_ALL)
    for a, b in zip([0, *cuts], [*cuts, len(ticks)], strict=True):
        clock = again(clock)
        frontier = clock.advance(ticks[a:b], contents_of(ticks[a:b], function, [getattr(declared, "of", None)]))
        slack_ms += frontier.k_ms.tolist()
        if quiet:
            assert clock.close(frontier, clock.frontier + 1000).k_ms.tolist()[-1:] == (slack_ms or [0])[-1:]
    return slack_ms


def test_every_policy_has_a_sample() -> None:
    assert [policy(name).__class__ for name in SAMPLES] == list(POLICIES)


@every_policy
@drawn(30)
@given(rows=TICKS)
def test_k_is_a_non_negative_integer(name: str, rows: list[tuple[int, int, int, int]]) -> None:
    slack_ms = slack(name, ticks_of(rows), [])
    assert len(slack_ms) == len(rows)
    assert all(isinstance(k, int) and k >= 0 for k in slack_ms)


@every_policy
@drawn(40)
@given(rows=TICKS, function=st.sampled_from(["several", *sorted(aggregates.NUMBERS)]), data=st.data())
def test_k_does_not_depend_on_how_ticks_are_cut_into_calls(name: str, rows: list, function: str, data) -> None:
    ticks = ticks_of(rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4), label="cuts"))
    assert slack(name, ticks, cuts, function=function) == slack(name, ticks, [], function=function)


def stream_of(n: int) -> dict[str, np.ndarray]:
    """n tuples in order of arrival, 20 per tick of 100 ms: the set of keys drifts, and the first values are all 0.1."""
    rng = np.random.default_rng(7)
    event = 5 * np.arange(n) - (rng.exponential(300, n) * (rng.random(n) < 0.3)).astype(np.int64)
    key = rng.integers(0, 40, n) + event // 4000
    return {
        "event_time": event,
        "tick": np.arange(n) // 20,
        "key": key,
        "value": np.where(event < 9000, 0.1, key + 1.0),
    }


def in_segments(
    kind: Aggregate, rows: dict[str, np.ndarray], segment_ends: list[int], promises: Promises
) -> TickContents:
    """The tick contents of a log whose segments end at these rows, so possibly inside a tick."""
    n = len(rows["tick"])
    counts, sample = [], []
    for low, high in itertools.pairwise([0, *segment_ends, n]):
        part = {name: column[low:high] for name, column in rows.items()}
        columns = part | {"key": pa.array(part["key"].astype(str))}
        columns = {name: pa.array(column) for name, column in columns.items()}
        sample.append(pa.Table.from_batches([kind.sample(with_values(columns), promises)]))
        pane = WINDOWS.pane(part["event_time"])
        counts.append(pa.table([part["tick"], pane, np.ones_like(pane)], schema=COUNTS))
    return TickContents(WINDOWS, pa.concat_tables(counts), pa.concat_tables(sample), kind.error_model)


def of_ticks(contents: TickContents, ticks: Ticks) -> TickContents:
    """The part of these contents that belongs to some ticks."""
    tables = contents.counts, contents.sample
    counts, sample = (table.filter(pa.array(np.isin(table["tick"].to_numpy(), ticks.tick))) for table in tables)
    return replace(contents, counts=counts, sample=sample)


@pytest.mark.needs("long")
@every_policy
@pytest.mark.parametrize("function", ["sum", "count", "median", "several"])
def test_k_does_not_depend_on_where_segments_end_while_keys_drift(name: str, function: str) -> None:
    rows = stream_of(6000)
    number, first = np.unique(rows["tick"], return_index=True)
    low, high = (ufunc.reduceat(rows["event_time"], first) for ufunc in (np.minimum, np.maximum))
    ticks = Ticks(number, (number + 1) * 10, np.full(len(number), 20), low, high[None, :])
    kind, of = kind_of(function), answers_of(name) if function == "several" else None
    ends = sorted(np.random.default_rng(3).choice(6000, 80, replace=False).tolist())
    runs = []
    for segments, calls in (([], []), (ends, [40, 41, 150, 222])):
        contents, clock, k_ms = in_segments(kind, rows, segments, [of]), StreamClock(), []
        stamp_settings(clock, policy(name, of).model_dump_json(), BEFORE_ALL)
        for a, b in itertools.pairwise([0, *calls, len(ticks)]):
            k_ms += clock.advance(ticks[a:b], of_ticks(contents, ticks[a:b])).k_ms.tolist()
            clock = again(clock)
        runs.append(k_ms)
    assert runs[0] == runs[1]
    assert name in ("none", "k_slack", "cache_duration") or len(set(runs[0])) > 2


@every_policy
@drawn(30)
@given(rows=TICKS, data=st.data())
def test_windows_closed_by_silence_do_not_change_k(name: str, rows: list, data) -> None:
    ticks = ticks_of(rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4), label="cuts"))
    assert slack(name, ticks, cuts, quiet=True) == slack(name, ticks, [])


@every_policy
def test_settings_survive_json(name: str) -> None:
    assert policy_from_json(policy(name).model_dump_json()) == policy(name)


@every_policy
def test_settings_are_frozen(name: str) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        policy(name).policy = "other"  # type: ignore[misc]


@every_policy
def test_unknown_settings_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        policy_from_json(json.dumps({"policy": name, "strange": 1} | SAMPLES[name]))


@given(TICKS)
@drawn(20)
def test_none_has_slack_zero(rows: list) -> None:
    assert set(slack("none", ticks_of(rows), [])) <= {0}


@given(TICKS)
@drawn(20)
def test_k_slack_has_its_constant_k(rows: list) -> None:
    assert set(slack("k_slack", ticks_of(rows), [])) <= {250}


@given(TICKS)
@drawn(30)
def test_mp_k_slack_has_the_largest_delay_so_far(rows: list) -> None:
    ticks = ticks_of(rows)
    expected, t_max, largest = [], None, 0
    for low, high in zip(ticks.min_event.tolist(), ticks.max_event[0].tolist(), strict=True):
        t_max = high if t_max is None else max(t_max, high)
        largest = max(largest, t_max - low)
        expected.append(largest)
    assert slack("mp_k_slack", ticks, []) == expected == sorted(expected)


@pytest.mark.needs("long")
@every_policy
@pytest.mark.parametrize(
    ("windows", "moved", "by", "scale"),
    [
        (Sliding(200, 100), Sliding(200, 100, 37), 37, 1),
        (Sliding(300, 200), Sliding(300, 200, -150), -150, 1),
        (Sliding(DAY, DAY), Calendar("day", "UTC"), 0, DAY // 200),
    ],
    ids=["moved", "moved back", "days"],
)
def test_the_slack_does_not_depend_on_where_windows_lie(
    name: str, windows: Windows, moved: Windows, by: int, scale: int
) -> None:
    draw, came = random.Random(1), []
    for number in range(3000):
        delay = draw.choice([0, 0, 0, 10, 50, 400])
        came.append(Arrival((5 * number + delay) // 10, 5 * number * scale, draw.randrange(30), draw.random()))
    came.sort(key=lambda each: each.tick)
    there = [each._replace(event=each.event + by) for each in came]
    model = model_of("sum")
    found = [
        slacks(policy(name), statistics_of(rows, where, model), [100, 700])[0]
        for rows, where in ((came, windows), (there, moved))
    ]
    assert found[0] == found[1]
    assert name in ("none", "k_slack", "cache_duration") or len(set(found[0])) > 1
