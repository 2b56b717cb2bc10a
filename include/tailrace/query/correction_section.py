"""The section `correction` of a query file: when late tuples are corrected."""

from __future__ import annotations

from pydantic import Field

from tailrace.ground.fields import PositiveDuration, Section
from tailrace.query.cron import Cron


class Correction(Section):
    """Schedule and trigger of the correction of late tuples."""

    schedule: Cron = Field(default="@daily", description="cron expression of the intervals of arrival, UTC: 0 0 * * *")
    gap: PositiveDuration | None = Field(
        default=None, description="late tuples whose event times span more than this are corrected at once: 5 s"
    )
