"""The times of a sample's column in epoch milliseconds, read as a stream would read them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.advice.column_profile import ColumnProfile
from tailrace.advice.quoting import quoted
from tailrace.engine.derived_columns import bound
from tailrace.expressions.projection import Projection
from tailrace.sources.record_times import read_times
from tailrace.sources.verdict import RecordVerdict

_DERIVED = "time of the column"


def share_after(table: pa.Table, later: ColumnProfile, earlier: ColumnProfile) -> float:
    """Return the share of records with two readable times in which `later` is not before `earlier`."""
    later_ms, is_later_known = _read(table, later)
    earlier_ms, is_earlier_known = _read(table, earlier)
    known = is_later_known & is_earlier_known
    return float(np.mean(later_ms[known] >= earlier_ms[known])) if known.any() else 0.0


def _read(
    table: pa.Table, column: ColumnProfile
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return the times of a column, shape (n,), and which of them could be read."""
    form, raw, name = column.time, table.select([column.name]), column.name
    assert form is not None
    expression = form.expression(name) or (f"cast({quoted(name)} as bigint)" if form.is_count else None)
    verdict = RecordVerdict(raw.num_rows)
    if expression is not None:
        projection = Projection.parse({_DERIVED: expression}, None)
        projected = bound(projection, {name: str(raw.schema.field(name).type)}).run(raw)
        for failure in projected.failures:
            verdict.reject(failure.mask, failure.reason)
        raw, name = projected.table, _DERIVED
    times = read_times(verdict, raw, name, None, {}).ms
    return times, verdict.code == 0
