"""Declared queries over the sliding windows of one stream: aggregates and top-k."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tailrace.aggregate.named_section import NamedAggregatesSection, gathered
from tailrace.aggregate.promise import refusal
from tailrace.aggregate.section import AggregateSection
from tailrace.disorder.no_slack import NoSlack
from tailrace.disorder.promise_of_answers import PromiseOfAnswers
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.ground.fields import field_error
from tailrace.query.key_section import check_key_names
from tailrace.query.promise_names import require_promise
from tailrace.query.query import KIND, LONGEST_DEFAULT_TICK, Query
from tailrace.query.window_section import KeyedWindow
from tailrace.topk.section import RANKED, TopKSection, check_selected


class WindowedQuery(Query):
    """A query over windows of one stream."""

    window: KeyedWindow = Field(description="span and step of the windows: {size: 500 ms, slide: 100 ms}")

    @model_validator(mode="after")
    def _validate_key_names(self) -> Self:
        name, _ = self.stream
        check_key_names(self.key_names, self.value_names, f"streams.{name}.key")
        return self

    @property
    def value_names(self) -> frozenset[str]:
        """The columns of its answers between their identity and `tuples`."""
        return frozenset()

    @property
    def span(self) -> timedelta:
        return self.window.size

    @property
    def _default_tick(self) -> timedelta:
        return min(self.window.slide, LONGEST_DEFAULT_TICK)


class AggregateQuery(WindowedQuery):
    """An aggregate function over the sliding windows of each key."""

    promises_errors: ClassVar[bool] = True

    kind: Literal["aggregate"] = Field(description=KIND)
    aggregate: AggregateSection = Field(description="what is computed: {function: sum, column: speed}")

    @property
    def value_names(self) -> frozenset[str]:
        return frozenset(self.aggregate.each if isinstance(self.aggregate, NamedAggregatesSection) else ("value",))

    def structure(self) -> dict[str, Any]:
        """As of any query, with the order of the answers' columns: states and tables have it."""
        names = [*getattr(self.aggregate, "each", ())]
        return super().structure() | ({"aggregate.order": names} if len(names) > 1 else {})

    @model_validator(mode="before")
    @classmethod
    def _gather_names(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or "aggregate" not in fields:
            return fields
        return fields | {"aggregate": gathered(fields["aggregate"])}

    @model_validator(mode="after")
    def _validate_promise_of_answers(self) -> Self:
        policy = self.policy
        if isinstance(policy, PromisingPolicy) and (reason := refusal(policy.error, policy.risk)) is not None:
            raise field_error(*reason, "disorder.risk" if 0 < policy.error < 1 else "disorder.error")
        if isinstance(policy, PromiseOfAnswers):
            require_promise(policy, self.aggregate)
        return self


class TopKQuery(WindowedQuery):
    """The k best tuples in the sliding windows of each key."""

    kind: Literal["topk"] = Field(description=KIND)
    topk: TopKSection = Field(description="what is found: {k: 5, score: price}")

    @property
    def value_names(self) -> frozenset[str]:
        return frozenset(RANKED)

    @model_validator(mode="after")
    def _validate_selected(self) -> Self:
        check_selected(self.topk.select, self.key_names)
        return self

    @model_validator(mode="after")
    def _validate_method(self) -> Self:
        if self.topk.method != "adaptive" and not isinstance(self.policy, NoSlack):
            fault = f"method {self.topk.method} does not wait, and policy {self.policy.policy} tells how long to"
            raise field_error(fault, "policy: none, or method: adaptive", "topk.method")
        return self
