"""Streams of rankings with delays of a known law, and the slack K* (allowed lateness) that their winners need.

The query is paper 001's, at 10 tuples a second. Scores may have a correlation with the delays, and a trend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.topk.paper_query import SIZE_MS, SLIDE_MS, TICK_MS, K
from tailrace.ground.arrow.times import EVENT_US

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

RATE = 10
_PANES = SIZE_MS // SLIDE_MS
_PANE_TUPLES = RATE * SLIDE_MS // 1000
_LOG_SD = np.pi / np.sqrt(6)  # of the logarithm of an exponential delay


class Tuples(NamedTuple):
    """Tuples in order of event time: event time, delay (both in ms) and score, shape (n,)."""

    event: Ints
    delay: Ints
    score: Floats


@dataclass(frozen=True)
class Delayed:
    """A law of delays and scores.

    Attributes
    ----------
    tau_ms : float
        The mean delay.
    correlation : float
        Of the score and the logarithm of the delay, before the trend.
    trend : float
        By how many deviations scores rise in a window's length.
    bursts : float
        The deviation of the logarithm of the delays' scale, an autoregressive process.
    burst_s : float
        Its correlation time.
    keys : int
        The number of keys, which have equally many tuples and a ranking each; it divides the tuples of a slide.
    keys_apart : float
        By how much the logarithm of the keys' mean delays is spread to either side.
    """

    tau_ms: float
    correlation: float = 0.0
    trend: float = 0.0
    bursts: float = 0.0
    burst_s: float = 60.0
    keys: int = 1
    keys_apart: float = 0.0

    def tuples(self, windows: int, rng: np.random.Generator) -> Tuples:
        """Generate a stream of `windows` whole windows."""
        n = (windows + _PANES - 1) * _PANE_TUPLES
        event = (np.arange(n) + rng.random(n)) * 1000 / RATE
        delay = rng.exponential(1.0, n)
        normal = (np.log(delay) + np.euler_gamma) / _LOG_SD
        score = self.correlation * normal + np.sqrt(1 - self.correlation**2) * rng.normal(size=n)
        scale = np.exp(self.bursts * self._process(event, rng)) if self.bursts else 1.0
        scale = scale * np.exp(self.keys_apart * np.linspace(-1, 1, self.keys))[np.arange(n) % self.keys]
        return Tuples(
            event.astype(np.int64), (self.tau_ms * scale * delay).astype(np.int64), score + self.trend * event / SIZE_MS
        )

    def _process(self, event: Floats, rng: np.random.Generator) -> Floats:
        """Return a stationary autoregressive process of unit variance at each event time, by seconds."""
        kept = np.exp(-1 / self.burst_s)
        noise = rng.normal(size=int(event[-1] // 1000) + 1)
        noise[1:] *= np.sqrt(1 - kept**2)
        values = noise.tolist()
        for second in range(1, len(values)):
            values[second] += kept * values[second - 1]
        return np.array(values)[(event // 1000).astype(np.int64)]


def arrived(tuples: Tuples, until_ms: int | None = None, keys: int = 1) -> pa.RecordBatch:
    """Return the tuples that arrived before a point of time, in order of arrival, as a top-k query reads them.

    Keys take turns.
    """
    arrival = tuples.event + tuples.delay
    order = np.argsort(arrival, kind="stable")
    order = order if until_ms is None else order[arrival[order] < until_ms]
    columns = {
        "event_time": tuples.event[order],
        EVENT_US: np.zeros(len(order), np.int64),
        "arrival_time": arrival[order],
        "tick": arrival[order] // TICK_MS,
        "id": order,
        "score": tuples.score[order],
    }
    key = pa.nulls(len(order), pa.string()) if keys == 1 else pa.array(order % keys).cast(pa.string())
    return pa.RecordBatch.from_pydict(columns | {"key": key})


def needed_ms(tuples: Tuples, keys: int = 1) -> Ints:
    """Return the wait below which each window loses each of its keys' winners, ascending; by sorting every window.

    A window closes at the first tick at whose end t_max has passed its end by the wait.
    """
    winner = np.concatenate([_winners(tuples.score, key, keys) for key in range(keys)], axis=1)
    end = (np.arange(len(winner))[:, None] + _PANES) * SLIDE_MS
    tick = (tuples.event + tuples.delay) // TICK_MS
    t_max = np.zeros(int(tick.max()) + 2, np.int64)
    np.maximum.at(t_max, tick + 1, tuples.event)
    return np.sort((np.maximum.accumulate(t_max)[tick[winner]] - end).ravel())


def _winners(score: Floats, key: int, keys: int) -> Ints:
    """Return the rows of a key's winners, shape (windows, K)."""
    rows = np.arange(key, len(score), keys).reshape(-1, _PANE_TUPLES // keys)
    best = np.take_along_axis(rows, np.argsort(-score[rows], axis=1)[:, :K], axis=1)
    windows = len(rows) - _PANES + 1
    candidates = np.concatenate([best[first : first + windows] for first in range(_PANES)], axis=1)
    top = np.argpartition(-score[candidates], K - 1, axis=1)[:, :K]
    return np.asarray(np.take_along_axis(candidates, top, axis=1))
