"""The three methods on the same tuples (figures 4, 9 to 13): exact distances, throughput and latency by θ and |W|."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from tailrace.bench.emd.films import CASES, Case
from tailrace.bench.emd.simulation import Simulated, simulate
from tailrace.bench.progress import Row, Tell

METHODS = ("emd_ddsj", "shuffle", "head")
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
WINDOWS_S = (1, 3, 5, 7, 9, 11)
FRAMES, RATE, TASKS, BATCH_MS = 150, 25, 5, 1000
"""The frames of a stream, frames a second, tasks, and the step of the window (table 3)."""

_WINDOW_CASES = (2, 4)  # of CASES: a real clip on the grid, and generated shots on the line
_SLOWER = 2  # times as slow are their streams, as |W| of 11 s is to be shorter than they are


def warm_up() -> None:
    """Run a join once for nothing: the solver's import takes seconds."""
    for case in CASES[::2]:
        simulate(case.query(), case.streams(RATE, RATE), TASKS, BATCH_MS)


def by_threshold(frames: int, tell: Tell) -> list[Row]:
    """Run every case by every method and threshold (figures 4, 9, 10, 11)."""
    settings = [{"threshold": each} for each in THRESHOLDS]
    return [row for case in CASES for row in _runs(case, frames, settings, tell)]


def by_window(frames: int, tell: Tell) -> list[Row]:
    """Run two cases by every method and |W| (figures 12, 13)."""
    windows = [{"within": f"{seconds} s"} for seconds in WINDOWS_S]
    return [row for at in _WINDOW_CASES for row in _runs(CASES[at], frames, windows, tell, RATE / _SLOWER)]


def by_scale(frames: int, tell: Tell) -> list[Row]:
    """Run the real clip S ⋈ SS on the line by the scales that the errata name: raw bins, and all of them."""
    settings = [{"scale": scale, "threshold": each} for scale in (1, 255) for each in THRESHOLDS[::2]]
    return list(_runs(CASES[0], frames, settings, tell))


def _runs(case: Case, frames: int, settings: Sequence[dict[str, Any]], tell: Tell, rate: float = RATE) -> Iterator[Row]:
    streams = case.streams(frames, rate)
    for setting in settings:
        for method in METHODS:
            run = simulate(case.query(method, **setting), streams, TASKS, BATCH_MS)
            row: Row = {"case": case.name, **setting, "method": method} | _figures(run)
            tell(
                ", ".join(
                    f"{name} {value:.4g}" if isinstance(value, float) else str(value) for name, value in row.items()
                )
            )
            yield row


def _figures(run: Simulated) -> Row:
    in_range = run.counts["candidates"] - run.counts.get("range", 0)
    return {
        "candidates": run.counts["candidates"],
        "in range": in_range,
        "pairs": run.pairs,
        "exact": run.counts["exact"],
        "R-tuples/s": run.throughput,
        "latency ms": run.mean_latency_ms,
        "imbalance": run.imbalance,
        "feasible": run.counts.get("feasible", 0),
        "triangle": run.counts.get("triangle", 0),
    }


def compared(rows: list[Row], setting: str) -> list[Row]:
    """Compare emd_ddsj with both baselines, setting by setting: the ratio of exact distances and of throughput."""
    results = []
    for case, value in dict.fromkeys((row["case"], row[setting]) for row in rows):
        ours, *others = (
            next(row for row in rows if (row["case"], row[setting], row["method"]) == (case, value, method))
            for method in METHODS
        )
        result: Row = {"case": case, setting: value, "pairs": ours["pairs"], "exact": ours["exact"]}
        for other in others:
            name = other["method"]
            result[f"exact, {name}"] = other["exact"]
            result[f"share fewer than {name}"] = 1 - ours["exact"] / other["exact"] if other["exact"] else None
            result[f"share faster than {name}"] = ours["R-tuples/s"] / other["R-tuples/s"] - 1
            result[f"share less latency than {name}"] = 1 - ours["latency ms"] / other["latency ms"]
        results.append(result)
    return results


def filters(rows: list[Row]) -> list[Row]:
    """The share of the candidates in range that the two filters of locality reject or accept, at θ = 0.5 (figure 4)."""
    return [
        {
            "case": row["case"],
            "locality": row["method"] == "emd_ddsj",
            **{f"share {name}": row[name] / max(row["in range"], 1) for name in ("feasible", "triangle", "exact")},
        }
        for row in rows
        if row["threshold"] == THRESHOLDS[2] and row["method"] != "head"
    ]


def ranges(rows: list[Row]) -> list[Row]:
    """The least, the median and the greatest share by which emd_ddsj is ahead, over all cases and settings."""
    results: list[Row] = []
    for name in (name for name in rows[0] if name.startswith("share")):
        values = [row[name] for row in rows if row[name] is not None]
        if values:
            extremes = {"share least": min(values), "share median": statistics.median(values)}
            row: Row = {"figure": name.removeprefix("share "), "settings": len(values)} | extremes
            results.append(row | {"share greatest": max(values)})
    return results
