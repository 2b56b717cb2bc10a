"""Experiment on the four methods over the same streams (paper 001, figure 6).

It measures accuracy and latency, over run time and by disorder.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tailrace.bench.progress import Row, Tell
from tailrace.bench.simulate import RecordedStream, Simulated, simulate
from tailrace.bench.topk.calibrated import calibrations, stamped
from tailrace.bench.topk.paper_query import ADAPTIVE, AT_ONCE, SIZE_MS, generate_stream, query
from tailrace.generators.replay import START_MS

RATE, SECONDS, SEED = 1000, 1800, 1
CALIBRATE_MS = 60_000
DISORDER = {"light": 1_000, "medium": 6_000, "heavy": 10_000}
METHODS: dict[str, dict[str, Any]] = {"adaptive": ADAPTIVE, "sma": AT_ONCE, "mintopk": AT_ONCE, "gstopk": AT_ONCE}


def methods(tell: Tell) -> dict[str, dict[str, Simulated]]:
    """Run each method under each disorder; only `adaptive` waits, for a time that is calibrated every minute."""
    runs: dict[str, dict[str, Simulated]] = {}
    for disorder, tau_ms in DISORDER.items():
        rows = generate_stream(tau_ms, SECONDS, RATE, SEED)
        runs[disorder] = {}
        for method, policy in METHODS.items():
            method_query = query(policy, method)
            stream = RecordedStream.of(method_query, rows)
            steps = calibrations(method_query, stream, CALIBRATE_MS) if policy is ADAPTIVE else ()
            runs[disorder][method] = run = simulate(method_query, stream, stamped(method_query, steps))
            frame = whole(run)
            tell(
                f"{disorder} {method:<8} {1 - frame['error'].mean():.2%} found, {frame['latency_s'].mean():.2f} s late"
            )
    return runs


def whole(run: Simulated) -> pd.DataFrame:
    """Return the windows within the stream, with `latency_s`, the arrival time from a window's end to its answer."""
    end = run.windows["window_end"]
    is_inside = (end >= START_MS + SIZE_MS) & (end <= run.frontier.t_max[-1] - SIZE_MS)
    windows = run.windows[is_inside]
    return windows.assign(latency_s=(windows["closed"] - windows["window_end"]) / 1000)


def rows(runs_by_disorder: dict[str, dict[str, Simulated]]) -> list[Row]:
    """Return a row for each disorder and method; `settled` columns are over the second half of the run."""
    result: list[Row] = []
    for disorder, runs in runs_by_disorder.items():
        for method, run in runs.items():
            windows = whole(run)
            settled_windows = windows[len(windows) // 2 :]
            result.append(
                {
                    "disorder": disorder,
                    "mean delay s": DISORDER[disorder] / 1000,
                    "method": method,
                    "windows": len(windows),
                    "accuracy": float(1 - windows["error"].mean()),
                    "accuracy, settled": float(1 - settled_windows["error"].mean()),
                    "latency s": float(windows["latency_s"].mean()),
                    "latency s, settled": float(settled_windows["latency_s"].mean()),
                    "last K s": float(np.asarray(windows["k_ms"])[-1] / 1000),
                }
            )
    return result
