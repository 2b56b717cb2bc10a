"""The query of paper 001, a generator of its streams, and its expected hit rate by theory.

The query (section 3.1) asks for the 5 best of windows of 60 s that slide by 5 s; delays are exponential.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from generators.delays import Exponential
from generators.replay import generate
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

K, SIZE_MS, SLIDE_MS, TICK_MS = 5, 60_000, 5_000, 100
ACCURACY = 0.95
ADAPTIVE = {"policy": "cache_duration", "accuracy": ACCURACY}
AT_ONCE = {"policy": "none"}


@dataclass(frozen=True)
class Delays:
    """Exponential delays of evenly spaced tuples, with a mean that changes along the stream.

    Attributes
    ----------
    means_ms : dict
        Maps the share of the tuples at which a mean begins (in order, the first at 0) to that mean.
    """

    means_ms: dict[float, int]

    def sample(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        bounds = [round(share * n) for share in self.means_ms] + [n]
        counts = np.diff(bounds).tolist()
        parts = zip(self.means_ms.values(), counts, strict=True)
        return np.concatenate([Exponential(mean).sample(length, rng) for mean, length in parts])


def generate_stream(tau_ms: int | dict[float, int], seconds: int, rate: int, seed: int) -> pa.Table:
    """Generate a stream in order of arrival, with delays of mean τ, or of successive means."""
    means = tau_ms if isinstance(tau_ms, dict) else {0.0: tau_ms}
    return generate(rate * seconds, rate, 1, Delays(means), seed)


def query(disorder: dict[str, Any], method: str = "adaptive", key: str | None = None) -> Query:
    """Return the paper's query under a disorder policy, with a top-k method; `key` is the stream's column of keys."""
    columns = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    columns |= {} if key is None else {"key": key}
    return declared_query(
        {
            "name": "best",
            "kind": "topk",
            "streams": {"readings": {"source": {"format": "parquet", "path": "readings"}} | columns},
            "window": {"size": f"{SIZE_MS} ms", "slide": f"{SLIDE_MS} ms"},
            "disorder": disorder | {"tick": f"{TICK_MS} ms"},
            "topk": {"k": K, "score": "value", "method": method},
        }
    )


def policy_of(topk_query: Query) -> CacheDuration:
    """Return the query's policy, which must be `cache_duration`."""
    assert isinstance(topk_query.policy, CacheDuration)
    return topk_query.policy


def expected_hit_rate(k_ms: float, tau_ms: float) -> float:
    """Return hit(K), the expected share of the correct top-k that a window contains K after its end.

    K is the slack (allowed lateness), here by the clock of arrivals.
    A tuple at a uniformly random place in the window, with an exponential delay of mean τ, is missing with the
    probability (τ/W)(1 − e^(−W/τ)) e^(−K/τ), whatever its score.
    """
    return 1 - tau_ms / SIZE_MS * (1 - math.exp(-SIZE_MS / tau_ms)) * math.exp(-k_ms / tau_ms)


def smallest_slack_ms(tau_ms: float) -> float:
    """Return K* in ms: the smallest slack K ≥ 0 with an expected hit rate of at least `ACCURACY`."""
    miss_rate = 1 - expected_hit_rate(0, tau_ms)
    return max(tau_ms * math.log(miss_rate / (1 - ACCURACY)), 0.0)
