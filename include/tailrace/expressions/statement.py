"""Runs the statement of a plan over records, and finds those by which it fails although no step should raise."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.expressions.connection import connection
from tailrace.expressions.plan import Plan, Term

_FAULTS = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException)
"""The errors of DuckDB that a value of a record causes."""


def fault_number(term: Term) -> str:
    """Return the SQL of the number, from 1, of the first fault of a term that a record has; else 0."""
    whens = " ".join(f"WHEN {fault.condition} THEN {number}" for number, fault in enumerate(term.faults, 1))
    return f"CAST(CASE {whens} ELSE 0 END AS SMALLINT)"


@dataclass(frozen=True)
class Rows:
    """A statement over the table `records`, whose n-th row is of the n-th record."""

    sql: str
    plan: Plan

    def compute(self, records: pa.Table) -> tuple[pa.Table, dict[str, NDArray[np.bool_]]]:
        """Return the rows of n records, and by reason the records by which the statement fails: their rows are null.

        Where it fails, the records are halved, down to the ones that make it fail.
        """
        parts: list[pa.Table] = []
        failed: dict[str, list[int]] = {}
        pending = [records]
        while pending:
            part = pending.pop()
            try:
                computed = self._execute(part)
            except _FAULTS as error:
                if part.num_rows > 1:
                    middle = part.num_rows // 2
                    pending += [part.slice(middle), part.slice(0, middle)]
                    continue
                computed = parts[0].slice(0, 0) if parts else self._execute(part.slice(0, 0))
                computed = pa.table([pa.nulls(1, field.type) for field in computed.schema], schema=computed.schema)
                row = sum(each.num_rows for each in parts)
                failed.setdefault(str(error).splitlines()[0], []).append(row)
            parts.append(computed)
        numbers = np.arange(records.num_rows)
        return pa.concat_tables(parts), {reason: np.isin(numbers, rows) for reason, rows in failed.items()}

    def _execute(self, records: pa.Table) -> pa.Table:
        with connection(self.plan.functions) as opened:
            opened.register("records", records)
            try:
                return opened.execute(self.sql).to_arrow_table()
            finally:
                opened.unregister("records")
