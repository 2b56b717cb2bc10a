"""K of the demonstration's rankings of delayed flights, after growing parts of the sample: its winners come last."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from bench.progress import Row
from bench.simulate import RecordedStream
from bench.topk.calibrated import MemoryHistory
from tailrace.calibration.recent_winners import RecentWinners, sample_of
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.kind.protocol import windowed
from tailrace.kinds import build
from tailrace.query.declared import declared_query

PARTS = (0.05, 0.1, 0.25, 0.5, 1.0)
SAMPLE = Path("samples/flights")
"""The sample of a checkout, from its root."""

QUERY: dict[str, Any] = {
    "name": "delays",
    "kind": "topk",
    "streams": {
        "departures": {
            "source": {"format": "parquet", "path": "flights"},
            "event_time": "scheduled",
            "arrival_time": "actual",
            "id": "flight",
            "key": "origin",
        }
    },
    "window": {"size": "6 h", "slide": "1 h"},
    "disorder": {"policy": "cache_duration", "tick": "1 min"},
    "topk": {"k": 5, "score": "delay"},
}
_HOUR_MS = 3_600_000


def calibration(flights: pa.Table) -> RecentWinners:
    """Return the calibration of the query over flights in order of departure."""
    query, policy = declared_query(QUERY), CacheDuration(policy="cache_duration")
    stream = RecordedStream.read(query, flights)
    kind = windowed(build(query, [stream.types]))
    return RecentWinners(kind, MemoryHistory(stream.tuples), policy, query.tick_ms)


def k_by_all_tuples(calibration: RecentWinners) -> int:
    """Return the K (ms) that the delays of all tuples need, as if ranks did not depend on delays.

    A tuple at a uniformly random place in its window, delayed by δ, is lost with the probability min((δ − K)⁺, W) / W.
    """
    history, size_ms = calibration.history, calibration.kind.windows.size_ms
    delay = sample_of(calibration.kind, history.since(history.span()[0])).delay

    def lost(wait_ms: int) -> float:
        return float(np.clip(delay - wait_ms, 0, size_ms).mean()) / size_ms

    allowed = 1 - calibration.policy.accuracy
    return bisect_left(range(int(delay.max()) + 1), True, key=lambda wait_ms: lost(wait_ms) <= allowed)


def prefixes(sample: Path = SAMPLE) -> list[Row]:
    """Return K and its interval after each of `PARTS` of the sample, and the K by the delays of all tuples."""
    flights, rows = ds.dataset(sample).to_table().sort_by("actual"), list[Row]()
    for part in PARTS:
        each = calibration(flights.slice(0, round(part * flights.num_rows)))
        estimate = each.estimate(None).estimate
        hours = {"K h": estimate.k_ms, "lower h": estimate.lower_ms, "upper h": estimate.upper_ms}
        hours |= {"K h by all tuples": k_by_all_tuples(each)}
        row: Row = {"part": part, "windows": estimate.windows, "by winners": str(estimate.by_winners)}
        row |= {name: value / _HOUR_MS for name, value in hours.items()}
        rows.append(row | {"enough history": str(estimate.is_narrow)})
    return rows
