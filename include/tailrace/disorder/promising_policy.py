"""Base of the policies that promise (error, risk).

`error` bounds an answer's error, and `risk` the share of answers that may exceed it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from tailrace.disorder.error_model import PromisedAnswers
from tailrace.disorder.promise_of_answers import PromiseOfAnswers
from tailrace.disorder.tick_statistics import TickStatistics

_OPEN_INTERVAL = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}  # for the schema: with 0 or 1 no promise can be kept
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, json_schema_extra=_OPEN_INTERVAL)]


class PromisingPolicy(PromiseOfAnswers):
    """Base class of policies that promise (error, risk): at most `risk` of the answers are off by `error` or more.

    A query refuses a promise that can't be kept, such as one with 0 or 1, and gives the reason.

    Attributes
    ----------
    needs_threshold : bool
        Whether the policy needs the coverage threshold λ_thr, which some functions do not have.
    """

    needs_threshold: ClassVar[bool] = False

    error: Share = Field(description="relative error from which an answer counts as off, between 0 and 1: 0.05")
    risk: Share = Field(description="largest share of streamed answers that may be off, between 0 and 1: 0.05")

    def promised(self, stats: TickStatistics) -> PromisedAnswers:
        """Return the answers that the promise covers."""
        assert stats.error_model is not None  # a query of another kind refuses such a policy
        return stats.error_model.promised(self.of)
