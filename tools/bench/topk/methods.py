"""Experiment on the four methods over the same streams (paper 001, figure 6).

It measures accuracy and latency, over run time and by disorder.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bench.progress import Echo, Row
from bench.simulate import RecordedStream, Simulated, simulate
from bench.topk.calibrated import calibrations, stamped
from bench.topk.paper_query import ADAPTIVE, AT_ONCE, SIZE_MS, generate_stream, query
from generators.replay import START_MS

RATE, SECONDS = 1000, 1800
SEEDS = tuple(range(1, 11))
CALIBRATE_MS = 60_000
DISORDER = {"light": 1_000, "medium": 6_000, "heavy": 10_000}
_AVERAGED = ("accuracy", "accuracy, settled", "latency s", "latency s, settled", "last K s")
METHODS: dict[str, dict[str, Any]] = {"adaptive": ADAPTIVE, "sma": AT_ONCE, "mintopk": AT_ONCE, "gstopk": AT_ONCE}


def methods(echo: Echo) -> tuple[list[Row], dict[str, Simulated]]:
    """Run each method under each disorder and seed; only `adaptive` waits, for a time calibrated every minute.

    Returns a row for each run, and the runs of the first seed under medium disorder, by method.
    """
    rows, shown = list[Row](), dict[str, Simulated]()
    for disorder, tau_ms in DISORDER.items():
        for seed in SEEDS:
            tuples = generate_stream(tau_ms, SECONDS, RATE, seed)
            for method, policy in METHODS.items():
                run = _run(method, policy, tuples)
                rows.append({"disorder": disorder, "method": method, "seed": seed} | _row(run))
                if (disorder, seed) == ("medium", SEEDS[0]):
                    shown[method] = run
                accuracy, latency = rows[-1]["accuracy"], rows[-1]["latency s"]
                echo(f"{disorder} {method:<8} seed {seed}: {accuracy:.2%} found, {latency:.2f} s late")
    return rows, shown


def _run(method: str, policy: dict[str, Any], tuples: pa.Table) -> Simulated:
    method_query = query(policy, method)
    stream = RecordedStream.read(method_query, tuples)
    steps = calibrations(method_query, stream, CALIBRATE_MS) if policy is ADAPTIVE else ()
    return simulate(method_query, stream, stamped(method_query, steps))


def whole(run: Simulated) -> pd.DataFrame:
    """Return the windows within the stream, with `latency_s`, the arrival time from a window's end to its answer."""
    end = run.windows["window_end"]
    is_inside = (end >= START_MS + SIZE_MS) & (end <= run.frontier.t_max[-1] - SIZE_MS)
    windows = run.windows[is_inside]
    return windows.assign(latency_s=(windows["closed"] - windows["window_end"]) / 1000)


def by_method(runs: list[Row]) -> list[Row]:
    """Return a row for each disorder and method: means over the seeds, and the range of the accuracy."""
    rows = list[Row]()
    for disorder, method in product(DISORDER, METHODS):
        mine = [row for row in runs if (row["disorder"], row["method"]) == (disorder, method)]
        means = {name: float(np.mean([row[name] for row in mine])) for name in _AVERAGED}
        accuracy = [row["accuracy"] for row in mine]
        rows.append(
            {
                "disorder": disorder,
                "mean delay s": DISORDER[disorder] / 1000,
                "method": method,
                "seeds": len(mine),
                "accuracy": means["accuracy"],
                "accuracy, least": min(accuracy),
                "accuracy, greatest": max(accuracy),
                **{name: value for name, value in means.items() if name != "accuracy"},
            }
        )
    return rows


def _row(run: Simulated) -> Row:
    """Return the figures of a run; `settled` columns are over its second half."""
    windows = whole(run)
    settled = windows[len(windows) // 2 :]
    return {
        "windows": len(windows),
        "accuracy": float(1 - windows["error"].mean()),
        "accuracy, settled": float(1 - settled["error"].mean()),
        "latency s": float(windows["latency_s"].mean()),
        "latency s, settled": float(settled["latency_s"].mean()),
        "last K s": float(np.asarray(windows["k_ms"])[-1] / 1000),
    }
