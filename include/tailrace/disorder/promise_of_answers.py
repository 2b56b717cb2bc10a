"""Base of the policies that promise something about answers; `of` names the columns."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from tailrace.disorder.policy import SlackPolicy
from tailrace.ground.fields import field_error


class PromiseOfAnswers(SlackPolicy):
    """Base class of policies with a promise, which each promised column of answers must keep by itself."""

    of: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="columns of answers that the promise covers, by default every number: [revenue, purchases]",
    )

    @field_validator("of")
    @classmethod
    def _validate_names(cls, of: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if of is not None and len(set(of)) < len(of):
            twice = next(name for number, name in enumerate(of) if name in of[:number])
            raise field_error(f"{twice} stands here more than once", "each name once")
        return of
