"""The answers that uncorrected late tuples belong to."""

from __future__ import annotations

import pyarrow as pa

from tailrace.correction.uncorrected import corrected_intervals, uncovered
from tailrace.ground.duration import ms
from tailrace.panels.query_view import QueryView
from tailrace.storage.progress import committed_until
from tailrace.storage.tables import within, within_any

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
    where = within_any("arrived", *zip(*gaps, strict=True)) & near
    count = tables.read("late", ["arrived"], where).num_rows
    if not count:
        return None
    if count > MOST_ROWS:
        raise UnknownError(f"{count:,} rows of late tuples are not corrected")
    if not model.can_lack_tuples:
        raise UnknownError("late tuples are not corrected, and which pairs they missed is known once they are")
    return model.identity.first_rows(model.explode_late(tables.read("late", where=where)))
