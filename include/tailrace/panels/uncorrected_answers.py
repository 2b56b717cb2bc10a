"""The late tuples that no correction covers, and the answers that they belong to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tailrace.correction.uncorrected import Interval, corrected_intervals, gap_of, near_gaps, uncovered
from tailrace.ground.columns import Ints
from tailrace.ground.duration import ms
from tailrace.ground.matching import select
from tailrace.ground.times import in_ms
from tailrace.panels.query_view import QueryView
from tailrace.storage.progress import committed_until
from tailrace.storage.tables import Tables, within

MOST_ROWS = 200_000
"""Rows of the table `late` that are read: with more uncorrected ones it is not known which answers lack a tuple."""


class UnknownError(Exception):
    """Raised where it is not known which answers lack late tuples."""


def read_uncorrected(view: QueryView, low: int, high: int) -> pa.Table | None:
    """Return the identity of each answer that lacks an uncorrected late tuple; a few may lie outside (low, high].

    None where there is none. Each is there once; its horizon is in ms.

    Raises
    ------
    UnknownError
        When there are too many late tuples, or answers are pairs: which of these a late tuple missed follows from its
        partners alone.
    """
    tables, model = view.tables, view.kind.answers
    until = committed_until(view.layout)
    gaps = [] if until is None or not tables.has("late") else uncovered(corrected_intervals(tables), until)
    if not gaps:
        return None
    near = within(model.late_time, low - ms(view.query.span) - 1, high)
    where = near_gaps(gaps) & near
    count = _in_gaps(tables.read("late", ["arrived"], where), gaps).num_rows
    if not count:
        return None
    if count > MOST_ROWS:
        raise UnknownError(f"{count:,} rows of late tuples are not corrected")
    if not model.can_lack_tuples:
        raise UnknownError("late tuples are not corrected, and which pairs they missed is known once they are")
    return model.identity.first_rows(model.explode_late(_in_gaps(tables.read("late", where=where), gaps)))


def count_late(tables: Tables, gaps: Sequence[Interval]) -> Ints:
    """Count the late tuples of gaps, which are in order; shape (n,). Some rows are in memory at a time."""
    counts = np.zeros(len(gaps), np.int64)
    if gaps and tables.has("late"):
        for batch in tables.batches("late", ["arrived", "tuples"], near_gaps(gaps)):
            rows = in_ms(pa.Table.from_batches([batch]))
            place, tuples = gap_of(rows["arrived"].to_numpy(), gaps), rows["tuples"].to_numpy()
            counts += np.bincount(place[place >= 0], tuples[place >= 0], len(gaps)).astype(np.int64)
    return counts


def _in_gaps(late: pa.Table, gaps: Sequence[Interval]) -> pa.Table:
    return select(late, gap_of(late["arrived"].to_numpy(), gaps) >= 0)
