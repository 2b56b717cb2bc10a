"""The range of arrival that a panel shows: as requested, or the last hour that the stream has committed."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.panels.panel import PanelRequest
from tailrace.storage.layout import Layout
from tailrace.storage.progress import committed_until

Point = Annotated[int, Field(ge=EARLIEST_MS, le=LATEST_MS)]

HOUR_MS = 3_600_000


class ArrivalRequest(PanelRequest):
    """A range [from, to) of arrival, in ms; without an end up to what is committed, without a start an hour long."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    start: Point | None = Field(default=None, alias="from")
    end: Point | None = Field(default=None, alias="to")


def arrival_range(layout: Layout, request: ArrivalRequest) -> tuple[int, int] | None:
    """Return the range (low, high] of `committed` that is shown, in ms; None before the stream has committed anything.

    A batch that has committed up to a point holds what arrived before it, so ends are as those of a correction.
    """
    until = committed_until(layout)
    if until is None:
        return None
    high = until if request.end is None else request.end
    return (high - HOUR_MS if request.start is None else request.start), high
