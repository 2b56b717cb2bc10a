"""Hit rates of top-k under exponential delays, against the formula (errata on paper 001).

Scores are independent of a delay of mean τ. A tuple of the window comes too late for an answer K after its end with
the probability (τ/W)(1 − e^(−W/τ)) e^(−K/τ), and so does each of the k best. F follows t_max, which lags behind the
clock of arrivals by next to nothing at this rate.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from tailrace.calibration.measure import Course, measure
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding

SIZE, SLIDE, RATE, SECONDS, TICK = 60_000, 5_000, 200, 6_000, 100
KIND = TopK(Sliding(SIZE, SLIDE), 5, True, {"score": "value"}, pa.string(), pa.int64())
WAITS = np.array([0, 2_000, 4_000, 12_000])


def hit(k_ms: float, tau_ms: float) -> float:
    return 1 - tau_ms / SIZE * (1 - math.exp(-SIZE / tau_ms)) * math.exp(-k_ms / tau_ms)


@pytest.mark.parametrize("tau_ms", [1_000, 3_000, 6_000, 10_000])
def test_measured_hit_rates_follow_the_formula(tau_ms):
    rng, n = np.random.default_rng(tau_ms), RATE * SECONDS
    event = np.arange(n) * 1000 // RATE
    arrival = event + rng.exponential(tau_ms, n).astype(np.int64)
    columns = {"event_time": event, "tick": arrival // TICK, "id": np.arange(n), "score": rng.normal(size=n)}
    order = np.argsort(columns["tick"], kind="stable")
    content = pa.RecordBatch.from_pydict(
        {name: pa.array(column[order]) for name, column in columns.items()} | {"key": pa.nulls(n, pa.string())}
    )
    exact = pa.Table.from_batches([KIND.evaluate(content)])
    end = exact.column("window_end").to_numpy()
    whole = exact.filter(pa.array((end >= SIZE) & (end <= 1000 * SECONDS - 12_000)))
    course = Course.of(columns["tick"], event)
    measured = measure(KIND, [content], course, WAITS, whole, 1_000)
    lag_ms = float(np.mean(TICK * (course.tick + 1) - course.t_max))  # by so much F is behind the arrivals
    for wait, rate, error in zip(WAITS.tolist(), measured.accuracy, measured.error, strict=True):
        noise = 3 * error + 1e-6  # next to 1 no window may be wrong
        assert hit(wait, tau_ms) - noise <= rate <= hit(wait + lag_ms, tau_ms) + noise, (wait, lag_ms)
    assert measured.error.max() < 0.02
    assert (np.diff(measured.accuracy) >= 0).all()
