"""Accuracies measured with the stream's operator, against the oracle, which runs the query with each K."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kit.draws import aggregates
from kit.draws.streams import disordered
from kit.oracles.oracle import Settings, Tuple, batch, stream, ticks_of
from kit.runs.harness import windows_of
from kit.suite.examples import drawn
from tailrace.aggregate.kind import Aggregate
from tailrace.calibration.measure import Accuracies, EventTimeCourse, measure, settling_ms
from tailrace.calibration.standard_error import LossOverlap
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.sliding import Sliding

pytestmark = pytest.mark.slow

EPOCH = 1_577_836_800_000
SPAN = 10**8
NO_DELAYS = np.zeros(1, np.int64)


def kind_of(query: Settings) -> Aggregate:
    return aggregates.kind_of(windows_of(query), query.function, query.q)


def columns(tuples: list[Tuple], query: Settings) -> tuple[pa.RecordBatch, EventTimeCourse]:
    tick = np.array([number for number, _ in ticks_of(tuples, query.tick)], np.int64)
    event = np.array([item.event_time for item in tuples], np.int64)
    content = {
        "event_time": pa.array(event),
        "key": pa.array([item.key for item in tuples], pa.string()),
        "tick": pa.array(tick),
        "value": pa.array([item.value for item in tuples], pa.float64()),
    }
    return pa.RecordBatch.from_pydict(content), EventTimeCourse.from_tuples(tick, event)


def accuracy(tuples: list[Tuple], query: Settings, duration: int, ends: list[int]) -> list[float]:
    """The accuracy of each window, computed by the oracle: 1 − the mean relative error over its keys."""
    policy = ("k_slack", duration) if duration else "none"
    streamed = stream(tuples, replace(query, policy=policy, changes=(), skew=None)).answers
    accuracies = []
    for end in ends:
        errors = []
        for window, true in batch(tuples, query).items():
            if window[2] == end:
                answer = streamed[window].value if window in streamed else None
                errors.append(1.0 if answer is None else min(abs(answer - true.value) / (abs(true.value) or 1.0), 1.0))
        accuracies.append(1 - sum(errors) / len(errors))
    return accuracies


@drawn(60)
@given(disordered(min_tuples=2, placed=True), st.data())
def test_the_accuracy_is_that_of_the_stream_with_each_duration_as_slack(case, data):
    tuples, query = case
    tuples = [item._replace(value=float(round(item.value) % 1000)) for item in tuples]
    span = max(item.event_time for item in tuples) - min(item.event_time for item in tuples)
    assume(span < SPAN)
    kind, (content, course) = kind_of(query), columns(tuples, query)
    choices = st.integers(0, min(3 * query.size, span + 1))
    durations = sorted(data.draw(st.lists(choices, min_size=1, max_size=4, unique=True), label="durations"))
    exact = pa.Table.from_batches([kind.evaluate(content)])
    whole = exact.filter(pa.array(exact.column("window_end").to_numpy() + durations[-1] <= int(course.t_max[-1])))
    n = data.draw(st.integers(1, 6), label="windows")
    assume(whole.num_rows)
    keys = content.column("key")
    parts = [content.filter(pc.is_in(keys, pa.array([key], pa.string()))) for key in pc.unique(keys).to_pylist()]
    result = measure(kind, parts, course, np.array(durations), whole, n, NO_DELAYS)
    ends = sorted(set(whole.column("window_end").to_pylist()))[-n:]
    assert result.ends.tolist() == ends
    expected = [accuracy(tuples, query, duration, ends) for duration in durations]
    assert result.quality == pytest.approx(np.array(expected), abs=1e-9)
    assert result.accuracy == pytest.approx([np.mean(row) for row in expected], abs=1e-9)


def test_a_window_holds_what_arrives_before_t_max_reaches_its_end_plus_the_duration():
    """[0, 100) receives a tuple in time, one when t_max is 149, one in the tick of 150, and one after 200."""
    start, query = EPOCH, Settings(100, 100, 10, "count")
    events = [
        (start + 50, 0),
        (start + 149, 10),
        (start + 60, 20),
        (start + 150, 30),
        (start + 70, 30),
        (start + 201, 40),
        (start + 80, 50),
    ]
    events += [(start + 400, 60)]
    tuples = [Tuple(event, start + arrival, f"t{i}", "k", 1.0) for i, (event, arrival) in enumerate(events)]
    kind, (content, course) = kind_of(query), columns(tuples, query)
    exact = pa.Table.from_batches([kind.evaluate(content)])
    first = exact.filter(pa.array(exact.column("window_end").to_numpy() == start + 100))
    result = measure(kind, [content], course, np.array([0, 49, 50, 51, 102]), first, 1, NO_DELAYS)
    assert result.quality[:, 0].tolist() == [0.25, 0.25, 0.75, 0.75, 1.0]


def test_the_last_n_windows_with_tuples_are_measured():
    query = Settings(100, 100, 10, "count")
    tuples = [Tuple(EPOCH + 100 * i, EPOCH + 100 * i, f"t{i}", "k", 1.0) for i in (0, 1, 7, 8, 30)]
    kind, (content, course) = kind_of(query), columns(tuples, query)
    exact = pa.Table.from_batches([kind.evaluate(content)])
    result = measure(kind, [content], course, np.array([0]), exact, 3, NO_DELAYS)
    assert (result.ends - EPOCH).tolist() == [800, 900, 3100]


def test_the_course_of_t_max_does_not_depend_on_the_order_of_rows():
    order = np.array([3, 1, 0, 4, 2])
    tick, event = np.array([1, 1, 2, 5, 5])[order], np.array([10, 30, 20, 25, 50])[order]
    course = EventTimeCourse.from_tuples(tick, event)
    assert (course.tick.tolist(), course.t_max.tolist()) == ([1, 2, 5], [30, 30, 50])
    assert sorted(course.delays(tick, event).tolist()) == [0, 0, 10, 20, 25]
    assert course.last == 50
    empty = EventTimeCourse.from_tuples(tick[:0], event[:0])
    assert (empty.tick.tolist(), empty.last) == ([], BEFORE_ALL)


def test_the_standard_error_is_that_of_blocks_of_windows():
    """Of disjoint windows, too few for longer blocks, it is that of the mean of independent values."""
    ends, quality, windows = [100, 200, 300, 400], [1.0, 0.8, 1.0, 0.8], Sliding(100, 100)
    overlap = LossOverlap.from_delays(np.array([0, 0, 500]))
    apart = Accuracies(windows, np.array([0]), np.array(ends), np.array([quality]), overlap)
    assert apart.accuracy.tolist() == pytest.approx([0.9])
    assert apart.error.tolist() == pytest.approx([np.std(quality, ddof=1) / 2])


def test_a_window_is_complete_when_almost_no_tuple_is_missing():
    delays = np.arange(1000)
    assert settling_ms(delays, 10, 0.95) == 994 + 1
    assert settling_ms(delays, 10, 0.5) == 950
    assert settling_ms(delays, 10, 1.0) == 999
    assert settling_ms(delays, 5000, 0.95) == 5000
