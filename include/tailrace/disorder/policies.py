"""Registry of the policies of slack (allowed lateness); to add one, add a file here and its name to `AnyPolicy`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from tailrace.disorder.aq_k_slack import AQKSlack
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.disorder.hybrid import Hybrid
from tailrace.disorder.k_slack import KSlack
from tailrace.disorder.mp_k_slack import MPKSlack
from tailrace.disorder.no_slack import NoSlack
from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.quantile.policy import Quantile

AnyPolicy = Annotated[
    NoSlack | KSlack | MPKSlack | AQKSlack | Hybrid | Quantile | CacheDuration, Field(discriminator="policy")
]
POLICIES: tuple[type[SlackPolicy], ...] = get_args(get_args(AnyPolicy)[0])

_adapter: TypeAdapter[SlackPolicy] = TypeAdapter(AnyPolicy, config=ConfigDict(defer_build=True))


def policy_from_json(settings: str) -> SlackPolicy:
    """Parse a policy from the output of its `model_dump_json`."""
    return _adapter.validate_json(settings)


def policy_of(settings: Mapping[str, Any]) -> SlackPolicy:
    """Parse a policy from its settings as JSON values, as a fact holds them."""
    return _adapter.validate_python(settings)


def settings_of(policy: SlackPolicy) -> dict[str, Any]:
    """Return a policy's settings as JSON values, as a fact holds them."""
    return policy.model_dump(mode="json")
