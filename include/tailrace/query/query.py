"""The part of a declared continuous query that all kinds share; a frozen model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, ClassVar, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.promise_of_answers import PromiseOfAnswers
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.ground.duration import format_duration, ms
from tailrace.ground.errors import refuse
from tailrace.ground.fields import Name, Section, Tasks, field_error
from tailrace.kind.inputs import TableInput
from tailrace.query.alerts import Alerts
from tailrace.query.answers_section import Answers
from tailrace.query.correction_section import Correction
from tailrace.query.sections import Disorder, Stream
from tailrace.sources.declared_source import SOURCE_PLACE

KIND = "the kind of query: aggregate"
"""The description of the field `kind`."""

LONGEST_DEFAULT_TICK = timedelta(milliseconds=100)

_LEAST_AHEAD = timedelta(hours=1)


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
    kind: str = Field(description=KIND)
    streams: dict[str, Stream] = Field(
        description="the stream, by a name of yours: {readings: {source: ..., id: ...}}",
        json_schema_extra={"minProperties": 1, "maxProperties": 1},
    )
    disorder: Disorder = Field(default=Disorder(), description="how long windows wait: {policy: k_slack, k: 2 s}")
    correction: Correction = Field(
        default=Correction(), description="when late tuples are corrected: {schedule: '@daily'}"
    )
    alerts: Alerts = Field(
        default=Alerts(), description="who is notified of what: {driver_lost: {notify: ops_webhook}}"
    )
    answers: Answers = Field(
        default=Answers(),
        description="where answers are sent, too: {kafka: {servers: 'broker:9092', topic: answers}}",
    )
    parallelism: Tasks = Field(default=2, description="tasks that the query is spread over, from 1 to 64: 2")

    @field_validator("streams")
    @classmethod
    def _validate_streams(cls, streams: dict[str, Stream], info: ValidationInfo) -> dict[str, Stream]:
        if set(streams) == set(cls.sides) if cls.sides else len(streams) == 1:
            return {name: streams[name] for name in cls.sides or streams}
        takes, remedy = "one stream", "exactly one stream under streams"
        if cls.sides:
            takes = remedy = f"the {len(cls.sides)} streams {' and '.join(cls.sides)}"
        count = "1 stream" if len(streams) == 1 else f"{len(streams)} streams"
        summary = f"{count}: {', '.join(streams)}" if streams else "no stream"
        raise field_error(f"kind {info.data.get('kind', 'aggregate')} takes {takes}, here is {summary}", remedy)

    @model_validator(mode="after")
    def _validate_promise(self) -> Self:
        if isinstance(self.policy, PromisingPolicy) and not self.promises_errors:
            fault = f"policy {self.policy.policy} promises (error, risk), which kind {self.kind} has no measure for"
            raise field_error(fault, "policy: cache_duration, which promises an accuracy", "disorder.policy")
        if isinstance(self.policy, PromiseOfAnswers) and self.policy.of is not None and not self.promises_errors:
            fault = f"an answer of kind {self.kind} is promised as a whole: no {self.policy.of[0]}"
            raise field_error(fault, "no of", "disorder.of")
        return self

    @model_validator(mode="after")
    def _validate_alert(self) -> Self:
        makes_promise = any(getattr(self.policy, name, None) is not None for name in ("risk", "accuracy"))
        if self.alerts.promise_broken and not makes_promise:
            fault = f"policy {self.policy.policy} promises nothing"
            raise field_error(fault, "a policy with error and risk, or with accuracy; or no such alert", "alerts")
        return self

    @model_validator(mode="after")
    def _validate_answer_topic(self) -> Self:
        target = self.answers.kafka
        if target is not None and self.table is not None:
            fault = "the readers of a join with a table write its answers as files, and nobody has them all to send"
            raise field_error(fault, "no answers.kafka: read the table results", "answers.kafka")
        if target is not None and any(stream.source.reads(target) for stream in self.streams.values()):
            raise field_error("the query reads this topic", "another topic for its answers", "answers.kafka.topic")
        return self

    @property
    def stream(self) -> tuple[str, Stream]:
        """Name and declaration of the only stream of a query that has no more."""
        (stream,) = self.streams.items()
        return stream

    @property
    def key_names(self) -> tuple[str, ...]:
        """The columns of answers with the values of a list of keys; none where its key is no list."""
        return next((stream.key for stream in self.streams.values() if isinstance(stream.key, tuple)), ())

    @property
    def connections(self) -> list[str]:
        """The names of the connections to its sources, and to the topic of its answers."""
        places = [*(stream.source for stream in self.streams.values()), self.answers.kafka]
        return sorted({place.connection for place in places if place is not None and place.connection is not None})

    @property
    def policy(self) -> SlackPolicy:
        return self.disorder.policy

    @property
    def table(self) -> TableInput | None:
        """The dimension table that its stream is joined with; None for most queries."""
        return None

    @property
    def pair_condition(self) -> str | None:
        """The condition `where` of a join over its pairs; None without one."""
        return None

    @property
    def has_late_tuples(self) -> bool:
        """Whether tuples can be late, so that answers are corrected, and waits are calibrated."""
        return self.table is None

    @property
    def tasks(self) -> int:
        """The number of its tasks; 0 where nothing waits in them: readers answer each tuple."""
        return self.parallelism if self.has_late_tuples else 0

    @property
    def tick(self) -> timedelta:
        """Length of a tick, the step of arrival time: as declared, else the smaller of slide and 100 ms."""
        return self._default_tick if self.disorder.tick is None else self.disorder.tick

    @property
    def _default_tick(self) -> timedelta:
        return LONGEST_DEFAULT_TICK

    @property
    def tick_ms(self) -> int:
        return ms(self.tick)

    @property
    def idle_ms(self) -> int:
        return ms(self.disorder.idle)

    @property
    def span(self) -> timedelta:
        """The longest time between two events of one answer: a window's size or a join's reach; 0 if there is none."""
        return timedelta(0)

    def ahead_ms(self, stream: Stream) -> int:
        """Return how far a stream's event times may be ahead of arrival, in ms.

        As declared; else the longest of an hour, the span of an answer, and K where the policy declares one. A policy
        that finds K itself declares none. The hour accepts what is early by nature, as flights are by up to 33 minutes,
        and clocks that are off by one for summer time.
        """
        ahead = stream.bounds.ahead
        return ms(max(_LEAST_AHEAD, self.span, self.policy.declared_k) if ahead is None else ahead)

    def fixed_by(self, structure: Mapping[str, Any]) -> Self:
        """Return the query with what it does not declare as it stands in the structure of a checkpoint.

        So a stream goes on with the bounds that it was begun with, whatever their defaults follow from now.

        Raises
        ------
        Refused
            When what it declares does not fit that.
        """
        streams = {
            name: stream.bounded_by(structure.get(f"streams.{name}.bounds.ahead"))
            for name, stream in self.streams.items()
        }
        return self.model_copy(update={"streams": streams})

    def structure(self) -> dict[str, Any]:
        """Return the part of the declaration that a checkpoint is bound to, as values by field path.

        It leaves out the settings of time (`disorder` but its tick and `deduplicate`, and `correction`), of place
        (a source's fields in `SOURCE_PLACE`, and `answers`), and `alerts`. Two declarations may share a checkpoint if
        these are equal; keys with unequal values name what changed. Bounds are those that hold,
        written or not: corrections read the source's records again under them.
        """
        exclusions: Any = {
            "disorder": True,
            "correction": True,
            "alerts": True,
            "answers": True,
            "streams": {"__all__": {"source": SOURCE_PLACE}},
        }
        declaration = self.model_dump(mode="json", exclude=exclusions)
        declaration |= {"disorder": {"tick": self.tick_ms, "deduplicate": self.disorder.deduplicate}}
        for name, stream in self.streams.items():
            declaration["streams"][name]["bounds"]["ahead"] = format_duration(self.ahead_ms(stream))
            if len(stream.columns) > 1:  # an expression sees those above it
                declaration["streams"][name]["column_order"] = list(stream.columns)
        return dict(_flatten(declaration))


def require_late_tuples(query: Query) -> None:
    """Refuse a correction or calibration of a query that has no late tuples.

    Raises
    ------
    Refused
    """
    if not query.has_late_tuples:
        fault = "a join with a table answers each tuple as it comes: none is late"
        raise refuse(f"query {query.name}", fault, "nothing: there is nothing to correct, nor to calibrate")


def _flatten(section: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{path}{name}.")
        else:
            yield path + name, value
