"""The methods on the same films in interleaved rounds, a seed each (figures 4, 9 to 13), and by tasks (8, 14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench.emd.comparison import Comparison, compete
from bench.emd.contestants import FIRST, Contest, figures_of, shares_by_direction
from bench.emd.films import CASES
from bench.emd.regime_cases import NEAR, OURS, SHUFFLE, RegimeCase
from bench.emd.simulation import simulate
from bench.progress import Echo, Row
from tailrace.emd_join import chain

TASKS = 5
WINDOWS_S = (1, 2, 4)
WINDOW_FRAMES, WINDOW_SEEDS, WINDOW_THRESHOLD = 600, 5, 0.3
PARALLELISM = (2, 5, 8, 11, 14, 17)
TASK_SEEDS, TASK_FRAMES, TASK_WINDOW = 5, 120, "0.4 s"
SCALES, SCALE_THRESHOLDS, SCALE_FRAMES, SCALE_RATE = (1, 255), (0.1, 0.5, 0.9), 200, 100

Directions = dict[tuple[str, str], Counter[str]]
"""The counts of filters by method and direction."""


def warm_up() -> None:
    """Run a join without measuring, as importing the solver takes seconds."""
    simulate(CASES[-1].query(threshold=0.1), CASES[-1].streams(20, 100), 2, 500)


def by_threshold(cases: Sequence[RegimeCase], echo: Echo) -> tuple[list[Comparison], list[Row]]:
    """Compare all contestants on some joins, by θ; return the runs, and the shares of the filters by direction."""
    compared, filters = list[Comparison](), list[Row]()
    for case in cases:
        for threshold in case.thresholds:
            directions: Directions = {}
            place: Row = {"case": case.name, "θ": threshold}
            setting = place | {"W s": case.window_s, "frames": case.frames}
            compared.append(_rounds(case, setting, {}, case.contestants, case.seeds, TASKS, echo, directions))
            filters += [place | row for row in _shares(directions)]
    return compared, filters


def by_window(case: RegimeCase, frames: int, echo: Echo) -> list[Comparison]:
    """Compare EMD-DDSJ with ShuffleJ by |W|, once the window is full; only windows shorter than the streams."""
    results = []
    for seconds in WINDOWS_S:
        if seconds * case.rate < frames:
            longer = replace(case, frames=frames)
            setting: Row = {"case": case.name, "θ": WINDOW_THRESHOLD, "W s": seconds, "frames": frames}
            options, full = {"within": f"{seconds} s"}, max(int(seconds * 1000) // case.batch_ms, FIRST)
            results.append(_rounds(longer, setting, options, NEAR, WINDOW_SEEDS, TASKS, echo, first=full))
    return results


def by_tasks(case: RegimeCase, echo: Echo) -> list[Comparison]:
    """Compare EMD-DDSJ with ShuffleJ by the number of tasks, by the chain of filters."""
    short = replace(case, frames=TASK_FRAMES, within=TASK_WINDOW)
    return [
        _rounds(short, {"case": case.name, "tasks": tasks}, {}, NEAR, TASK_SEEDS, tasks, echo) for tasks in PARALLELISM
    ]


def by_scale(echo: Echo) -> list[Row]:
    """Run the real clip S ⋈ SS on the line with θ in grey levels, and in units of all 255 of them."""
    rows = list[Row]()
    streams = CASES[0].streams(SCALE_FRAMES, SCALE_RATE)
    for scale in SCALES:
        for threshold in SCALE_THRESHOLDS:
            for method in (OURS, SHUFFLE):
                run = simulate(CASES[0].query(method, threshold, "1 s", scale=scale), streams, TASKS, 500)
                counts = run.total_counts
                row: Row = {"scale": scale, "θ": threshold, "method": method, "candidates": counts["candidates"]}
                row |= {"in range": counts["candidates"] - counts["range"], "pairs": int(run.pairs.sum())}
                rows.append(row | {"exact": int(run.exact.sum())})
            echo(f"scale {scale}, θ {threshold}: {rows[-1]['pairs']} pairs")
    return rows


def _rounds(
    case: RegimeCase,
    setting: Row,
    options: Mapping[str, Any],
    contestants: Sequence[str],
    seeds: int,
    tasks: int,
    echo: Echo,
    directions: Directions | None = None,
    first: int = FIRST,
) -> Comparison:
    """Let the contestants take turns, each round on another film, see `compete`."""
    threshold = setting.get("θ", case.thresholds[0])

    def start_round(number: int) -> Callable[[str], Row]:
        contest = Contest(case, case.films(number + 1, case.frames), tasks)

        def run(name: str) -> Row:
            run = contest.run(name, threshold, **options)
            if directions is not None and number:
                for direction, counts in shares_by_direction(run).items():
                    directions[name, direction] = directions.get((name, direction), Counter()) + counts
            return figures_of(run, first)

        return run

    return compete(setting, contestants, seeds, start_round, "exact", echo)


def _shares(directions: Directions) -> Iterator[Row]:
    """Yield the share of the candidates in range that each filter of the chain decides, by direction."""
    for (method, direction), counts in sorted(directions.items()):
        if method in (OURS, SHUFFLE):
            in_range = max(counts["candidates"] - counts["range"], 1)
            shares = {f"share {name}": counts[name] / in_range for name in (*chain.ORDER[1:], "exact")}
            yield {"method": method, "direction": direction, "in range": in_range} | shares
