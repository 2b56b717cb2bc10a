"""Declared queries over the sliding windows of one stream: aggregates and top-k."""

from __future__ import annotations

from datetime import timedelta
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from tailrace.aggregate.named_section import NamedAggregateSection, NamedAggregatesSection, gathered
from tailrace.aggregate.section import AggregateSection
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.disorder.no_slack import NoSlack
from tailrace.disorder.promise_of_answers import PromiseOfAnswers
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.functions.promise import refusal, threshold_refusal
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.answer_columns import VALUE, WINDOW_TIMES
from tailrace.ground.fields import field_error
from tailrace.kind.column_use import GROUP_BY, IDENTITY, TRANSFORMATION, WINDOW, ColumnUse
from tailrace.query.key_section import check_key_names
from tailrace.query.query import KIND, LONGEST_DEFAULT_TICK, Query
from tailrace.query.sessions import check_sessions
from tailrace.query.window_section import KeyedWindow
from tailrace.sources.answers_source import AnswersSource
from tailrace.topk.section import BASELINES, RANKED, TopKSection, check_selected


class WindowedQuery(Query):
    """A query over windows of one stream."""

    follows_versions: ClassVar[bool] = True

    window: KeyedWindow = Field(
        description="size and slide of the windows, in event time: {size: 500 ms, slide: 100 ms}"
    )

    @model_validator(mode="after")
    def _validate_key_names(self) -> Self:
        name, _ = self.stream
        check_key_names(self.key_names, self.value_names, f"streams.{name}.key")
        return self

    @model_validator(mode="after")
    def _validate_versions(self) -> Self:
        """Refuse settings with which a stream would count several versions of an answer."""
        name, stream = self.stream
        if not isinstance(stream.source, AnswersSource):
            return self
        if stream.source.query == self.name:
            raise field_error("it reads its own answers", "the name of another query", f"streams.{name}.source.query")
        if not self.disorder.deduplicate:
            fault = "the stream would count each version of an answer beside the others"
            raise field_error(fault, "deduplicate: true", "disorder.deduplicate")
        if self.window.slide != self.window.size:
            fault = "windows over the answers of a query have to lie side by side"
            raise field_error(fault, "no slide, or one equal to size", "window.slide")
        return self

    @model_validator(mode="after")
    def _validate_sessions(self) -> Self:
        if self.has_sessions:
            check_sessions(self)
        return self

    @property
    def has_sessions(self) -> bool:
        return self.window.session is not None

    @property
    def value_names(self) -> frozenset[str]:
        """The value columns of its answers, between the identity and `tuples`."""
        return frozenset()

    @property
    def uses(self) -> tuple[ColumnUse, ...]:
        """The uses of columns: in the identity of answers, in the kind's section, and for the windows of each key."""
        _, stream = self.stream
        lists = self.key_names
        keys = lists or (() if stream.key is None else (str(stream.key),))
        whole = [ColumnUse(name, TRANSFORMATION if lists else IDENTITY, ("key",)) for name in keys]
        parts = [ColumnUse(name, IDENTITY, (name,)) for name in lists]
        times = ColumnUse(stream.event_time, TRANSFORMATION, WINDOW_TIMES)
        groups = [ColumnUse(name, GROUP_BY) for name in keys]
        return (*whole, *parts, times, *self._section_uses, *groups, ColumnUse(stream.event_time, WINDOW))

    @property
    def _section_uses(self) -> tuple[ColumnUse, ...]:
        return ()

    @property
    def span(self) -> timedelta:
        return self.window.size

    @property
    def window_step(self) -> timedelta:
        return self.window.slide

    @property
    def _default_tick(self) -> timedelta:
        return min(self.window.slide, LONGEST_DEFAULT_TICK)


class AggregateQuery(WindowedQuery):
    """An aggregate function over the sliding windows of each key."""

    promises_errors: ClassVar[bool] = True

    kind: Literal["aggregate"] = Field(description=KIND)
    aggregate: AggregateSection = Field(
        description="aggregate function of each window, or several by name: {function: sum, column: speed}"
    )

    @property
    def value_names(self) -> frozenset[str]:
        return frozenset(self.aggregate.each if isinstance(self.aggregate, NamedAggregatesSection) else (VALUE,))

    @property
    def _section_uses(self) -> tuple[ColumnUse, ...]:
        _, stream = self.stream
        return self.aggregate.uses([*filter(None, (stream.event_time, stream.arrival_time, stream.id))])

    def structure(self) -> dict[str, Any]:
        """Return the structure, with the order of the answers' columns, as states and tables depend on it."""
        section = self.aggregate
        names = [*section.each] if isinstance(section, NamedAggregatesSection) else []
        order = {"aggregate.order": names} if len(names) > 1 else {}
        return super().structure() | section.in_structure() | order

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
        if isinstance(policy, CacheDuration) and policy.method == "two_scales" and (names := self._keeping):
            fault = f"method two_scales adds late tuples one by one, and {names[0]} needs all values of a window"
            raise field_error(fault, "method: search", "disorder.method")
        return self

    @model_validator(mode="after")
    def _validate_estimates(self) -> Self:
        each = self.aggregate.functions if isinstance(self.aggregate, NamedAggregatesSection) else {"": self.aggregate}
        for name, one in each.items():
            if one.estimate and self.has_sessions:
                fault = "an estimate goes by the share of a window that has come, and of a session that is unknown"
                field = f"aggregate.{name}.estimate" if name else "aggregate.estimate"
                raise field_error(fault, "no estimate; or windows with a size", field)
        return self

    @property
    def _keeping(self) -> list[str]:
        """The functions that need all values of a window at once."""
        each = self.aggregate.aggregates.values()
        exact = (one.function for one in each if one.function is not None and not one.approximate)
        return [name for name in exact if FUNCTIONS[name].keeps_values]


class TopKQuery(WindowedQuery):
    """The k best tuples in the sliding windows of each key."""

    answers_are_tuples: ClassVar[bool] = True

    kind: Literal["topk"] = Field(description=KIND)
    topk: TopKSection = Field(
        description="how many tuples each window's ranking has, and the score that ranks them: {k: 5, score: price}"
    )

    @property
    def value_names(self) -> frozenset[str]:
        return frozenset(RANKED)

    @property
    def _section_uses(self) -> tuple[ColumnUse, ...]:
        _, stream = self.stream
        return self.topk.uses(stream.id)

    @model_validator(mode="after")
    def _validate_selected(self) -> Self:
        check_selected(self.topk.select, self.key_names)
        return self

    @model_validator(mode="after")
    def _validate_method(self) -> Self:
        if self.topk.method in BASELINES and not isinstance(self.policy, NoSlack):
            fault = f"method {self.topk.method} does not wait, but policy {self.policy.policy} sets a wait"
            raise field_error(fault, "policy: none, or method: adaptive (list: the paper's own)", "topk.method")
        return self


_OF = "disorder.of"


def require_promise(policy: PromiseOfAnswers, section: AggregateSection) -> None:
    """Refuse names that are no answers, and answers without a coverage threshold if the policy needs one.

    Raises
    ------
    PydanticCustomError
    """
    if not isinstance(section, NamedAggregatesSection):
        if policy.of is not None:
            fault = f"the answers have one value, which is promised anyway, and no name {policy.of[0]}"
            raise field_error(fault, "no of; or a name for the aggregate: {total: {function: sum, column: speed}}", _OF)
        if _needs_threshold(policy) and (reason := threshold_refusal(section.function, section.where is not None)):
            raise field_error(
                f"policy {policy.policy} can't promise it: {reason}", "policy: quantile", "disorder.policy"
            )
        return
    for name in policy.of or ():
        if name not in section.each:
            near = " or ".join(get_close_matches(name, section.each)) or ", ".join(section.each)
            raise field_error(f"no answer has a column {name}", near, _OF)
    if _needs_threshold(policy):
        _require_thresholds(policy, section)


def _require_thresholds(policy: PromiseOfAnswers, section: NamedAggregatesSection) -> None:
    reasons = {name: _threshold_refusal(each) for name, each in section.each.items()}
    for name in policy.of or section.each:
        if reasons[name] is not None:
            promising = [each for each in policy.of or section.each if reasons[each] is None]
            remedy = "policy: quantile" + (f", or of: [{', '.join(promising)}]" if promising else "")
            fault = f"policy {policy.policy} can't promise {name}: {reasons[name]}"
            raise field_error(fault, remedy, "disorder.policy" if policy.of is None else _OF)


def _needs_threshold(policy: PromiseOfAnswers) -> bool:
    return isinstance(policy, PromisingPolicy) and policy.needs_threshold


def _threshold_refusal(section: NamedAggregateSection) -> str | None:
    if section.function is None:
        return "no coverage threshold is known of an expression"
    return threshold_refusal(section.function, section.where is not None)
