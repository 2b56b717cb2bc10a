"""Cron expressions of a query file: five fields in UTC, or a preset."""

from __future__ import annotations

import re
from typing import Annotated

from croniter import CroniterBadDateError, croniter
from pydantic import AfterValidator

from tailrace.ground.fields import EPOCH, field_error

PRESETS = ("@hourly", "@daily", "@weekly", "@monthly")
CRON_FIELDS = 5
_RANDOM = re.compile(r"r($|[(/])", re.IGNORECASE)  # a field that croniter draws at random at each reading


def _cron(schedule: str) -> str:
    """Validate a cron expression by which Airflow can step from run to run."""
    if schedule not in PRESETS and not (len(schedule.split()) == CRON_FIELDS and croniter.is_valid(schedule)):
        remedy = f"five fields (minute, hour, day, month, weekday) as in '0 0 * * *', or one of {', '.join(PRESETS)}"
        raise field_error(f"{schedule!r} is no cron expression", remedy)
    if any(_RANDOM.match(field) for field in schedule.split()):
        fault = f"{schedule!r} is another time at each reading (R is random), so Airflow can't step from run to run"
        raise field_error(fault, "a number in place of each R")
    try:
        croniter(schedule, EPOCH).get_next()
    except CroniterBadDateError:
        raise field_error(f"{schedule!r} never comes: no month has such a day", "days that a month has") from None
    return schedule


Cron = Annotated[str, AfterValidator(_cron)]
