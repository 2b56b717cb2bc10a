"""The balance of the tasks (figures 6, 7, 8 and 14, and a cut in a film), by the closed form on a line."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from tailrace.bench.emd.films import UNIT, Films, as_streams, cut_film, join_query, scenes_copy, scenes_other
from tailrace.bench.emd.methods import METHODS
from tailrace.bench.emd.simulation import Simulated, simulate
from tailrace.bench.progress import Row, Tell
from tailrace.partition.feedback_balancing import load_imbalance

RATE, TASKS, BATCH_MS, THRESHOLD, PERIOD_MS = 100, 8, 500, 0.3, 2500
PERIODS_MS = (500, 1000, 2500, 5000, 10_000)
SPANS = (1, 5, 15, 30, 60)
"""Widths of a span, in grey levels."""

_SHOWN = 6  # periods after a cut

PARALLELISM = (2, 5, 8, 11, 14, 17)

FILMS: dict[str, Callable[[int], Films]] = {"S ⋈ SS": scenes_copy, "S ⋈ M": scenes_other}


class Cut(NamedTuple):
    """A run over a film with a cut: the imbalance of each feedback period, and the first period after the cut."""

    method: str
    imbalances: list[float]
    at: int

    @property
    def former(self) -> float:
        """The greatest imbalance of a period before the cut, but for the first two, in which there is no plan yet."""
        return max(self.imbalances[2 : self.at])

    @property
    def periods(self) -> int | None:
        """The periods from the cut on until the imbalance is at its former level; None where it never is."""
        after = (number for number, each in enumerate(self.imbalances[self.at :]) if each <= self.former)
        return next(after, None)

    def row(self) -> Row:
        """The figures of the run, and the imbalances of the first periods after the cut."""
        figures = {"method": self.method, "former imbalance": self.former, "periods until it is back": self.periods}
        after = self.imbalances[self.at : self.at + _SHOWN]
        return figures | {f"period {number}": value for number, value in enumerate(after)}


def by_period(seconds: int, tell: Tell) -> list[Row]:
    """Run EMD-DDSJ by the length of the feedback period (figure 6)."""
    settings = [{"feedback": f"{each} ms"} for each in PERIODS_MS]
    return _runs(seconds, [("emd_ddsj", setting, TASKS) for setting in settings], tell)


def by_span(seconds: int, tell: Tell) -> list[Row]:
    """Run EMD-DDSJ by the width of a span (figure 7)."""
    return _runs(seconds, [("emd_ddsj", {"span": each}, TASKS) for each in SPANS], tell)


def by_tasks(seconds: int, tell: Tell) -> list[Row]:
    """Run every method by the number of tasks (figures 8 and 14)."""
    return _runs(seconds, [(method, {}, tasks) for tasks in PARALLELISM for method in METHODS], tell)


def cut(seconds: int, tell: Tell) -> list[Cut]:
    """Run EMD-DDSJ and Head-SJ over a film that is cut in the middle."""
    periods = seconds * 1000 // PERIOD_MS
    middle = periods // 2
    streams = as_streams(cut_film(RATE * seconds, RATE * PERIOD_MS * middle // 1000), RATE)
    results = []
    for method in ("emd_ddsj", "head"):
        run = _run(method, {}, TASKS, streams)
        results.append(Cut(method, run.imbalances(PERIOD_MS // BATCH_MS), middle))
        tell(f"film cut, {method}: {', '.join(f'{each:.2f}' for each in results[-1].imbalances)}")
    return results


def _runs(seconds: int, runs: list[tuple[str, dict[str, Any], int]], tell: Tell) -> list[Row]:
    rows: list[Row] = []
    for name, film in FILMS.items():
        streams = as_streams(film(RATE * seconds), RATE)
        for method, setting, tasks in runs:
            run = _run(method, setting, tasks, streams)
            row: Row = {"join": name, "method": method, "tasks": tasks} | setting | _figures(run)
            tell(
                ", ".join(
                    f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
                )
            )
            rows.append(row)
    return rows


def _run(method: str, setting: dict[str, Any], tasks: int, streams: dict[str, pa.Table]) -> Simulated:
    section = {"method": method, "threshold": THRESHOLD, "scale": UNIT} | setting
    return simulate(join_query(section), streams, tasks, BATCH_MS)


def _figures(run: Simulated) -> Row:
    """The figures of a run; its imbalance by periods, too, as that of the run hides what comes and goes."""
    periods = run.imbalances(PERIOD_MS // BATCH_MS)
    return {
        "exact": int(run.exact.sum()),
        "imbalance of periods": statistics.mean(periods),
        "imbalance of the run": run.imbalance,
        "imbalance of work": load_imbalance(run.work_ms.sum(axis=0)),
        "R-tuples/s": run.throughput,
        "latency ms": run.mean_latency_ms,
        "plans": run.plans,
    }
