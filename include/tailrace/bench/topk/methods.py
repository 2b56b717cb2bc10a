"""The four methods on the same streams (paper 001, figure 6): accuracy and latency over run time, and by disorder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tailrace.bench.progress import Row, Tell
from tailrace.bench.simulate import Simulated, Stream, simulate
from tailrace.bench.topk.calibrated import calibrations, stamped
from tailrace.bench.topk.runs import ADAPTIVE, AT_ONCE, SIZE_MS, query, table
from tailrace.generators.replay import START_MS

RATE, SECONDS, SEED = 1000, 1800, 1
CALIBRATE_MS = 60_000
DISORDER = {"light": 1_000, "medium": 6_000, "heavy": 10_000}
METHODS: dict[str, dict[str, Any]] = {"adaptive": ADAPTIVE, "sma": AT_ONCE, "mintopk": AT_ONCE, "gstopk": AT_ONCE}


def methods(tell: Tell) -> dict[str, dict[str, Simulated]]:
    """Each disorder under each method; only `adaptive` waits, as long as it is calibrated to, every minute."""
    found: dict[str, dict[str, Simulated]] = {}
    for disorder, tau_ms in DISORDER.items():
        rows = table(tau_ms, SECONDS, RATE, SEED)
        found[disorder] = {}
        for method, policy in METHODS.items():
            asked = query(policy, method)
            stream = Stream.of(asked, rows)
            steps = calibrations(asked, stream, CALIBRATE_MS) if policy is ADAPTIVE else ()
            found[disorder][method] = run = simulate(asked, stream, stamped(asked, steps))
            mine = whole(run)
            tell(f"{disorder} {method:<8} {1 - mine['error'].mean():.2%} found, {mine['latency_s'].mean():.2f} s late")
    return found


def whole(run: Simulated) -> pd.DataFrame:
    """The windows that lie within the stream, with `latency_s`: from the end of each to its answer, in arrival time."""
    end = run.windows["window_end"]
    inside = (end >= START_MS + SIZE_MS) & (end <= run.frontier.t_max[-1] - SIZE_MS)
    mine = run.windows[inside]
    return mine.assign(latency_s=(mine["closed"] - mine["window_end"]) / 1000)


def rows(found: dict[str, dict[str, Simulated]]) -> list[Row]:
    """A row for each disorder and method; `settled` is over the second half of the run."""
    table: list[Row] = []
    for disorder, runs in found.items():
        for method, run in runs.items():
            mine = whole(run)
            settled = mine[len(mine) // 2 :]
            table.append(
                {
                    "disorder": disorder,
                    "mean delay s": DISORDER[disorder] / 1000,
                    "method": method,
                    "windows": len(mine),
                    "accuracy": float(1 - mine["error"].mean()),
                    "accuracy, settled": float(1 - settled["error"].mean()),
                    "latency s": float(mine["latency_s"].mean()),
                    "latency s, settled": float(settled["latency_s"].mean()),
                    "last K s": float(np.asarray(mine["k_ms"])[-1] / 1000),
                }
            )
    return table
