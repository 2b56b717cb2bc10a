"""What policies that promise share: how far an answer may be off, and how many of them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from tailrace.disorder.policy import SlackPolicy

_BETWEEN = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}  # what a schema can tell of promises that can't be kept
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, json_schema_extra=_BETWEEN)]


class QualityPromise(SlackPolicy):
    """A policy that promises (error, risk): no more than `risk` of the answers are off by `error` or more.

    Promises that can't be kept, as those with 0 or 1, are refused with the reason by the query that declares them.
    """

    samples: ClassVar[bool] = True

    error: Share = Field(description="an answer is off if its relative error is at least this, between 0 and 1: 0.05")
    risk: Share = Field(description="the share of answers that may be off, between 0 and 1: 0.05")
