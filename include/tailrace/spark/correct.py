"""The correction with Spark at hand, for histories that one process does not read."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from tailrace.correction import correct as correction
from tailrace.correction.affected_windows import CorrectionRange
from tailrace.correction.correct import Report
from tailrace.query.query import Query
from tailrace.spark.history_scan import SparkScan
from tailrace.spark.session import session


def correct(query: Query, warehouse: Path, span: CorrectionRange = CorrectionRange()) -> Report:  # noqa: B008 (frozen)
    """As `correction.correct`; Spark is started only where much has to be read."""
    with ExitStack() as opened:

        def scan(buckets: int) -> SparkScan:
            return SparkScan(opened.enter_context(session(f"tailrace correct {query.name}", buckets)))

        return correction.correct(query, warehouse, span, scan)
