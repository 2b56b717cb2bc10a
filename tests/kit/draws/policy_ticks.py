"""Complete ticks for policies: the statistics of plain tuples, cut into calls at will."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.error_model import AggregateErrorModel
from tailrace.aggregate.partials import combine
from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.tick_statistics import COUNTS, TickRows, TickStatistics
from tailrace.disorder.ticks import Ticks
from tailrace.functions.function import Values
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.windows import Windows

TICK = 10


class Arrival(NamedTuple):
    """A tuple: the number of its tick (10 ms each), its event time, its key as a number, its value or null."""

    tick: int
    event: int
    group: int = 0
    value: float | None = 1.0


def model_of(*functions: str, q: float = 0.9) -> AggregateErrorModel:
    """The error model of functions of the tuples' values, each under its own name; `count` counts tuples."""
    named = (
        NamedAggregate(each, each, None if each == "count" else Values("value", pa.float64()), {"q": q})
        for each in functions
    )
    return AggregateErrorModel(tuple(named))


def statistics_of(came: Sequence[Arrival], windows: Windows, promise: Any = None) -> TickStatistics:
    """The statistics of all ticks of a stream, in one call. All keys are in the sample, whatever the policy takes."""
    promise = promise or model_of("count")
    ticks, counts = defaultdict(list), defaultdict(int)
    panes = windows.pane(np.array([each.event for each in came], np.int64)).tolist()
    for each, pane in zip(came, panes, strict=True):
        ticks[each.tick].append(each.event)
        counts[each.tick, pane] += 1
    number = np.array(sorted(ticks), np.int64)
    of = [ticks[tick] for tick in number]
    low, high, many = (np.array([measure(events) for events in of], np.int64) for measure in (min, max, len))
    table = Ticks(number, (number + 1) * TICK, many, low, high[None, :])
    counted = pa.Table.from_pylist([dict(zip(COUNTS.names, (*at, n), strict=True)) for at, n in counts.items()], COUNTS)
    columns = {"tick": "tick", "event_time": "event", "key": "group"}
    came_columns = {name: pa.array([getattr(each, own) for each in came], pa.int64()) for name, own in columns.items()}
    came_columns |= {"value": pa.array([each.value for each in came], pa.float64())}
    partials = pa.table(combine(windows, promise.sampled([None]), pa.RecordBatch.from_pydict(came_columns)))
    partials = partials.set_column(0, "group", partials["key"].combine_chunks().dictionary_decode())
    sampled = partials.select(promise.sample.names)
    t_max = np.maximum.accumulate(high)
    largest = np.maximum.accumulate(np.maximum(t_max - table.min_event, 0))
    rows = (TickRows.from_table(part, table) for part in (counted, sampled))
    return TickStatistics(table, t_max, largest, BEFORE_ALL, BEFORE_ALL, windows, *rows, promise)


def slacks(
    policy: SlackPolicy, all_of_it: TickStatistics, cuts: Sequence[int] = ()
) -> tuple[list[int], dict[str, Any]]:
    """K at each tick, taken in in pieces, and what is kept in the end."""
    found, kept = [], {}
    for first, end in itertools.pairwise([0, *cuts, len(all_of_it)]):
        if first < end:
            k_ms, kept = policy.slack(all_of_it.between(first, end, BEFORE_ALL), kept)
            found += k_ms.tolist()
    return found, kept


def steady(seconds: float, delay=lambda event: 0, every: int = 5, start: int = 0) -> list[Arrival]:
    """A tuple each `every` ms of event time, as late as told by a function of it; in order of arrival."""
    events = range(start, start + int(seconds * 1000), every)
    return sorted((Arrival((event + delay(event)) // TICK, event) for event in events), key=lambda each: each.tick)
