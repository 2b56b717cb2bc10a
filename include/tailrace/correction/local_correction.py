"""The correction in this process, also of histories that do not fit into its memory."""

from __future__ import annotations

from tailrace.correction import correct as correction
from tailrace.correction.bucketed_scan import BucketedScan
from tailrace.correction.correct import CorrectionReport
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.spilled_shuffle import SpilledShuffle
from tailrace.query.query import Query
from tailrace.storage.warehouses import Warehouse


def correct(
    query: Query,
    warehouse: Warehouse,
    correction_range: CorrectionRange = CorrectionRange(),  # noqa: B008 (frozen)
) -> CorrectionReport:
    """Correct late tuples, as `correction.correct` does; what is too much to hold at once waits in files."""
    return correction.correct(query, warehouse, correction_range, lambda buckets: BucketedScan(SpilledShuffle()))
