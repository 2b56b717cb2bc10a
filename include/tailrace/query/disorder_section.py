"""The section `disorder` of a query file: how long windows wait for late tuples."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import Field, model_validator

from tailrace.disorder.no_slack import NoSlack
from tailrace.disorder.policies import AnyPolicy
from tailrace.disorder.policy import SlackPolicy
from tailrace.ground.fields import NonNegativeDuration, PositiveDuration, Section


class Disorder(Section):
    """The wait for late tuples (slack K, allowed lateness). In a file the policy's settings are beside `tick`."""

    policy: AnyPolicy = Field(
        default=NoSlack(), description="policy that chooses slack K, how long windows wait for late tuples: k_slack"
    )
    tick: NonNegativeDuration | None = Field(
        default=None,
        description="step of arrival time at whose end windows close, by default the smaller of slide and 100 ms: "
        "100 ms",
    )
    deduplicate: bool = Field(
        default=False, description="drop tuples with a repeated id in the stream as well; corrections always do: true"
    )
    idle: PositiveDuration = Field(
        default=timedelta(minutes=1),
        description="time without a tuple after which a stream is idle and no window waits for it: 1 min",
    )

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, section: Any) -> Any:
        if not isinstance(section, dict) or isinstance(section.get("policy"), SlackPolicy):
            return section
        own = {name: section[name] for name in cls.model_fields if name != "policy" and name in section}
        settings = {name: value for name, value in section.items() if name not in own}
        return own | {"policy": settings or NoSlack()}
