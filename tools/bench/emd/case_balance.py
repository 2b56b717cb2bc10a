"""The imbalance of work in the six joins of `CASES` at 5 tasks, by what the plans balance."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import pyarrow as pa

from bench.emd.films import CASES
from bench.emd.simulation import COST, SOLVES, simulate
from bench.progress import Echo, Row
from bench.rounds import interleaved
from tailrace.partition.feedback_balancing import load_imbalance
from tailrace.query.query import Query

FRAMES, RATE, TASKS, BATCH_MS = 300, 100, 5, 500

PLANS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "cost": ("emd_ddsj", {}, COST),
    "cost, spans of a bin": ("emd_ddsj", {"span": 1}, COST),
    "numbers of solves": ("emd_ddsj", {}, SOLVES),
    "none: shuffle": ("shuffle", {}, COST),
}
"""The method, its section, and the loads that it balances, by the name of a plan."""

_FIRST = 2  # the first batch that counts: the first two have no plan


def of_cases(rounds: int, echo: Echo) -> list[Row]:
    """Measure the imbalance of work of each join with each plan: medians and ranges of rounds."""
    rows = list[Row]()
    for case in CASES:
        streams = case.streams(FRAMES, RATE)
        contestants = {
            name: partial(_imbalance, case.query(method, 0.5, "1 s", **section), streams, terms)
            for name, (method, section, terms) in PLANS.items()
        }
        for name, mine in interleaved(contestants, rounds, "imbalance of work", echo).items():
            imbalances = [row["imbalance of work"] for row in mine]
            row: Row = {"case": case.name, "plans": name, "rounds": rounds, "exact": mine[-1]["exact"]}
            row |= {"imbalance of work": statistics.median(imbalances)}
            rows.append(row | {"least": min(imbalances), "greatest": max(imbalances)})
    return rows


def _imbalance(query: Query, streams: dict[str, pa.Table], terms: tuple[str, ...]) -> Row:
    run = simulate(query, streams, TASKS, BATCH_MS, terms=terms).since(_FIRST)
    return {"imbalance of work": load_imbalance(run.work_ms.sum(axis=0)), "exact": int(run.exact.sum())}
