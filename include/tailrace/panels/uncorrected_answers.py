"""The uncorrected late tuples, and the answers that they belong to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.by_session import BySession
from tailrace.correction.intervals import Interval, corrected_intervals, gap_of, near_gaps, uncovered
from tailrace.ground.arrow.matching import select
from tailrace.ground.duration import ms
from tailrace.panels.query_view import QueryView
from tailrace.storage.progress import committed_until
from tailrace.storage.results import Overlapping
from tailrace.storage.tables import within

MOST_ROWS = 200_000
"""The most rows of the table `late` to read; with more uncorrected ones, the affected answers are unknown."""


class UnknownError(Exception):
    """Raised if it is unknown which answers lack late tuples."""


def read_uncorrected(view: QueryView, low: int, high: int) -> pa.Table | None:
    """Return the distinct identities of answers that lack an uncorrected late tuple; a few may be outside (low, high].

    Return None without any. Horizons are in ms.

    Raises
    ------
    UnknownError
        When there are too many late tuples, or answers are pairs: the pairs that a late tuple missed depend on its
        partners.
    """
    tables, model = view.tables, view.kind.answers
    until = committed_until(tables)
    gaps = [] if until is None or not tables.has("late") else uncovered(corrected_intervals(tables), until)
    if isinstance(model, BySession) and tables.has("late"):
        return _of_sessions(view, model, (low, high), gaps)
    if not gaps:
        return None
    near = within(model.late_time, low - ms(view.query.span) - 1, high)
    where = near_gaps(gaps) & near
    count = _in_gaps(tables.read("late", ["arrived"], where), gaps).num_rows
    if not count:
        return None
    _require_few(count)
    if not model.can_lack_tuples:
        raise UnknownError("late tuples are not corrected, and which pairs they missed is known once they are")
    columns = ["arrived", "key", model.late_time, "frontier"]
    return model.identity.first_rows(model.explode_late(_in_gaps(tables.read("late", columns, where), gaps)))


def _of_sessions(
    view: QueryView, model: BySession, horizons: tuple[int, int], gaps: Sequence[Interval]
) -> pa.Table | None:
    """Return the same for sessions: a correction may have skipped a late tuple because its session was open."""
    low, high = horizons
    versions = view.answers.versions(Overlapping((np.array([low]), np.array([high]))), withheld=True)
    latest = model.identity.latest(versions)
    start = min(low - model.sessions.gap_ms, pc.min(latest["window_start"]).as_py() or low)
    columns = ["arrived", "key", model.late_time, "frontier"]
    margin_ms = model.late_margin_ms
    late = view.tables.read("late", columns, within(model.late_time, start - margin_ms, high + margin_ms))
    is_uncorrected = gap_of(late["arrived"].to_numpy(), gaps) >= 0
    _require_few(int(is_uncorrected.sum()))
    lacking = model.lacking(late, latest, is_uncorrected)
    return model.identity.first_rows(lacking) if lacking.num_rows else None


def _require_few(rows: int) -> None:
    if rows > MOST_ROWS:
        raise UnknownError(f"{rows:,} rows of late tuples are not corrected")


def _in_gaps(late: pa.Table, gaps: Sequence[Interval]) -> pa.Table:
    return select(late, gap_of(late["arrived"].to_numpy(), gaps) >= 0)
