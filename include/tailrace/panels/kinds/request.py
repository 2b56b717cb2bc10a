"""The settings of the panel `kind`, and the base of its answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tailrace.panels.arrival_range import ArrivalAnswer, ArrivalRequest
from tailrace.panels.kinds.calibration import NewestProposal


class KindRequest(ArrivalRequest):
    """A range of arrival for the load and counts of joins; a key and the number of rankings for top-k queries."""

    key: str | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 20


class KindAnswer(ArrivalAnswer):
    """The kind of a query, the range of arrival of its series, if any, and the newest calibration, if any."""

    kind: str
    calibration: NewestProposal | None = None
