"""The correction with Spark, for histories that are too large for one process."""

from __future__ import annotations

from contextlib import ExitStack

from tailrace.correction import correct as correction
from tailrace.correction.bucketed_scan import BucketedScan
from tailrace.correction.correct import CorrectionReport
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.connections import connection_variables
from tailrace.query.query import Query
from tailrace.spark.session import session
from tailrace.spark.shuffle import SparkShuffle
from tailrace.storage.warehouses import Warehouse, connections_of, location_of


def correct(
    query: Query,
    warehouse: Warehouse,
    correction_range: CorrectionRange = CorrectionRange(),  # noqa: B008 (frozen)
) -> CorrectionReport:
    """Correct late tuples like `correction.correct`; Spark is started only if much has to be read."""
    with ExitStack() as sessions:

        def scan(buckets: int) -> BucketedScan:
            names = [*query.connections, *connections_of(location_of(warehouse))]
            variables = connection_variables(names)
            opened = session(f"tailrace correct {query.name}", buckets, environment=variables)
            return BucketedScan(SparkShuffle(sessions.enter_context(opened)))

        return correction.correct(query, warehouse, correction_range, scan)
