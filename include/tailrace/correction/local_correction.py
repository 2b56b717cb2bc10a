"""The correction in this process, also for histories that exceed its memory."""

from __future__ import annotations

from tailrace.correction import correct as correction
from tailrace.correction.bucketed_scan import BucketedScan
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.report import CorrectionReport
from tailrace.correction.spilled_shuffle import SpilledShuffle
from tailrace.query.query import Query
from tailrace.storage.warehouses import Warehouse


def correct(
    query: Query,
    warehouse: Warehouse,
    correction_range: CorrectionRange = CorrectionRange(),  # noqa: B008 (frozen)
) -> CorrectionReport:
    """Correct late tuples like `correction.correct`; tuples that do not fit into memory are stored in files."""
    return correction.correct(query, warehouse, correction_range, lambda buckets: BucketedScan(SpilledShuffle()))
