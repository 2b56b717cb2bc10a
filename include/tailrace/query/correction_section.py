"""The section `correction` of a query file: when late tuples are corrected."""

from __future__ import annotations

import re

from croniter import CroniterBadDateError, croniter
from pydantic import Field, field_validator

from tailrace.ground.fields import EPOCH, PositiveDuration, Section, field_error

PRESETS = ("@hourly", "@daily", "@weekly", "@monthly")
CRON_FIELDS = 5
_RANDOM = re.compile(r"r($|[(/])", re.IGNORECASE)  # a field that croniter draws at each reading


class Correction(Section):
    """Schedule and trigger of the correction of late tuples."""

    schedule: str = Field(default="@daily", description="cron expression of the intervals of arrival, UTC: 0 0 * * *")
    gap: PositiveDuration | None = Field(
        default=None, description="late tuples whose event times span more than this are corrected at once: 5 s"
    )

    @field_validator("schedule")
    @classmethod
    def _validate_schedule(cls, schedule: str) -> str:
        if schedule not in PRESETS and not (len(schedule.split()) == CRON_FIELDS and croniter.is_valid(schedule)):
            remedy = (
                f"five fields (minute, hour, day, month, weekday) as in '0 0 * * *', or one of {', '.join(PRESETS)}"
            )
            raise field_error(f"{schedule!r} is no cron expression", remedy)
        if any(_RANDOM.match(field) for field in schedule.split()):
            fault = f"{schedule!r} is another time at each reading (R is random), so Airflow can't step from run to run"
            raise field_error(fault, "a number in place of each R")
        try:
            croniter(schedule, EPOCH).get_next()
        except CroniterBadDateError:
            raise field_error(f"{schedule!r} never comes: no month has such a day", "days that a month has") from None
        return schedule
