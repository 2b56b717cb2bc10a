"""The balance of the tasks (figures 6, 7, 8 and 14, and a cut in a film), by the closed form on a line."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from tailrace.bench.emd.films import UNIT, Films, as_streams, cut_film, join_query, scenes_copy, scenes_other
from tailrace.bench.emd.methods import METHODS
from tailrace.bench.emd.simulated import SimulatedRun
from tailrace.bench.emd.simulation import Costs, simulate
from tailrace.bench.progress import Row, Tell
from tailrace.partition.feedback_balancing import load_imbalance

RATE, TASKS, BATCH_MS, THRESHOLD = 400, 8, 500, 0.1
CUT_RATE, CUT_THRESHOLD = 100, 0.3
"""Of the film with a cut; its shots are of one length and alike, so its load is as even as a film's can be."""

PERIODS_MS = (500, 1000, 2500, 5000, 10_000)
SPANS = (1, 5, 15, 30, 60)
"""Widths of a span, in grey levels."""

PARALLELISM = (2, 5, 8, 11, 14, 17)

FILMS: dict[str, Callable[[int], Films]] = {"S ⋈ SS": scenes_copy, "S ⋈ M": scenes_other}

BUSY = 0.6
"""The share of the time that the tasks work, were the load even, where the queues are looked at."""

_PERIOD = 5  # batches: the feedback period of 2.5 s
_FIRST = 26  # the first batch that counts: by then there is a plan at every length of the period
_SHOWN = 6  # periods after a cut


class CutRun(NamedTuple):
    """A run over a film with a cut: the imbalance of each feedback period, and the number of the first after the cut.

    The first batch is in no period: the first period begins with its end. The cut is a batch before the end of a
    period, which is the worst place for it: the next plan knows of the new keys by one batch alone.
    """

    method: str
    imbalances: list[float]
    at: int

    @property
    def former(self) -> float:
        """The greatest imbalance of a period before the cut, but for the first, in which there is no plan yet."""
        return max(self.imbalances[1 : self.at])

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


def cut(periods: int, tell: Tell) -> list[CutRun]:
    """Run EMD-DDSJ and Head-SJ over a film of so many feedback periods, which is cut in the middle."""
    streams, results = _cut_streams(periods), []
    for method in ("emd_ddsj", "head"):
        run = _run(method, {"threshold": CUT_THRESHOLD}, TASKS, streams)
        results.append(CutRun(method, run.since(1).imbalances(_PERIOD), periods // 2))
        tell(f"film cut, {method}: {', '.join(f'{each:.2f}' for each in results[-1].imbalances)}")
    return results


def queues(periods: int, tell: Tell) -> list[Row]:
    """Run EMD-DDSJ over that film where tasks fall behind, with plans that regard the queues, and with others."""
    streams, rows = _cut_streams(periods), list[Row]()
    section = {"threshold": CUT_THRESHOLD, "scale": UNIT}
    exact = simulate(join_query(section), streams, TASKS, BATCH_MS).exact
    costs = Costs(BUSY * TASKS * BATCH_MS * len(exact) / float(exact.sum()), 0.0)
    for regards_queues in (True, False):
        run = simulate(join_query(section), streams, TASKS, BATCH_MS, costs, regards_queues)
        after = run.since(1 + periods // 2 * _PERIOD)
        late = (after.latency_ms.max(axis=1) > 2 * BATCH_MS).nonzero()[0]
        row: Row = {"plans regard queues": "yes" if regards_queues else "no", "mean latency ms": run.mean_latency_ms}
        row |= {"longest latency s": float(run.latency_ms.max() / 1000)}
        row |= {"s from the cut until no task is 2 batches behind": float(late.max(initial=-1) + 1) * BATCH_MS / 1000}
        rows.append(row)
        tell(f"queues: {row}")
    return rows


def _cut_streams(periods: int) -> dict[str, pa.Table]:
    frames = CUT_RATE * BATCH_MS // 1000  # of a batch
    cut_at = frames * _PERIOD * (periods // 2)
    return as_streams(cut_film(frames * (1 + _PERIOD * periods), cut_at), CUT_RATE)


def _runs(seconds: int, runs: list[tuple[str, dict[str, Any], int]], tell: Tell) -> list[Row]:
    rows: list[Row] = []
    for name, film in FILMS.items():
        streams = as_streams(film(RATE * seconds), RATE)
        for method, setting, tasks in runs:
            run = _run(method, setting, tasks, streams)
            row: Row = {"join": name, "method": method, "tasks": tasks} | setting | _figures(run.since(_FIRST))
            tell(
                ", ".join(
                    f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
                )
            )
            rows.append(row)
    return rows


def _run(method: str, setting: dict[str, Any], tasks: int, streams: dict[str, pa.Table]) -> SimulatedRun:
    section = {"method": method, "threshold": THRESHOLD, "scale": UNIT} | setting
    return simulate(join_query(section), streams, tasks, BATCH_MS)


def _figures(run: SimulatedRun) -> Row:
    """The figures of a run; its imbalance by periods, too, as that of the run hides what comes and goes."""
    return {
        "exact": int(run.exact.sum()),
        "imbalance of periods": statistics.mean(run.imbalances(_PERIOD)),
        "imbalance of the run": run.imbalance,
        "imbalance of work": load_imbalance(run.work_ms.sum(axis=0)),
        "R-tuples/s": run.throughput,
        "latency ms": run.mean_latency_ms,
    }
