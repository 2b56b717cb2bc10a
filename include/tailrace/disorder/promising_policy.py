"""Base of the policies that promise (error, risk): a bound of an answer's error, and the share that may reach it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from tailrace.disorder.error_model import PromisedAnswers
from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.tick_statistics import TickStatistics
from tailrace.ground.fields import field_error

_OPEN_INTERVAL = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}  # for the schema: with 0 or 1 no promise can be kept
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, json_schema_extra=_OPEN_INTERVAL)]


class PromisingPolicy(SlackPolicy):
    """Base class of policies that promise (error, risk): at most `risk` of the answers are off by `error` or more.

    Of several columns of answers each keeps the promise by itself. The query that declares a promise refuses one that
    can't be kept, such as one with 0 or 1, and gives the reason.

    Attributes
    ----------
    needs_threshold : bool
        Whether it goes by the coverage threshold λ_thr, which some functions do not have.
    """

    needs_threshold: ClassVar[bool] = False

    error: Share = Field(description="an answer is off if its relative error is at least this, between 0 and 1: 0.05")
    risk: Share = Field(description="the share of answers that may be off, between 0 and 1: 0.05")
    of: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        default=None, description="the answers that this is promised of, by default each number: [revenue, purchases]"
    )

    @field_validator("of")
    @classmethod
    def _validate_names(cls, of: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if of is not None and len(set(of)) < len(of):
            twice = next(name for number, name in enumerate(of) if name in of[:number])
            raise field_error(f"{twice} stands here more than once", "each name once")
        return of

    def promised(self, stats: TickStatistics) -> PromisedAnswers:
        """Return the answers that this is promised of."""
        assert stats.error_model is not None  # other kinds are refused with such a policy
        return stats.error_model.promised(self.of)
