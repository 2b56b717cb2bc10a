"""Frozen model of one declared continuous query; loading.py loads it from a file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from tailrace.aggregate.promise import refusal
from tailrace.disorder.no_slack import NoSlack
from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.quality_promise import QualityPromise
from tailrace.ground.duration import ms
from tailrace.query.fields import Name, Section, Tasks, field_error
from tailrace.query.sections import Aggregate, Correction, Disorder, Stream, TopK, Window

KINDS = ("aggregate", "topk")


class Query(Section):
    """One continuous query."""

    name: Name = Field(description="its name, of a-z, 0-9 and _, a letter first, at most 63 characters: ball_load")
    kind: Literal["aggregate", "topk"] = Field(description="the kind of query: aggregate")
    streams: dict[str, Stream] = Field(description="the stream, by a name of yours: {readings: {source: ..., id: ...}}")
    window: Window = Field(description="span and step of the windows: {size: 500 ms, slide: 100 ms}")
    disorder: Disorder = Field(default=Disorder(), description="how long windows wait: {policy: k_slack, k: 2 s}")
    aggregate: Aggregate | None = Field(
        default=None, description="what is computed, for kind aggregate: {function: sum, column: speed}"
    )
    topk: TopK | None = Field(default=None, description="what is found, for kind topk: {k: 5, score: price}")
    correction: Correction = Field(
        default=Correction(), description="when late tuples are corrected: {schedule: '@daily'}"
    )
    parallelism: Tasks = Field(default=2, description="tasks that the query is spread over, from 1 to 64: 2")

    @field_validator("streams")
    @classmethod
    def _take_one_stream(cls, streams: dict[str, Stream], info: ValidationInfo) -> dict[str, Stream]:
        if len(streams) != 1:
            summary = "no stream" if not streams else f"{len(streams)} streams: {', '.join(streams)}"
            wrong = f"kind {info.data.get('kind', 'aggregate')} takes one stream, here is {summary}"
            raise field_error(wrong, "exactly one stream under streams")
        return streams

    @model_validator(mode="after")
    def _have_the_section_of_the_kind(self) -> Self:
        for kind in KINDS:
            if (getattr(self, kind) is not None) != (kind == self.kind):
                example = str(type(self).model_fields[kind].description).split(": ", 1)[1]
                if kind == self.kind:
                    raise field_error(f"kind {kind} needs a section {kind}", f"{kind}: {example}", kind)
                raise field_error(
                    f"kind {self.kind} takes no section {kind}", f"kind: {kind}, or no such section", kind
                )
        return self

    @model_validator(mode="after")
    def _pair_methods_with_policies(self) -> Self:
        if self.topk is not None and self.topk.method != "adaptive" and not isinstance(self.policy, NoSlack):
            wrong = f"method {self.topk.method} does not wait, and policy {self.policy.policy} tells how long to"
            raise field_error(wrong, "policy: none, or method: adaptive", "topk.method")
        return self

    @model_validator(mode="after")
    def _promise_what_can_be_kept(self) -> Self:
        policy = self.policy
        if isinstance(policy, QualityPromise):
            if self.aggregate is None:
                wrong = f"policy {policy.policy} promises (error, risk), which kind {self.kind} has no measure for"
                raise field_error(wrong, "policy: cache_duration, which promises an accuracy", "disorder.policy")
            reason = refusal(self.aggregate.function, policy.error, policy.risk)
            if reason is not None:
                raise field_error(*reason, "disorder.risk" if 0 < policy.error < 1 else "disorder.error")
        return self

    @property
    def stream(self) -> tuple[str, Stream]:
        """Name and declaration of the only stream."""
        return next(iter(self.streams.items()))

    @property
    def policy(self) -> SlackPolicy:
        return self.disorder.policy

    @property
    def tick(self) -> timedelta:
        """Length of a tick, the step of arrival time: as declared, else the smaller of slide and 100 ms."""
        return min(self.window.slide, timedelta(milliseconds=100)) if self.disorder.tick is None else self.disorder.tick

    @property
    def tick_ms(self) -> int:
        return ms(self.tick)

    @property
    def idle_ms(self) -> int:
        return ms(self.disorder.idle)

    def structure(self) -> dict[str, Any]:
        """The part of the declaration that a checkpoint is bound to, as values by field path.

        It leaves out the settings of when (`disorder` but its tick, and `correction`), those of where from (the path
        and rate of a source), and the sections of other kinds. Two declarations may share a checkpoint if these are
        equal; keys with unequal values name what changed.
        """
        exclusions: Any = {"disorder": True, "correction": True, "streams": {"__all__": {"source": {"path", "rate"}}}}
        exclusions |= {kind: True for kind in KINDS if kind != self.kind}
        declaration = self.model_dump(mode="json", exclude=exclusions) | {"disorder": {"tick": self.tick_ms}}
        return dict(_flatten(declaration))


def _flatten(section: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{path}{name}.")
        else:
            yield path + name, value
