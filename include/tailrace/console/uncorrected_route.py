"""Counts the late tuples that a correction would cover, shown before the page requests one from Airflow."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import ConfigDict, Field

from tailrace.console.declared_queries import QueryCatalogue
from tailrace.console.rights import require_page
from tailrace.correction.uncorrected import span_uncorrected
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.panels.arrival_range import TimesRequest
from tailrace.panels.panel import Shown

router = APIRouter(prefix="/api/queries/{name}")


class UncorrectedLate(Shown):
    """Late tuples that no correction covers: their number, and the range [from, to) of their event times, or null."""

    model_config = ConfigDict(serialize_by_alias=True)

    late: int
    from_: int | None = Field(serialization_alias="from")
    to: int | None


@router.get("/uncorrected", dependencies=[Depends(require_page)])
def uncorrected(name: str, arrived: Annotated[TimesRequest, Query()]) -> UncorrectedLate:
    """Return the uncorrected late tuples that arrived in a range, by default at any time."""
    low = BEFORE_ALL if arrived.from_ is None else arrived.from_
    high = AFTER_ALL if arrived.to is None else arrived.to
    late, start, end = span_uncorrected(QueryCatalogue.view(name).tables, (low, high))
    return UncorrectedLate(late=late, from_=start, to=end)
