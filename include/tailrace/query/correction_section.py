"""The section `correction` of a query file: when late tuples are corrected."""

from __future__ import annotations

from pydantic import Field

from tailrace.ground.fields import PositiveDuration, Section
from tailrace.query.cron import Cron


class Correction(Section):
    """Schedule and trigger of the correction of late tuples."""

    schedule: Cron = Field(
        default="@daily",
        description="cron expression in UTC; each run corrects the late tuples that arrived in its interval: 0 0 * * *",
    )
    gap: PositiveDuration | None = Field(
        default=None,
        description="a correction starts at once when uncorrected late tuples span more event time than this: 5 s",
    )
