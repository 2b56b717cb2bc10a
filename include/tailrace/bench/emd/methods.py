"""The three methods on the same tuples (figures 4, 9 to 13): exact distances, throughput and latency by θ and |W|."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from tailrace.bench.emd.films import CASES, FilmJoin
from tailrace.bench.emd.simulated import SimulatedRun
from tailrace.bench.emd.simulation import simulate
from tailrace.bench.progress import Row, Tell

METHODS = ("emd_ddsj", "shuffle", "head")
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
WINDOWS_S = (1, 3, 5, 7, 9, 11)
FRAMES, RATE, TASKS, BATCH_MS = 600, 12.5, 5, 2000
"""The frames of a stream, frames a second, tasks, and the length of a batch."""

WINDOW_CASES = (2, 4)
"""Of `CASES`, those that are measured by |W|: a real clip on the grid, and generated shots on the line."""

SLOWER = 2
"""How many times as slow their streams are, so that they are longer than |W|; so are their batches."""

_FIRST = 3  # the first batch that counts: by then there is a plan, and the window is full


def warm_up() -> None:
    """Run joins for nothing: the solver's import takes seconds."""
    for case in CASES[::2]:
        simulate(case.query(), case.streams(20, RATE), TASKS, BATCH_MS)


def by_threshold(frames: int, tell: Tell) -> list[Row]:
    """Run every case by every method and threshold (figures 4, 9, 10, 11)."""
    settings = [{"threshold": each} for each in THRESHOLDS]
    return [row for case in CASES for row in _runs(case, frames, settings, tell)]


def by_window(frames: int, tell: Tell) -> list[Row]:
    """Run two cases by every method and |W| (figures 12, 13)."""
    windows = [{"within": f"{seconds} s"} for seconds in WINDOWS_S]
    return [row for at in WINDOW_CASES for row in _runs(CASES[at], frames, windows, tell, SLOWER)]


def by_scale(frames: int, tell: Tell) -> list[Row]:
    """Run the real clip S ⋈ SS on the line with θ in grey levels, and in units of all 255 of them."""
    settings = [{"scale": scale, "threshold": each} for scale in (1, 255) for each in THRESHOLDS[::2]]
    return list(_runs(CASES[0], frames, settings, tell))


def _runs(
    case: FilmJoin, frames: int, settings: Sequence[dict[str, Any]], tell: Tell, slower: int = 1
) -> Iterator[Row]:
    """Run a case by every setting and method.

    Raises
    ------
    RuntimeError
        When two methods find other numbers of pairs.
    """
    streams = case.streams(frames, RATE / slower)
    for setting in settings:
        pairs = set()
        for method in METHODS:
            run = simulate(case.query(method, **setting), streams, TASKS, BATCH_MS * slower)
            pairs.add(int(run.pairs.sum()))
            row: Row = {"case": case.name, **setting, "method": method} | _figures(run.since(_FIRST))
            tell(
                ", ".join(
                    f"{name} {value:.4g}" if isinstance(value, float) else str(value) for name, value in row.items()
                )
            )
            yield row
        if len(pairs) > 1:
            raise RuntimeError(f"{case.name}, {setting}: the methods do not find the same pairs: {sorted(pairs)}")


def _figures(run: SimulatedRun) -> Row:
    counts = run.total_counts
    return {
        "candidates": counts["candidates"],
        "in range": counts["candidates"] - counts["range"],
        "pairs": int(run.pairs.sum()),
        "exact": int(run.exact.sum()),
        "R-tuples/s": run.throughput,
        "latency ms": run.mean_latency_ms,
        "imbalance": run.imbalance,
        "feasible": counts["feasible"],
        "triangle": counts["triangle"],
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
        {"case": row["case"], "method": row["method"]}
        | {f"share {name}": row[name] / max(row["in range"], 1) for name in ("feasible", "triangle", "exact")}
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
