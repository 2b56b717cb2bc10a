"""The balance of the tasks (figures 6, 7, 8 and 14, and a cut in a film), by the closed form on a line."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from bench.emd.films import UNIT, Films, as_streams, cut_film, join_query, scenes_copy, scenes_other
from bench.emd.simulated import SimulatedRun
from bench.emd.simulation import COST, Costs, simulate
from bench.progress import Echo, Row
from bench.rounds import interleaved, medians
from tailrace.partition.feedback_balancing import load_imbalance

METHODS = ("emd_ddsj", "shuffle", "head")
RATE, TASKS, BATCH_MS, THRESHOLD = 400, 8, 500, 0.1
CUT_RATE, CUT_THRESHOLD = 100, 0.3
"""Of the film with a cut; its shots have equal lengths and are alike, so its load is as even as a film's can be."""

PERIODS_MS = (500, 1000, 2500, 5000)
SPANS = (5, 15, 30, 60)
"""Widths of a span, in grey levels."""

PARALLELISM = (2, 5, 11, 17)

FILMS: dict[str, Callable[[int], Films]] = {"S ⋈ SS": scenes_copy, "S ⋈ M": scenes_other}

BUSY = 0.6
"""The share of time that the tasks work, with an even load, in the experiment on queues."""

FEEDBACK_MS, SPAN = 500, 15
"""The feedback period and the span, in grey levels, where nothing else is said."""

RANGED = ("imbalance of the run", "imbalance of work", "R-tuples/s")
"""The figures of a setting that have a range."""

_PERIOD = 5  # batches: 2.5 s
_PAPERS_PERIOD = {"feedback": "2500 ms"}
FIRST = 16  # the first batch that counts, as a plan exists by then for every length of the period
_SHOWN = 6  # periods after a cut


class Setting(NamedTuple):
    """A setting of the balance: a method with its feedback period and span, which only EMD-DDSJ has."""

    method: str = "emd_ddsj"
    tasks: int = TASKS
    feedback_ms: int = FEEDBACK_MS
    span: int = SPAN

    @property
    def section(self) -> dict[str, Any]:
        """The setting's part of the section `emd_join`."""
        if self.method != "emd_ddsj":
            return {}
        return {"feedback": f"{self.feedback_ms} ms", "span": self.span}

    @property
    def row(self) -> Row:
        """The cells that name the setting."""
        ours = self.method == "emd_ddsj"
        cells: Row = {"method": self.method, "tasks": self.tasks}
        return cells | {"feedback ms": self.feedback_ms if ours else None, "span": self.span if ours else None}


class CutRun(NamedTuple):
    """A run over a film with a cut: the imbalance of each feedback period, and the number of the first after the cut.

    The first batch belongs to no period: the first period begins with its end. The cut is one batch before the end of a
    period, the worst position: the next plan knows the new keys from one batch alone.
    """

    method: str
    imbalances: list[float]
    at: int

    @property
    def former(self) -> float:
        """The greatest imbalance of a period before the cut, except the first, which has no plan yet."""
        return max(self.imbalances[1 : self.at])

    @property
    def periods(self) -> int | None:
        """The periods from the cut on until the imbalance is at its former level; None where it never is."""
        after = (number for number, each in enumerate(self.imbalances[self.at :]) if each <= self.former)
        return next(after, None)

    def row(self) -> Row:
        """Return the figures of the run, and the imbalances of the first periods after the cut."""
        figures = {"method": self.method, "former imbalance": self.former, "periods until it is back": self.periods}
        after = self.imbalances[self.at : self.at + _SHOWN]
        return figures | {f"period {number}": value for number, value in enumerate(after)}


def by_setting(seconds: int, rounds: int, echo: Echo, terms: tuple[str, ...] = COST) -> list[Row]:
    """Run EMD-DDSJ by feedback period and span (figures 6, 7), and every method by tasks (8, 14).

    The settings take turns; rows have the medians of the rounds, and the ranges of `RANGED`. `terms` are the loads that
    the plans of EMD-DDSJ balance, as in `simulate`.
    """
    runs = [Setting(feedback_ms=each) for each in PERIODS_MS] + [Setting(span=each) for each in SPANS]
    runs += [Setting(method, tasks) for tasks in PARALLELISM for method in METHODS]
    return _runs(seconds, rounds, list(dict.fromkeys(runs)), echo, terms)


def of_setting(rows: Sequence[Row], join: str, setting: str) -> list[Row]:
    """Return the rows of EMD-DDSJ in which only a setting differs from the default ones, ordered by it."""
    mine = [row for row in rows if row["join"] == join and row["method"] == "emd_ddsj" and is_default(row, setting)]
    return sorted(mine, key=lambda row: row[setting])


def is_default(row: Row, setting: str) -> bool:
    """Test whether a row of EMD-DDSJ has the default settings, except for one."""
    default = {"tasks": TASKS, "feedback ms": FEEDBACK_MS, "span": SPAN}
    return all(row[name] == value for name, value in default.items() if name != setting)


def cut(periods: int, echo: Echo, terms: tuple[str, ...] = COST) -> list[CutRun]:
    """Run EMD-DDSJ and Head-SJ over a film of `periods` feedback periods that is cut in the middle.

    `terms` are the loads that the plans of EMD-DDSJ balance, as in `simulate`.
    """
    streams, results = _cut_streams(periods), []
    for method in ("emd_ddsj", "head"):
        section = {"threshold": CUT_THRESHOLD} | (_PAPERS_PERIOD if method == "emd_ddsj" else {})
        run = _run(method, section, TASKS, streams, terms)
        results.append(CutRun(method, run.since(1).imbalances(_PERIOD), periods // 2))
        echo(f"film cut, {method}: {', '.join(f'{each:.2f}' for each in results[-1].imbalances)}")
    return results


def queues(periods: int, echo: Echo) -> list[Row]:
    """Run EMD-DDSJ over that film with tasks that fall behind.

    One run's plans consider the queues, the other's do not.
    """
    streams, rows = _cut_streams(periods), list[Row]()
    section = {"threshold": CUT_THRESHOLD, "scale": UNIT} | _PAPERS_PERIOD
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
        echo(f"queues: {row}")
    return rows


def _cut_streams(periods: int) -> dict[str, pa.Table]:
    frames = CUT_RATE * BATCH_MS // 1000  # of a batch
    cut_at = frames * _PERIOD * (periods // 2)
    return as_streams(cut_film(frames * (1 + _PERIOD * periods), cut_at), CUT_RATE)


def _runs(seconds: int, rounds: int, settings: list[Setting], echo: Echo, terms: tuple[str, ...]) -> list[Row]:
    rows: list[Row] = []
    for join, film in FILMS.items():
        streams = as_streams(film(RATE * seconds), RATE)
        contestants = {", ".join(map(str, each)): partial(_measured, each, streams, terms) for each in settings}
        passes = interleaved(contestants, rounds, "imbalance of work", echo)
        for setting, mine in zip(settings, passes.values(), strict=True):
            row: Row = {"join": join, **setting.row, "rounds": rounds} | medians(mine)
            for name in RANGED:
                measured = [each[name] for each in mine]
                row |= {f"{name}, least": min(measured), f"{name}, greatest": max(measured)}
            rows.append(row)
    return rows


def _measured(setting: Setting, streams: dict[str, pa.Table], terms: tuple[str, ...]) -> Row:
    return _figures(_run(setting.method, setting.section, setting.tasks, streams, terms).since(FIRST))


def _run(
    method: str, setting: dict[str, Any], tasks: int, streams: dict[str, pa.Table], terms: tuple[str, ...]
) -> SimulatedRun:
    section = {"method": method, "threshold": THRESHOLD, "scale": UNIT} | setting
    return simulate(join_query(section), streams, tasks, BATCH_MS, terms=terms)


def _figures(run: SimulatedRun) -> Row:
    """Return the figures of a run, with the imbalance by periods, as the imbalance of the whole run hides changes."""
    return {
        "exact": int(run.exact.sum()),
        "imbalance of periods": statistics.mean(run.imbalances(_PERIOD)),
        "imbalance of the run": run.imbalance,
        "imbalance of work": load_imbalance(run.work_ms.sum(axis=0)),
        "R-tuples/s": run.throughput,
        "latency ms": run.mean_latency_ms,
    }
