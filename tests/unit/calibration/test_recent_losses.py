"""The losses of aggregates and pairs that a direct calibration measures, against the oracles' streams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.topk import measured_kinds
from bench.topk.calibrated import MemoryHistory
from bench.topk.delayed_rankings import Delayed, Tuples, arrived
from kit.draws import aggregates
from kit.draws.streams import disordered
from kit.fakes.toy_join import ToyJoin
from kit.oracles.oracle import Settings, Tuple, batch, stream, ticks_of
from kit.oracles.pair_oracle import LEFT, RIGHT, Item, Join, Read, batch_pairs, joined
from kit.runs.harness import windows_of
from kit.suite.examples import drawn
from tailrace.calibration.recent_losses import AggregateLosses, PairLosses
from tailrace.calibration.recent_windows import NotReady
from tailrace.calibration.two_scales.loss_sample import LossSample
from tailrace.calibration.two_scales.measured import MeasuredLosses
from tailrace.calibration.two_scales.measured_fit import MeasuredFit
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.functions.function import SecondColumn, Values
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.times import EVENT_US

SPAN, FOREVER, REACH, TICK = 10**8, 10**12, 50, 10
FEW = CacheDuration(policy="cache_duration", queries=2)
K_STAR_MS = 3_100
"""K* of sums with delays of a mean of 6 s, at 10 tuples a second."""


def quality(tuples: list[Tuple], query: Settings, wait: int, ends: set[int]) -> float:
    """1 − the mean relative error over the keys of each of these windows, by running the query with this wait."""
    policy = ("k_slack", wait) if wait else "none"
    streamed = stream(tuples, replace(query, policy=policy, changes=(), skew=None)).answers
    errors: dict[int, list[float]] = {}
    for window, true in batch(tuples, query).items():
        if window[2] in ends:
            answer = streamed[window].value if window in streamed else None
            error = 1.0 if answer is None else min(abs(answer - true.value) / (abs(true.value) or 1.0), 1.0)
            errors.setdefault(window[2], []).append(error)
    return 1 - float(np.mean([np.mean(of_keys) for of_keys in errors.values()]))


@drawn(60)
@given(disordered(min_tuples=2, placed=True), st.data())
def test_the_loss_of_aggregates_with_any_wait_is_that_of_the_stream(case, data):
    tuples, query = case
    assume(not FUNCTIONS[query.function].keeps_values)
    tuples = [item._replace(value=float(round(item.value) % 1000)) for item in tuples]
    first = min(item.event_time for item in tuples)
    span = max(item.event_time for item in tuples) - first
    assume(span < SPAN)
    wait = data.draw(st.integers(0, min(3 * query.size, span + 1)), label="wait")
    columns = {
        "event_time": pa.array([item.event_time for item in tuples], pa.int64()),
        "key": pa.array([item.key for item in tuples], pa.string()),
        "tick": pa.array([number for number, _ in ticks_of(tuples, query.tick)], pa.int64()),
        "value": pa.array([item.value for item in tuples], pa.float64()),
    }
    history = MemoryHistory(pa.RecordBatch.from_pydict(columns))
    calibration = AggregateLosses(
        aggregates.kind_of(windows_of(query), query.function, query.q), history, FEW, query.tick
    )
    read = calibration._read(first).sample
    sample = read.any.where(read.any.ends <= read.last - wait)
    assume(len(sample.ends))
    loss = MeasuredFit(sample, query.slide).loss(np.array([wait]))[0]
    assert loss == pytest.approx(1 - quality(tuples, query, wait, set(sample.ends.tolist())), abs=1e-9)


@st.composite
def side(draw: st.DrawFn, number: int) -> list[Item]:
    items, now = [], draw(st.integers(0, 30))
    for index in range(draw(st.integers(10, 40))):
        now += draw(st.integers(0, 20))
        delay = draw(st.sampled_from([0, 0, 0, 5, 40, 90, 200]))
        items.append(Item(10**6 + now - delay, 10**6 + now, f"{'lr'[number]}{index}", draw(st.sampled_from("ab"))))
    return items


def history_of(items: list[Item]) -> MemoryHistory:
    columns = {"event_time": [i.event_time for i in items], "tick": [i.arrival_time // TICK for i in items]}
    columns |= {"id": [i.id for i in items], "value": [str(i.value) for i in items], EVENT_US: [0] * len(items)}
    return MemoryHistory(pa.RecordBatch.from_pydict(columns))


@drawn(60)
@given(left=side(LEFT), right=side(RIGHT), wait=st.integers(0, 200))
def test_the_loss_of_pairs_with_any_wait_is_that_of_the_stream(left, right, wait):
    log = [Read(LEFT, item) for item in left] + [Read(RIGHT, item) for item in right]
    kind, join = ToyJoin(REACH), Join(REACH, TICK)
    true = batch_pairs(log, join)
    assume(true)
    calibration = PairLosses(kind, (history_of(left), history_of(right)), FEW, TICK, kind.answers.shortest_wait)
    sample = calibration._read(0).sample.any
    streamed = joined(log, replace(join, k=wait, idle=FOREVER)).pairs.keys()
    times = {item.id: item.event_time for item in left + right}
    shares = []
    for end in sample.ends.tolist():
        of_stretch = {pair for pair in true if end - REACH <= max(times[pair[0]], times[pair[1]]) < end}
        shares.append(len(of_stretch - streamed) / len(of_stretch))
    assert MeasuredFit(sample, REACH).loss(np.array([wait]))[0] == pytest.approx(np.mean(shares), abs=1e-9)


def test_functions_keep_values_as_their_bound_forms_do():
    for name, function in FUNCTIONS.items():
        second = SecondColumn("other", pa.float64())
        bound = function.bind(Values("value", pa.float64(), second=second), {"q": 0.5, "limit": 9})
        assert function.keeps_values == (bound.measure is not None), name


@pytest.mark.parametrize(("law", "k_star_ms", "seeds"), [("sum", K_STAR_MS, 6), ("pairs", 13_000, 2)])
def test_k_of_thirty_windows_is_within_a_quarter(law, k_star_ms, seeds):
    """The experiment over 200 seeds is tools/calibration_evidence.py."""
    found = list(measured_kinds.estimates(measured_kinds.LAWS[law], range(seeds), k_star_ms, 500))
    assert all(one.levels == 30 and one.is_narrow for one in found)
    assert all(abs(one.k_ms - k_star_ms) <= 0.25 * k_star_ms for one in found)
    assert all(one.lower_ms < one.k_ms < one.upper_ms for one in found)
    assert all(one.accuracy[one.durations == one.k_ms][0] >= 0.95 for one in found)


def test_bursts_leave_k_uncertain_and_the_estimate_says_so():
    (one,) = measured_kinds.estimates(measured_kinds.LAWS["sum, bursts"], [0], K_STAR_MS, 400)
    assert not one.is_narrow
    assert one.levels > 300, "history is read back"
    assert one.upper_ms - one.lower_ms > K_STAR_MS


def test_windows_before_a_change_of_the_delays_do_not_count():
    rng = np.random.default_rng(0)
    before, after = Delayed(1_000).tuples(300, rng), Delayed(10_000).tuples(60, rng)
    parts = zip(before, after._replace(event=after.event + 311 * 5_000), strict=True)
    tuples = arrived(Tuples(*(np.concatenate(each) for each in parts)))
    values = pa.array(np.exp(np.asarray(tuples.column("score")) / 2))
    history = MemoryHistory(tuples.append_column("value", values))
    one = AggregateLosses(measured_kinds._aggregate("sum"), history, measured_kinds.POLICY, 100).estimate(None).estimate
    assert 0 <= one.since - 311 * 5_000 <= 60_000
    assert one.k_ms == pytest.approx(10_600, rel=0.35)


def test_too_few_complete_windows_are_refused():
    with pytest.raises(NotReady, match="takes 30 windows"):
        list(measured_kinds.estimates(measured_kinds.LAWS["sum"], [0], 0, 20))
    with pytest.raises(NotReady, match="takes 30 stretches of time with pairs"):
        list(measured_kinds.estimates(measured_kinds.LAWS["pairs"], [0], 0, 20))


def sample_of(need: list[int], share: list[float]) -> LossSample:
    count = len(need)
    window, none = np.arange(count), np.zeros(count, np.int64)
    return LossSample(none, none, 100 * (window + 1), window, np.array(need), np.array(need), np.array(share))


def test_k_is_the_wait_from_which_on_no_longer_one_loses_too_much():
    """With a wait of 20 the mean of fewer values is nearer to the exact one, by chance."""
    fit = MeasuredFit(sample_of([10, 20, 30, 40], [0.4, 0.4, -0.4, 0.4]), 100)
    assert fit.loss(np.array([0, 10, 20, 30, 40])).tolist() == pytest.approx([0.2, 0.1, 0.0, 0.1, 0.0])
    assert fit.wait(0.05) == 40
    assert fit.wait(0.1) == 10
    assert fit.wait(0.25) == 0
    assert MeasuredFit(sample_of([10], [0.0]), 100).wait(0.0) == 0


def test_losses_of_a_tuple_in_many_windows_are_one_observation():
    """Every eleventh tuple of a series is late for ten windows: the error counts tuples, not windows."""
    rng = np.random.default_rng(0)
    windows, over = 4_000, 10
    late = np.flatnonzero(rng.random(windows) < 0.1)
    window = (late[:, None] + np.arange(over)).ravel()
    came = np.repeat((late + over) * 100, over)
    inside = window < windows
    ends = 100 * (np.arange(windows) + 1)
    need = np.maximum(came - ends[np.minimum(window, windows - 1)], 1)
    none = np.zeros(windows, np.int64)
    sample = LossSample(none, none, ends, window[inside], need[inside], came[inside], np.full(int(inside.sum()), 0.01))
    one = MeasuredLosses(1_000, 100, windows, 0.999).estimate(sample, 5, 0)
    true = 0.01 * over * np.sqrt(0.1 * 0.9 / windows)
    assert one.error[one.durations == 0][0] == pytest.approx(true, rel=0.2)
