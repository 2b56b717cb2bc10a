"""Runs a plan's statement over records, and isolates records on which it fails although no step should raise."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.expressions.connection import connection
from tailrace.expressions.plan import Plan, Term

_FAULTS = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException)
"""The DuckDB errors that a record's value can cause."""


def fault_number(term: Term) -> str:
    """Return the SQL of the number, from 1, of a record's first fault in a term, or 0."""
    whens = " ".join(f"WHEN {fault.condition} THEN {number}" for number, fault in enumerate(term.faults, 1))
    return f"CAST(CASE {whens} ELSE 0 END AS SMALLINT)"


@dataclass(frozen=True)
class RecordsStatement:
    """A statement over the table `records`, whose n-th row belongs to the n-th record."""

    sql: str
    plan: Plan

    def compute(self, records: pa.Table) -> tuple[pa.Table, dict[str, NDArray[np.bool_]]]:
        """Return the rows of n records, and masks by reason of the records on which the statement fails.

        The rows of these records are null. If it fails, the records are halved until those that make it fail are found.
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
