"""The section `spatial_join.interval` of a query file: how far apart in event time a pair's tuples are."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tailrace.ground.duration import Duration, ms
from tailrace.ground.fields import Section, field_error


class Interval(Section):
    """The interval of right.time − left.time in which a pair lies, both ends included."""

    lower: Duration = Field(description="smallest right.time - left.time of a pair, included: -15 min")
    upper: Duration = Field(description="largest right.time - left.time of a pair, included: 30 min")

    @model_validator(mode="after")
    def _validate_bounds(self) -> Self:
        if self.lower > self.upper:
            raise field_error("lower is above upper, so no pair lies between them", "a lower end below upper", "lower")
        return self

    @property
    def bounds_ms(self) -> tuple[int, int]:
        return ms(self.lower), ms(self.upper)

    @property
    def reach_ms(self) -> int:
        """The longest distance of a pair's event times."""
        return max(map(abs, self.bounds_ms))
