"""Experiment on a jump of the delays: calibrations until the promise is kept again, by our and the paper's rule."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tailrace.bench.progress import Row, Tell
from tailrace.bench.simulate import RecordedStream, simulate
from tailrace.bench.topk.calibrated import Calibration, calibrations, search_of, stamped
from tailrace.bench.topk.methods import whole
from tailrace.bench.topk.paper_query import ACCURACY, ADAPTIVE, expected_hit_rate, generate_stream, policy_of, query
from tailrace.calibration.search import Bracket, SlackSearch
from tailrace.generators.replay import START_MS

BEFORE_MS, AFTER_MS, EVERY_MS = 1_000, 10_000, 300_000
RATE, SECONDS, TOLD = 50, 14_400, 10
RULES = {"ours": True, "the paper's": False}
"""By rule: True if the interval may double."""


class Followed(NamedTuple):
    """Calibrations and windows under a rule, and the event time (ms) at which the delays jump."""

    rule: str
    steps: list[Calibration]
    windows: pd.DataFrame
    jump_ms: int

    def rows(self) -> list[Row]:
        """Return a row for each of the first `TOLD` calibrations after the jump, over the answers until the next."""
        rows = list[Row]()
        for number, step in enumerate([step for step in self.steps if step.at_ms > self.jump_ms][:TOLD], start=1):
            closed = self.windows["closed"]
            windows = self.windows[(closed > step.at_ms) & (closed <= step.at_ms + EVERY_MS)]
            row = {"rule": self.rule, "calibration": number, "searched": str(step.interval)}
            row |= {
                "K s": step.next_interval.k_ms / 1000,
                "hit(K)": expected_hit_rate(step.next_interval.k_ms, AFTER_MS),
            }
            rows.append(row | {"accuracy until the next": float(1 - windows["error"].mean())})
        return rows


def drift(tell: Tell) -> list[Followed]:
    """Run each rule on a stream whose delays have the mean 1 s in its first half, and 10 s in the second.

    It is calibrated every five minutes.
    """
    topk_query, results = query(ADAPTIVE), list[Followed]()
    stream = RecordedStream.of(topk_query, generate_stream({0.0: BEFORE_MS, 0.5: AFTER_MS}, SECONDS, RATE, 4))
    jump_ms = START_MS + SECONDS * 500
    for rule, doubling in RULES.items():
        steps = list(calibrations(topk_query, stream, EVERY_MS, doubling))
        result = Followed(rule, steps, whole(simulate(topk_query, stream, stamped(topk_query, steps))), jump_ms)
        tell(f"{rule}: K after the jump " + ", ".join(format(row["K s"], "g") for row in result.rows()) + " s")
        results.append(result)
    return results


def needed() -> list[Row]:
    """Count the calibrations, without noise, that each rule takes from the jump to a K with hit(K) ≥ ε.

    K is the slack (allowed lateness).
    """
    rows, topk_query = list[Row](), query(ADAPTIVE)
    for rule, doubling in RULES.items():
        search = search_of(topk_query, doubling)
        interval = search.start(policy_of(topk_query).k_ms)
        while (next_interval := search.next(interval, _exact(search, interval, BEFORE_MS))) != interval:
            interval = next_interval
        for number in count(1):
            interval = search.next(interval, _exact(search, interval, AFTER_MS))
            if expected_hit_rate(interval.k_ms, AFTER_MS) >= ACCURACY:
                rows.append({"rule": rule, "calibrations": number, "K s": interval.k_ms / 1000})
                break
    return rows


def _exact(search: SlackSearch, interval: Bracket, tau_ms: int) -> NDArray[np.float64]:
    return np.array([expected_hit_rate(duration, tau_ms) for duration in search.durations(interval).tolist()])
