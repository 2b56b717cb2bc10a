"""A jump of the delays in mid-stream: how soon calibrations keep the promise again, by our rule and by the paper's."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tailrace.bench.progress import Row, Tell
from tailrace.bench.simulate import Stream, simulate
from tailrace.bench.topk.calibrated import Calibration, calibrations, search_of, stamped
from tailrace.bench.topk.methods import whole
from tailrace.bench.topk.runs import ACCURACY, ADAPTIVE, hit, policy_of, query, table
from tailrace.calibration.search import Interval, Search
from tailrace.generators.replay import START_MS

BEFORE_MS, AFTER_MS, EVERY_MS = 1_000, 10_000, 300_000
RATE, SECONDS, TOLD = 50, 14_400, 10
RULES = {"ours": True, "the paper's": False}
"""Whether the interval may double."""


class Followed(NamedTuple):
    """What a rule did, and when the delays jump: in event time, ms."""

    rule: str
    steps: list[Calibration]
    windows: pd.DataFrame
    jump_ms: int

    def rows(self) -> list[Row]:
        """A row for each of the calibrations after the jump; answers are those up to the next one."""
        rows = list[Row]()
        for number, one in enumerate([one for one in self.steps if one.at_ms > self.jump_ms][:TOLD], start=1):
            answered = self.windows["closed"]
            mine = self.windows[(answered > one.at_ms) & (answered <= one.at_ms + EVERY_MS)]
            row = {"rule": self.rule, "calibration": number, "searched": str(one.interval)}
            row |= {"K s": one.found.k_ms / 1000, "hit(K)": hit(one.found.k_ms, AFTER_MS)}
            rows.append(row | {"accuracy until the next": float(1 - mine["error"].mean())})
        return rows


def drift(tell: Tell) -> list[Followed]:
    """Half of the stream has delays of mean 1 s, the other half of 10 s; it is calibrated every five minutes."""
    asked, found = query(ADAPTIVE), list[Followed]()
    stream = Stream.of(asked, table({0.0: BEFORE_MS, 0.5: AFTER_MS}, SECONDS, RATE, 4))
    jump_ms = START_MS + SECONDS * 500
    for rule, doubling in RULES.items():
        steps = list(calibrations(asked, stream, EVERY_MS, doubling))
        followed = Followed(rule, steps, whole(simulate(asked, stream, stamped(asked, steps))), jump_ms)
        tell(f"{rule}: K after the jump " + ", ".join(format(row["K s"], "g") for row in followed.rows()) + " s")
        found.append(followed)
    return found


def needed() -> list[Row]:
    """How many calibrations after the jump each rule takes to hit(K) ≥ ε, were accuracies measured without noise."""
    found, asked = list[Row](), query(ADAPTIVE)
    for rule, doubling in RULES.items():
        search = search_of(asked, doubling)
        interval = search.start(policy_of(asked).k_ms)
        while (after := search.next(interval, _exact(search, interval, BEFORE_MS))) != interval:
            interval = after
        for number in count(1):
            interval = search.next(interval, _exact(search, interval, AFTER_MS))
            if hit(interval.k_ms, AFTER_MS) >= ACCURACY:
                found.append({"rule": rule, "calibrations": number, "K s": interval.k_ms / 1000})
                break
    return found


def _exact(search: Search, interval: Interval, tau_ms: int) -> NDArray[np.float64]:
    return np.array([hit(duration, tau_ms) for duration in search.durations(interval).tolist()])
