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

    policy: AnyPolicy = Field(default=NoSlack(), description="how the waiting time is found: k_slack")
    tick: NonNegativeDuration | None = Field(
        default=None, description="step of arrival time for deciding what closes: 100 ms"
    )
    deduplicate: bool = Field(default=False, description="drop repeats of ids in the stream too: true")
    idle: PositiveDuration = Field(
        default=timedelta(minutes=1), description="silence by which a stream is quiet: 1 min"
    )

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, section: Any) -> Any:
        if not isinstance(section, dict) or isinstance(section.get("policy"), SlackPolicy):
            return section
        own = {name: section[name] for name in cls.model_fields if name != "policy" and name in section}
        settings = {name: value for name, value in section.items() if name not in own}
        return own | {"policy": settings or NoSlack()}
