"""Experiment on the promise of a calibrated slack K (allowed lateness), paper 001, section 2.1.

Delays are exponential, since a formula then gives the right K.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.progress import Echo, Row
from bench.simulate import RecordedStream
from bench.topk.calibrated import calibrations, estimates, newest, search_of
from bench.topk.paper_query import (
    ACCURACY,
    ADAPTIVE,
    SIZE_MS,
    SLIDE_MS,
    TICK_MS,
    K,
    expected_hit_rate,
    generate_stream,
    policy_of,
    query,
    smallest_slack_ms,
)
from tailrace.calibration.search import Bracket

TAUS_MS = (1_000, 3_000, 6_000, 10_000)
WAITS_MS = np.array([0, 1_000, 2_000, 4_000, 8_000, 12_000])
WINDOWS, RATE = 2_000, 50
EVERY_MS, HOURS, SETTLED = 300_000, 6, 12
MANY, STEPS = 20_000, 200
SEARCHES = {"search": True, "paper": False}
"""By method: whether its interval may double."""

CLOSE, LONGEST = 0.01, 1.25
"""How far below the accuracy a right K may fall, and how many times K* it may be."""


def hit_rates(echo: Echo) -> list[Row]:
    """Measure the hit rate of each wait over `WINDOWS` windows, beside the formula's.

    The frontier F (the watermark) follows t_max, which lags behind the clock of arrivals: the formula is given for
    the wait, and for the wait plus the lag.
    """
    rows: list[Row] = []
    for tau_ms in TAUS_MS:
        topk_query = query(ADAPTIVE | {"queries": WINDOWS})
        stream = _stream(tau_ms, WINDOWS, 1)
        lag_ms = _lag(stream)
        measured = newest(topk_query, stream).measure(WAITS_MS).measured
        columns = zip(WAITS_MS.tolist(), measured.accuracy.tolist(), measured.error.tolist(), strict=True)
        for wait_ms, accuracy, error in columns:
            row = {"τ s": tau_ms / 1000, "K s": wait_ms / 1000, "hit(K)": expected_hit_rate(wait_ms, tau_ms)}
            row |= {"hit(K + lag)": expected_hit_rate(wait_ms + lag_ms, tau_ms), "hit rate": accuracy, "share ±": error}
            rows.append(row | {"lag s": lag_ms / 1000})
        echo(f"τ = {tau_ms / 1000:g} s: hit rates {', '.join(f'{rate:.4f}' for rate in measured.accuracy)}")
    return rows


def settled(echo: Echo) -> list[Row]:
    """Return the spread of the calibrated K after the first `SETTLED` calibrations, by each method.

    Each calibration is over 30 windows; the search is also run over `MANY` windows.
    """
    rows: list[Row] = []
    topk_query = query(ADAPTIVE)
    for tau_ms in TAUS_MS:
        stream = _stream(tau_ms, HOURS * 3_600_000 // SLIDE_MS, 2)
        for method, doubling in SEARCHES.items():
            steps = list(calibrations(topk_query, stream, EVERY_MS, doubling))[SETTLED:]
            error = float(np.mean([step.accuracy[1] for step in steps if step.accuracy]))
            row = _row(method, tau_ms, np.array([step.next_interval.k_ms for step in steps]), error)
            rows.append(row | {f"K s, {MANY:,} windows": ends(tau_ms, doubling).k_ms / 1000})
        settled = [estimate for _, estimate in estimates(topk_query, stream, EVERY_MS)][SETTLED:]
        error = float(np.mean([one.error[one.durations == one.k_ms][0] for one in settled]))
        row = _row("two_scales", tau_ms, np.array([one.k_ms for one in settled]), error)
        rows.append(row | {f"K s, {MANY:,} windows": None})
        for each in rows[-len(SEARCHES) - 1 :]:
            echo(
                "  ".join(
                    f"{name} {value:.4g}" if isinstance(value, float) else str(value) for name, value in each.items()
                )
            )
    return rows


def _row(method: str, tau_ms: int, k: NDArray[np.int64], error: float) -> Row:
    """Return the spread of some K (ms), and the share of them that is right: nearly sufficient, and not much too long.

    Where K* is 0, a tenth of a second is not too long.
    """
    rates = np.array([expected_hit_rate(k_ms, tau_ms) for k_ms in k])
    is_right = (rates >= ACCURACY - CLOSE) & (k <= max(LONGEST * smallest_slack_ms(tau_ms), TICK_MS))
    row: Row = {"τ s": tau_ms / 1000, "K* s": smallest_slack_ms(tau_ms) / 1000, "method": method}
    spread = {"mean K s": k.mean(), "5 % K s": np.quantile(k, 0.05), "95 % K s": np.quantile(k, 0.95)}
    row |= {"calibrations": len(k)} | {name: float(value) / 1000 for name, value in spread.items()}
    row |= {"hit(K), mean": float(rates.mean())}
    row |= {f"hit(K), {100 * share:g} %": float(np.quantile(rates, share)) for share in (0.05, 0.95)}
    return row | {"share ±": error, "share right": float(is_right.mean())}


def ends(tau_ms: int, doubling: bool = True, seed: int = 1) -> Bracket:
    """Return the interval at which a search ends if each calibration is over `MANY` disjoint windows.

    Windows wait by the clock of arrivals. Only the k best tuples of a window are simulated: at uniformly random
    places in it, with random delays.
    """
    rng, topk_query = np.random.default_rng(seed), query(ADAPTIVE)
    search = search_of(topk_query, doubling)
    interval = search.start(policy_of(topk_query).k_ms)
    for _ in range(STEPS):
        remaining_ms, delay_ms = SIZE_MS * rng.random((MANY, K)), rng.exponential(tau_ms, (MANY, K))
        quality = np.array(
            [(delay_ms <= remaining_ms + wait).mean(axis=1) for wait in search.durations(interval).tolist()]
        )
        interval = search.next(interval, quality.mean(axis=1), quality.std(axis=1, ddof=1) / np.sqrt(MANY))
    return interval


def _stream(tau_ms: int, windows: int, seed: int) -> RecordedStream:
    """Generate a stream that is long enough for `windows` whole windows."""
    seconds = (windows + 40) * SLIDE_MS // 1000 + 12 * tau_ms // 1000
    return RecordedStream.read(query(ADAPTIVE), generate_stream(tau_ms, seconds, RATE, seed))


def _lag(stream: RecordedStream) -> float:
    """Return the mean lag of t_max behind the ends of ticks, in ms."""
    event, tick = stream.column("event_time"), stream.column("tick")
    last = np.flatnonzero(np.diff(tick, append=tick[-1] + 1))
    return float(np.mean((tick[last] + 1) * TICK_MS - np.maximum.accumulate(event)[last]))
