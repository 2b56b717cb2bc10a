"""Base of the policies that promise (error, risk): a bound of an answer's error, and the share that may reach it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from tailrace.disorder.policy import SlackPolicy

_OPEN_INTERVAL = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}  # for the schema: with 0 or 1 no promise can be kept
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, json_schema_extra=_OPEN_INTERVAL)]


class PromisingPolicy(SlackPolicy):
    """Base class of policies that promise (error, risk): at most `risk` of the answers are off by `error` or more.

    The query that declares a promise refuses one that can't be kept, such as one with 0 or 1, and gives the reason.
    """

    samples: ClassVar[bool] = True

    error: Share = Field(description="an answer is off if its relative error is at least this, between 0 and 1: 0.05")
    risk: Share = Field(description="the share of answers that may be off, between 0 and 1: 0.05")
