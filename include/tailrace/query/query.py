"""One declared continuous query as a frozen model, discriminated by its kind; loading.py loads it from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, TypeAdapter, ValidationInfo, field_validator, model_validator

from tailrace.aggregate.promise import refusal
from tailrace.aggregate.section import AggregateSection
from tailrace.disorder.no_slack import NoSlack
from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.emd_join.section import EmdJoinSection
from tailrace.ground.duration import ms
from tailrace.ground.fields import Name, Section, Tasks, field_error
from tailrace.query.sections import Correction, Disorder, JoinWindow, Stream, Window
from tailrace.topk.section import TopKSection

_KIND = "the kind of query: aggregate"
_WINDOW = "span and step of the windows: {size: 500 ms, slide: 100 ms}"
_LONGEST_DEFAULT_TICK = timedelta(milliseconds=100)


class Query(Section):
    """The part of a declared query that all kinds share.

    Attributes
    ----------
    promises_errors : bool
        Whether policies that promise (error, risk) go with the kind.
    sides : tuple of str
        The names that its streams must have, in the order of the kind's inputs; empty: one stream of any name.
    """

    promises_errors: ClassVar[bool] = False
    sides: ClassVar[tuple[str, ...]] = ()

    name: Name = Field(description="its name, of a-z, 0-9 and _, a letter first, at most 63 characters: ball_load")
    kind: str = Field(description=_KIND)
    streams: dict[str, Stream] = Field(
        description="the stream, by a name of yours: {readings: {source: ..., id: ...}}",
        json_schema_extra={"minProperties": 1, "maxProperties": 1},
    )
    disorder: Disorder = Field(default=Disorder(), description="how long windows wait: {policy: k_slack, k: 2 s}")
    correction: Correction = Field(
        default=Correction(), description="when late tuples are corrected: {schedule: '@daily'}"
    )
    parallelism: Tasks = Field(default=2, description="tasks that the query is spread over, from 1 to 64: 2")

    @field_validator("streams")
    @classmethod
    def _take_its_streams(cls, streams: dict[str, Stream], info: ValidationInfo) -> dict[str, Stream]:
        if set(streams) == set(cls.sides) if cls.sides else len(streams) == 1:
            return {name: streams[name] for name in cls.sides or streams}
        takes, right = "one stream", "exactly one stream under streams"
        if cls.sides:
            takes = right = f"the {len(cls.sides)} streams {' and '.join(cls.sides)}"
        count = "1 stream" if len(streams) == 1 else f"{len(streams)} streams"
        summary = f"{count}: {', '.join(streams)}" if streams else "no stream"
        raise field_error(f"kind {info.data.get('kind', 'aggregate')} takes {takes}, here is {summary}", right)

    @model_validator(mode="after")
    def _promise_what_has_a_measure(self) -> Self:
        if isinstance(self.policy, PromisingPolicy) and not self.promises_errors:
            wrong = f"policy {self.policy.policy} promises (error, risk), which kind {self.kind} has no measure for"
            raise field_error(wrong, "policy: cache_duration, which promises an accuracy", "disorder.policy")
        return self

    @property
    def stream(self) -> tuple[str, Stream]:
        """Name and declaration of the only stream of a query that has no more."""
        (stream,) = self.streams.items()
        return stream

    @property
    def policy(self) -> SlackPolicy:
        return self.disorder.policy

    @property
    def tick(self) -> timedelta:
        """Length of a tick, the step of arrival time: as declared, else the smaller of slide and 100 ms."""
        return self._default_tick if self.disorder.tick is None else self.disorder.tick

    @property
    def _default_tick(self) -> timedelta:
        return _LONGEST_DEFAULT_TICK

    @property
    def tick_ms(self) -> int:
        return ms(self.tick)

    @property
    def idle_ms(self) -> int:
        return ms(self.disorder.idle)

    def structure(self) -> dict[str, Any]:
        """The part of the declaration that a checkpoint is bound to, as values by field path.

        It leaves out the settings of when (`disorder` but its tick and `deduplicate`, and `correction`), and those of
        where from (the path and rate of a source). Two declarations may share a checkpoint if these are equal; keys
        with unequal values name what changed.
        """
        exclusions: Any = {"disorder": True, "correction": True, "streams": {"__all__": {"source": {"path", "rate"}}}}
        declaration = self.model_dump(mode="json", exclude=exclusions)
        declaration |= {"disorder": {"tick": self.tick_ms, "deduplicate": self.disorder.deduplicate}}
        return dict(_flatten(declaration))


class JoinQuery(Query):
    """A query over pairs of tuples, one of each of two streams."""

    sides: ClassVar[tuple[str, ...]] = ("left", "right")

    streams: dict[str, Stream] = Field(
        description="the two streams, left and right: {left: {source: ..., id: ...}, right: {source: ..., id: ...}}",
        json_schema_extra={"minProperties": 2, "maxProperties": 2, "propertyNames": {"enum": ["left", "right"]}},
    )


class WindowedQuery(Query):
    """A query over sliding windows of one stream."""

    window: Window = Field(description=_WINDOW)

    @property
    def _default_tick(self) -> timedelta:
        return min(self.window.slide, _LONGEST_DEFAULT_TICK)


class AggregateQuery(WindowedQuery):
    """An aggregate function over the sliding windows of each key."""

    promises_errors: ClassVar[bool] = True

    kind: Literal["aggregate"] = Field(description=_KIND)
    aggregate: AggregateSection = Field(description="what is computed: {function: sum, column: speed}")

    @model_validator(mode="after")
    def _promise_what_can_be_kept(self) -> Self:
        policy = self.policy
        if isinstance(policy, PromisingPolicy):
            reason = refusal(self.aggregate.function, policy.error, policy.risk)
            if reason is not None:
                raise field_error(*reason, "disorder.risk" if 0 < policy.error < 1 else "disorder.error")
        return self


class TopKQuery(WindowedQuery):
    """The k best tuples in the sliding windows of each key."""

    kind: Literal["topk"] = Field(description=_KIND)
    topk: TopKSection = Field(description="what is found: {k: 5, score: price}")

    @model_validator(mode="after")
    def _pair_methods_with_policies(self) -> Self:
        if self.topk.method != "adaptive" and not isinstance(self.policy, NoSlack):
            wrong = f"method {self.topk.method} does not wait, and policy {self.policy.policy} tells how long to"
            raise field_error(wrong, "policy: none, or method: adaptive", "topk.method")
        return self


class EmdJoinQuery(JoinQuery):
    """The pairs of similar histograms, under the Earth Mover's Distance, of two streams."""

    kind: Literal["emd_join"] = Field(description=_KIND)
    window: JoinWindow = Field(description="how far the event times of a pair are apart at most: {size: 5 s}")
    emd_join: EmdJoinSection = Field(description="which pairs are found: {threshold: 0.5, histogram: hist}")

    @model_validator(mode="after")
    def _take_no_keys(self) -> Self:
        for name, stream in self.streams.items():
            if stream.key is not None:
                raise field_error("kind emd_join takes no key: all pairs are compared", "no key", f"streams.{name}.key")
        return self

    @property
    def _default_tick(self) -> timedelta:
        return min(self.window.slide or _LONGEST_DEFAULT_TICK, _LONGEST_DEFAULT_TICK)

    def structure(self) -> dict[str, Any]:
        """As of any query, with the settings that hold, written or not; and a matrix by its content."""
        section = self.emd_join
        structure = super().structure() | {
            "emd_join.bins": len(section.costs),
            "emd_join.span": section.span_width,
            "emd_join.feedback": ms(section.feedback_period),
            "emd_join.ground_distance.digest": section.ground_distance.digest,
        }
        structure.pop("emd_join.ground_distance.matrix", None)
        return structure


AnyQuery = Annotated[AggregateQuery | TopKQuery | EmdJoinQuery, Field(discriminator="kind")]
ADAPTER: TypeAdapter[Query] = TypeAdapter(AnyQuery)


def declared_query(fields: Mapping[str, Any], directory: Path | None = None) -> Query:
    """The query with these fields, as they stand in a file of this directory.

    Raises
    ------
    pydantic.ValidationError
    """
    return ADAPTER.validate_python(fields, context={} if directory is None else {"directory": directory})


def _flatten(section: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{path}{name}.")
        else:
            yield path + name, value
