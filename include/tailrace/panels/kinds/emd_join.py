"""The panel `kind` of an EMD join: the load of its tasks, the boundaries of their spans, and its filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.emd_join.planning import filters_of, method_of
from tailrace.panels.arrival_range import NOTHING_YET
from tailrace.panels.kinds.calibration import newest_calibration
from tailrace.panels.kinds.request import KindAnswer, KindRequest
from tailrace.panels.kinds.task_loads import TaskLoads, task_loads
from tailrace.panels.panel import Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.panels.series import POINTS
from tailrace.panels.stamped_facts import StampedFact, plans_from
from tailrace.partition.by_span import FARTHEST_SPAN
from tailrace.query.joins import EmdJoinQuery
from tailrace.storage.tables import within
from tailrace.tables.stream import METRICS

_COLUMNS = ("batch", "task", "committed", "answers", "load", "counts")
_COUNTS = ("candidates", "exact", "queries")


class Boundaries(Shown):
    """The bounds between the spans of neighbouring tasks over time, as partition plans move them.

    Attributes
    ----------
    at : list of int or None
        The arrival time (ms) from which a plan holds; null for the stream's beginning.
    cuts : list of list
        For each boundary between two tasks, its position under each plan, in the unit of the key; null beyond all keys.
    hot : list of list
        The hot spans of each plan, by their least keys. Two tasks share a hot span.
    """

    at: list[int | None]
    cuts: list[list[float | None]]
    hot: list[list[float]]


class Filter(Shown):
    """A filter of the chain: the pairs that reach it, and the pairs that it leaves undecided.

    A filter that is applied twice is shown at its first position, with all its decisions.
    """

    name: str
    pairs_in: int
    pairs_out: int


class EmdJoinAnswer(KindAnswer):
    """The work of an EMD join in a range of arrival.

    Attributes
    ----------
    loads : TaskLoads
        The exact distances that each task computed.
    filters : list of Filter
        In the order of their application; pairs that they leave undecided are computed exactly.
    candidates, exact, queries, pairs : int
        The pairs within reach of event time; the exact distances of pairs; the exact distances between queries, which
        help to decide pairs; and the answered pairs.
    """

    kind: Literal["emd_join"] = "emd_join"
    loads: TaskLoads
    boundaries: Boundaries
    filters: list[Filter]
    candidates: int
    exact: int
    queries: int
    pairs: int


def read(view: QueryView, request: KindRequest) -> EmdJoinAnswer:
    """Read the work in the requested range of arrival."""
    query, manifest = view.query, view.layout.read_manifest()
    if manifest is not None:
        query = query.fixed_by(manifest.structure)
    assert isinstance(query, EmdJoinQuery)
    ends = request.ends(view.tables)
    pieces, rows = Pieces(), METRICS.empty(_COLUMNS)
    no_plans = plans, plans_total = list[StampedFact](), 0
    if ends is not None:
        rows = view.tables.read_or_empty(METRICS, _COLUMNS, within("committed", *ends))
        plans, plans_total = pieces.read("boundaries", lambda: plans_from(view.tables, *ends, POINTS), no_plans)
    names = filters_of(query.emd_join)
    counts = _sums(rows["counts"], [*names, *_COUNTS])
    return EmdJoinAnswer(
        from_=None if ends is None else ends[0],
        to=None if ends is None else ends[1],
        loads=task_loads(rows),
        boundaries=_boundaries(plans, method_of(query.emd_join, query.emd_join.costs).width),
        filters=_filters(names, counts),
        **{name: counts[name] for name in _COUNTS},
        pairs=pc.sum(rows["answers"]).as_py() or 0,
        calibration=newest_calibration(view, pieces),
        note=_note(ends, rows.num_rows, plans_total),
        damaged=pieces.damaged,
    )


def _sums(counts: pa.ChunkedArray, names: Sequence[str]) -> dict[str, int]:
    """Return the sums of the named counts of some batches."""
    parts = {name: [pc.map_lookup(chunk, pa.scalar(name), "first") for chunk in counts.chunks] for name in names}
    return {name: sum(pc.sum(part).as_py() or 0 for part in each) for name, each in parts.items()}


def _filters(names: Sequence[str], counts: dict[str, int]) -> list[Filter]:
    """Return the filters with the pairs before and after each."""
    left, filters = counts["candidates"], []
    for name in names:
        filters.append(Filter(name=name, pairs_in=left, pairs_out=left - counts[name]))
        left -= counts[name]
    return filters


def _boundaries(plans: Sequence[StampedFact], width: float) -> Boundaries:
    """Return the boundaries of each plan; plans for fewer tasks, such as before a rebuild, have fewer."""
    cuts = [_places(plan.value["bounds"][1:-1], width) for plan in plans]
    most = max(map(len, cuts), default=0)
    padded: list[list[float | None]] = [[*each, *[None] * (most - len(each))] for each in cuts]
    return Boundaries(
        at=[plan.at for plan in plans],
        cuts=[list(each) for each in zip(*padded, strict=True)],
        hot=[(np.asarray(plan.value["hot"], float) * width).tolist() for plan in plans],
    )


def _places(spans: Sequence[Any], width: float) -> list[float | None]:
    """Return the positions of the starts of spans, in the unit of the key; None for the outermost ones."""
    return [None if abs(float(span)) >= FARTHEST_SPAN else float(span) * width for span in spans]


def _note(ends: tuple[int, int] | None, batches: int, plans: int) -> str | None:
    if ends is None:
        return NOTHING_YET
    if not batches:
        return "the stream has committed nothing in this range of arrival"
    if plans > POINTS:
        return f"{POINTS} of the {plans:,} partition plans are drawn"
    return None
