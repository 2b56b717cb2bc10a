"""Versions of answers: the stream's, and those that corrections gave, in one table."""

from __future__ import annotations

import pyarrow as pa

from tailrace.ground.matching import select


def as_streamed(results: pa.Table) -> pa.Table:
    """Mark rows of the table `results` as the stream's versions."""
    false, none = pa.repeat(pa.scalar(False), results.num_rows), pa.nulls(results.num_rows, pa.string())
    marks = {"corrected": false, "retracted": false, "interval": none}
    return _with_columns(results, marks)


def as_corrections(rows: pa.Table) -> pa.Table:
    """Mark rows of the table `corrections` as versions of corrections."""
    return _with_columns(rows, {"corrected": pa.repeat(pa.scalar(True), rows.num_rows)})


def without_retracted(versions: pa.Table) -> pa.Table:
    """Leave out the versions that take an answer back."""
    return select(versions, ~versions["retracted"].to_numpy())


def _with_columns(rows: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        rows = rows.append_column(name, column)
    return rows
