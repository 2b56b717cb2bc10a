"""Experiment on a jump of the delays: calibrations until the promise is kept again, by three ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.progress import Echo, Row
from bench.simulate import RecordedStream, simulate
from bench.topk.calibrated import calibrations, estimates, search_of
from bench.topk.methods import whole
from bench.topk.paper_query import ACCURACY, ADAPTIVE, expected_hit_rate, generate_stream, policy_of, query
from generators.replay import START_MS
from tailrace.calibration.search import Bracket, SlackSearch
from tailrace.query.query import Query

BEFORE_MS, AFTER_MS, EVERY_MS = 1_000, 10_000, 300_000
RATE, SECONDS, LISTED = 50, 14_400, 10
FLOORS_MS = (100, 500, 1_500)
"""The least lengths of a part of the interval: ours, and up to the part of the paper's Table 1."""
RULES = {"ours": True, "the paper's": False}
"""By rule of the search: True if the interval may double."""


class Proposed(NamedTuple):
    """A calibration: its arrival time (ms), the newest complete tick, the interval that it searched, and its K."""

    at_ms: int
    tick: int
    searched: str
    k_ms: int


class Followed(NamedTuple):
    """Calibrations and windows under a rule, and the event time (ms) at which the delays jump."""

    rule: str
    steps: list[Proposed]
    windows: pd.DataFrame
    jump_ms: int

    def rows(self) -> list[Row]:
        """Return a row for each of the first `LISTED` calibrations after the jump, over the answers until the next."""
        rows = list[Row]()
        for number, step in enumerate([step for step in self.steps if step.at_ms > self.jump_ms][:LISTED], start=1):
            closed = self.windows["closed"]
            windows = self.windows[(closed > step.at_ms) & (closed <= step.at_ms + EVERY_MS)]
            row: Row = {"rule": self.rule, "calibration": number, "searched": step.searched}
            row |= {"K s": step.k_ms / 1000, "hit(K)": expected_hit_rate(step.k_ms, AFTER_MS)}
            rows.append(row | {"accuracy until the next": float(1 - windows["error"].mean())})
        return rows


def drift(echo: Echo) -> list[Followed]:
    """Run each rule on a stream whose delays have the mean 1 s in its first half, and 10 s in the second.

    The stream is calibrated every five minutes.
    """
    topk_query, results = query(ADAPTIVE), list[Followed]()
    stream = RecordedStream.read(topk_query, generate_stream({0.0: BEFORE_MS, 0.5: AFTER_MS}, SECONDS, RATE, 4))
    jump_ms = START_MS + SECONDS * 500
    for rule in (*RULES, "two_scales"):
        steps = list(_proposed(rule, topk_query, stream))
        settings = [(policy_of(topk_query).waiting(step.k_ms), step.tick) for step in steps]
        result = Followed(rule, steps, whole(simulate(topk_query, stream, settings)), jump_ms)
        echo(f"{rule}: K after the jump " + ", ".join(format(row["K s"], "g") for row in result.rows()) + " s")
        results.append(result)
    return results


def _proposed(rule: str, topk_query: Query, stream: RecordedStream) -> Iterator[Proposed]:
    if rule not in RULES:
        for tick, estimate in estimates(topk_query, stream, EVERY_MS):
            yield Proposed((tick + 1) * topk_query.tick_ms, tick, "–", estimate.k_ms)
        return
    for step in calibrations(topk_query, stream, EVERY_MS, RULES[rule]):
        yield Proposed(step.at_ms, step.tick, str(step.interval), step.next_interval.k_ms)


def needed() -> list[Row]:
    """Count the calibrations, without noise, that each rule takes from the jump to a K with hit(K) ≥ ε.

    K is the slack (allowed lateness). A part of the interval is no shorter than the floor.
    """
    rows, topk_query = list[Row](), query(ADAPTIVE)
    for (rule, doubling), floor_ms in product(RULES.items(), FLOORS_MS):
        search = replace(search_of(topk_query, doubling), step_ms=floor_ms)
        interval = search.start(policy_of(topk_query).k_ms)
        while (next_interval := search.next(interval, _exact(search, interval, BEFORE_MS))) != interval:
            interval = next_interval
        for number in count(1):
            interval = search.next(interval, _exact(search, interval, AFTER_MS))
            if expected_hit_rate(interval.k_ms, AFTER_MS) >= ACCURACY:
                rows.append(
                    {"rule": rule, "floor s": floor_ms / 1000, "calibrations": number, "K s": interval.k_ms / 1000}
                )
                break
    return rows


def _exact(search: SlackSearch, interval: Bracket, tau_ms: int) -> NDArray[np.float64]:
    return np.array([expected_hit_rate(duration, tau_ms) for duration in search.durations(interval).tolist()])
