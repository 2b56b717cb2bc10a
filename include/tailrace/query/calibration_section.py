"""The section `calibration` of a query file: when the wait of policy `cache_duration` is calibrated, and prices."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from tailrace.ground.fields import Section, field_error
from tailrace.query.cron import Cron

HOURLY = "@hourly"
"""The default schedule of calibrations."""

Price = Annotated[float, Field(gt=0, allow_inf_nan=False)]

_WINDOWS = re.compile(r"([1-9]\d{0,5}) windows?")


def _number_of_windows(text: str) -> str:
    if not _WINDOWS.fullmatch(text):
        raise field_error(f"{text!r} is no number of windows", "30 windows")
    return text


class CostSection(Section):
    """The prices of waiting and of correcting, in any one currency."""

    waiting: Price = Field(description="price of delaying a window's answers by one second, in any currency: 0.5")
    correcting: Price = Field(description="price of correcting one late tuple, in the same currency: 0.02")


class CalibrationSection(Section):
    """When the wait is calibrated (by a schedule, or after a number of windows), and the prices for choosing it."""

    schedule: Cron | None = Field(
        default=None, description="cron expression of the calibrations in UTC, by default @hourly: '*/10 * * * *'"
    )
    every: Annotated[str, AfterValidator(_number_of_windows)] | None = Field(
        default=None, description="number of windows between two calibrations, in place of schedule: 30 windows"
    )

    cost: CostSection | None = Field(
        default=None,
        description="prices by which a calibration may choose a longer K than accuracy requires: "
        "{waiting: 0.5, correcting: 0.02}",
    )

    @model_validator(mode="after")
    def _validate_one(self) -> Self:
        if self.schedule is not None and self.every is not None:
            raise field_error("schedule says when already", "schedule or every", "every")
        return self

    @property
    def windows(self) -> int | None:
        """The number of windows from one calibration to the next; None by schedule."""
        return None if self.every is None else int(self.every.split()[0])

    def interval(self, step: timedelta) -> timedelta | None:
        """Return the time from one calibration to the next, given the time between two windows; None by schedule."""
        return None if self.windows is None else self.windows * step

    @property
    def cron(self) -> str:
        """The schedule, used without a number of windows."""
        return self.schedule or HOURLY
