"""The contestants of a comparison on the same films, and the figures of a run of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.emd.films import Films, as_streams, join_query
from bench.emd.regime_cases import AGAIN, HEAD, HEAD_FLOW, OURS, SHUFFLE, RegimeCase
from bench.emd.simulated import SimulatedRun
from bench.emd.simulation import COST, simulate
from bench.progress import Row
from tailrace.emd_join import chain, head_search
from tailrace.emd_join.head_search import FLOW, HeadSearch
from tailrace.emd_join.planning import plan_of
from tailrace.emd_join.search import HistogramSearch, Rows
from tailrace.emd_join.section import EmdJoinSection
from tailrace.partition.feedback_balancing import load_imbalance
from tailrace.query.joins import EmdJoinQuery
from tailrace.query.query import Query

REFERENCES = 4
"""The number of frames of R over which Head-SJ's reference bound goes."""

_METHODS = {SHUFFLE: "shuffle", AGAIN: "shuffle", HEAD: "head", HEAD_FLOW: "head"}
FIRST = 2
"""The first batch that counts: the first two have no plan."""

TERMS = COST
"""What the plans of EMD-DDSJ balance."""

DIRECTIONS = ("R queries S", "S queries R")


@dataclass(frozen=True, eq=False)
class KnownReferences(HeadSearch):
    """The search of Head-SJ that computes a histogram's distances to the references once for all runs."""

    known: dict[bytes, Rows] = field(default_factory=dict)

    def reference_distances(self, shares: Rows) -> Rows:
        key = shares.tobytes()
        if key not in self.known:
            self.known[key] = super().reference_distances(shares)
        return self.known[key]


@dataclass(frozen=True)
class Contest:
    """A version of a join, on which each contestant runs.

    Attributes
    ----------
    known : dict
        As in `KnownReferences`.
    """

    case: RegimeCase
    films: Films
    tasks: int
    known: dict[bytes, Rows] = field(default_factory=dict)

    def run(self, contestant: str, threshold: float, within: str | None = None, **section: Any) -> SimulatedRun:
        """Run a contestant."""
        query = query_of(self.case, contestant, threshold, within, **section)
        assert isinstance(query, EmdJoinQuery)
        method = query.emd_join.method
        search = self._head(query.emd_join, contestant == HEAD_FLOW) if method == "head" else None
        streams = streams_of(self.films, self.case.rate, contestant)
        batch_ms = self.case.batch_ms  # after each of which there may be a plan
        run = simulate(query, streams, self.tasks, batch_ms, terms=TERMS, search=search, feedback_ms=batch_ms)
        if method != "shuffle" and not run.plans[FIRST:].all():
            raise RuntimeError(f"{contestant} has batches without a plan: {run.plans.tolist()}")
        return run

    def _head(self, section: EmdJoinSection, with_flow: bool) -> HistogramSearch:
        """Return Head-SJ's search with frames of R as references."""
        planned = plan_of(section).search
        assert isinstance(planned, HeadSearch)
        left = self.films[0]
        chosen = left[np.linspace(0, len(left) - 1, REFERENCES).astype(int)]
        search = KnownReferences(
            **{name: getattr(planned, name) for name in HeadSearch.__dataclass_fields__ if name != "by_part"}
        )
        filters = head_search.FILTERS | ({FLOW} if with_flow else frozenset[str]())
        return replace(search, references=chosen / chosen.sum(axis=1, keepdims=True), filters=filters, known=self.known)


def query_of(
    case: RegimeCase,
    contestant: str,
    threshold: float,
    within: str | None = None,
    directory: Path | None = None,
    tasks: int = 1,
    **section: Any,
) -> Query:
    """Return the join of a contestant, over streams in memory or below a directory; see `join_query`."""
    method = _METHODS.get(contestant, OURS)
    declared = {"method": method, "threshold": threshold, "distances": False} | case.ground | section
    if method == OURS:
        declared |= {"feedback": f"{case.batch_ms} ms"}
    return join_query(declared, within or case.within, directory, tasks)


def streams_of(films: Films, rate: float, contestant: str) -> dict[str, pa.Table]:
    """Return the streams of a contestant: the same histograms for each, but other ids for `shuffle again`."""
    return as_streams(films, rate, "other-" if contestant == AGAIN else "")


def figures_of(run: SimulatedRun, first: int = FIRST) -> Row:
    """Return the figures of a run from a batch on."""
    counted = run.since(first)
    return {
        "pairs": int(run.pairs.sum()),
        "exact": int(counted.exact.sum()),
        "work ms": float(counted.work_ms.sum()),
        "solving": counted.solving,
        "R-tuples/s": counted.throughput,
        "latency ms": counted.task_latency_ms,
        "imbalance of work": load_imbalance(counted.work_ms.sum(axis=0)),
    }


def shares_by_direction(run: SimulatedRun) -> dict[str, Counter[str]]:
    """Return the counts of candidates that each filter decides, by the side whose tuples are the queries."""
    names = ("candidates", *chain.ORDER, "exact")
    by_direction = zip(DIRECTIONS, run.since(FIRST).counts_by_direction, strict=True)
    return {direction: Counter({name: counts[name] for name in names}) for direction, counts in by_direction}
