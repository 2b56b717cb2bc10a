"""Refuses corrections and calibrations of queries without late tuples."""

from __future__ import annotations

from tailrace.ground.errors import refuse
from tailrace.query.query import Query


def require_late_tuples(query: Query) -> None:
    """Refuse a correction or calibration of a query that has no late tuples.

    Raises
    ------
    Refused
    """
    if not query.has_late_tuples:
        fault = "a join with a table answers each tuple as it comes: none is late"
        raise refuse(f"query {query.name}", fault, "nothing: there is nothing to correct, nor to calibrate")
