"""The part of a declared continuous query that all kinds share; a frozen model."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from tailrace.disorder.policy import SlackPolicy
from tailrace.ground.duration import ms
from tailrace.ground.facts import TABLE, Subject
from tailrace.ground.fields import Name, PositiveDuration, Section, Tasks, field_error
from tailrace.kind.column_use import ColumnUse
from tailrace.kind.inputs import TableInput
from tailrace.query.alerts import Alerts
from tailrace.query.answers_section import AnswersSection
from tailrace.query.calibration_section import CalibrationSection
from tailrace.query.cron import Cron
from tailrace.query.disorder_section import Disorder
from tailrace.query.policy_pairing import check_policy
from tailrace.query.sections import StreamSection
from tailrace.query.structure import structure_of
from tailrace.sources.answers_source import AnswersSource

if TYPE_CHECKING:
    from tailrace.sources.lookup.lookups import Lookup


class Correction(Section):
    """Schedule and trigger of the correction of late tuples."""

    schedule: Cron = Field(
        default="@daily",
        description="cron expression in UTC; each run corrects the late tuples that arrived in its interval: 0 0 * * *",
    )
    gap: PositiveDuration | None = Field(
        default=None,
        description="a correction starts at once when uncorrected late tuples span more event time than this: 5 s",
    )


class ElasticitySection(Section):
    """The greatest number of tasks of a live stream; `parallelism` is the least number."""

    most: Tasks = Field(description="largest number of tasks under load, more than parallelism and at most 64: 8")

    def require_more_than(self, parallelism: int) -> None:
        """Refuse a greatest number that is not more than `parallelism`, which is 0 for a join with a table.

        Raises
        ------
        ValueError
        """
        if not parallelism:
            raise field_error("a join with a table has no tasks: its readers answer", "no elasticity", "elasticity")
        if self.most <= parallelism:
            fault = f"{self.most} is no more than parallelism, which is {parallelism}"
            raise field_error(fault, "a greater number; or no section elasticity", "elasticity.most")


KIND = "the kind of query: aggregate"
"""The description of the field `kind`."""

LONGEST_DEFAULT_TICK = timedelta(milliseconds=100)

_LEAST_AHEAD = timedelta(hours=1)


class Query(Section):
    """The part of a declared query that all kinds share.

    Attributes
    ----------
    promises_errors : bool
        Whether the kind allows policies that promise (error, risk).
    answers_are_tuples : bool
        Whether the accuracy of an answer is the share of its tuples that it holds.
    follows_versions : bool
        Whether tuples may have later versions, like answers of another query; true for windows of one stream.
    sides : tuple of str
        The names that its streams must have, in the order of the kind's inputs; empty for one stream of any name.
    """

    promises_errors: ClassVar[bool] = False
    answers_are_tuples: ClassVar[bool] = False
    follows_versions: ClassVar[bool] = False
    sides: ClassVar[tuple[str, ...]] = ()

    name: Name = Field(
        description="name of the query, at most 63 characters of a-z, 0-9 and _, a letter first: ball_load"
    )
    kind: str = Field(description=KIND)
    streams: dict[str, StreamSection] = Field(
        description="the one stream, under a name of your choice: {readings: {source: ..., id: ...}}",
        json_schema_extra={"minProperties": 1, "maxProperties": 1},
    )
    disorder: Disorder = Field(
        default=Disorder(), description="how long windows wait for late tuples: {policy: k_slack, k: 2 s}"
    )
    correction: Correction = Field(
        default=Correction(), description="when late tuples are corrected: {schedule: '@daily'}"
    )
    calibration: CalibrationSection = Field(
        default=CalibrationSection(),
        description="when policy cache_duration calibrates its wait K: {every: 30 windows}",
    )
    alerts: Alerts = Field(
        default=Alerts(), description="who is notified of which failures: {driver_lost: {notify: ops_webhook}}"
    )
    answers: AnswersSection = Field(
        default=AnswersSection(),
        description="where answers are sent, besides the query's Delta tables: "
        "{kafka: {servers: 'broker:9092', topic: answers}}",
    )
    parallelism: Tasks = Field(
        default=2, description="number of parallel tasks, from 1 to 64; no answer depends on it: 2"
    )
    elasticity: ElasticitySection | None = Field(
        default=None, description="limit up to which load may raise the number of tasks of a live stream: {most: 8}"
    )

    @field_validator("streams")
    @classmethod
    def _validate_streams(cls, streams: dict[str, StreamSection], info: ValidationInfo) -> dict[str, StreamSection]:
        if set(streams) == set(cls.sides) if cls.sides else len(streams) == 1:
            return {name: streams[name] for name in cls.sides or streams}
        takes, remedy = "one stream", "exactly one stream under streams"
        if cls.sides:
            takes = remedy = f"the {len(cls.sides)} streams {' and '.join(cls.sides)}"
        count = "1 stream" if len(streams) == 1 else f"{len(streams)} streams"
        summary = f"{count}: {', '.join(streams)}" if streams else "no stream"
        raise field_error(f"kind {info.data.get('kind', 'aggregate')} takes {takes}, here is {summary}", remedy)

    @model_validator(mode="after")
    def _validate_policy(self) -> Self:
        check_policy(self)
        return self

    @model_validator(mode="after")
    def _validate_elasticity(self) -> Self:
        if self.elasticity is not None:
            self.elasticity.require_more_than(self.tasks)
        return self

    @model_validator(mode="after")
    def _validate_later_versions(self) -> Self:
        if not self.follows_versions:
            _refuse_later_versions(self.kind, self.streams)
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
        if target is not None and any(stream.source.reads(target) for stream in self.streams.values()):
            raise field_error("the query reads this topic", "another topic for its answers", "answers.kafka.topic")
        return self

    @property
    def stream(self) -> tuple[str, StreamSection]:
        """Name and declaration of the stream of a query with one stream."""
        (stream,) = self.streams.items()
        return stream

    @property
    def key_names(self) -> tuple[str, ...]:
        """The columns of answers for a key with several columns; none for other keys."""
        return next((stream.key for stream in self.streams.values() if isinstance(stream.key, tuple)), ())

    @property
    def connections(self) -> list[str]:
        """The names of the connections to its sources, its tables and its delivery targets."""
        read = [
            each.connection for stream in self.streams.values() for each in (stream.source, *stream.lookup.values())
        ]
        return sorted({*filter(None, read), *self.answers.connections})

    @property
    def policy(self) -> SlackPolicy:
        return self.disorder.policy

    @property
    def table(self) -> TableInput | None:
        """The dimension table that its stream is joined with; None for most queries."""
        return None

    @property
    def uses(self) -> tuple[ColumnUse, ...]:
        """The uses of the columns of its streams and its table by its kind."""
        return ()

    @property
    def lookups(self) -> dict[str, tuple[Lookup, ...]]:
        """The lookups of each stream, by its name."""
        return {
            stream: tuple(lookup.build(stream, name) for name, lookup in declared.lookup.items())
            for stream, declared in self.streams.items()
        }

    @property
    def tables(self) -> dict[Subject, TableInput]:
        """The dimension table, and the tables of lookups, by the subject of their versions."""
        tables: dict[Subject, TableInput] = {} if self.table is None else {TABLE: self.table}
        return tables | {each.subject: each.table for lookups in self.lookups.values() for each in lookups}

    @property
    def pair_condition(self) -> str | None:
        """The condition `where` of a join over its pairs; None without one."""
        return None

    @property
    def has_late_tuples(self) -> bool:
        """Whether tuples can be late, so that answers are corrected, and waits are calibrated."""
        return self.table is None

    @property
    def has_sessions(self) -> bool:
        """Whether its windows are sessions, which have no size."""
        return False

    @property
    def tasks(self) -> int:
        """The number of its tasks; 0 for a join with a table, whose readers answer each tuple."""
        return self.parallelism if self.has_late_tuples else 0

    @property
    def task_bounds(self) -> tuple[int, int]:
        """The least and the greatest number of tasks that it may have."""
        return self.parallelism, self.parallelism if self.elasticity is None else self.elasticity.most

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

    @property
    def window_step(self) -> timedelta:
        """The time from one window to the next; for a join its reach, by which recall is measured."""
        return self.span

    def ahead_ms(self, stream: StreamSection) -> int:
        """Return how far a stream's event times may be ahead of arrival, in ms.

        As declared; else the longest of an hour, the span of an answer, and K if the policy declares one (a policy that
        finds K itself declares none). An hour accepts events that are early by nature, as flights are by up to 33
        minutes, and clocks that are wrong by an hour of summer time.
        """
        ahead = stream.bounds.ahead
        return ms(max(_LEAST_AHEAD, self.span, self.policy.declared_k) if ahead is None else ahead)

    def fixed_by(self, structure: Mapping[str, Any]) -> Self:
        """Return the query with the checkpoint's bounds and `null_key`, if it declares none itself.

        So a stream keeps the values with which it began, even if the defaults change.

        Raises
        ------
        Refused
            When the declared fields do not fit these bounds.
        """
        streams = {
            name: stream.fixed_by(*(structure.get(f"streams.{name}.{field}") for field in ("bounds.ahead", "null_key")))
            for name, stream in self.streams.items()
        }
        return self.model_copy(update={"streams": streams})

    def structure(self) -> dict[str, Any]:
        """Return the part of the declaration that a checkpoint is bound to, see `structure_of`."""
        return structure_of(self)


def _refuse_later_versions(kind: str, streams: Mapping[str, StreamSection]) -> None:
    """Refuse another query's answers as a source, and lookups that corrections repeat in newer tables.

    Raises
    ------
    PydanticCustomError
    """
    for name, stream in streams.items():
        if isinstance(stream.source, AnswersSource):
            fault = f"a query of kind {kind} can't follow the later versions of another query's answers"
            raise field_error(fault, "a source of another format; or kind aggregate or topk", f"streams.{name}.source")
        for lookup, section in stream.lookup.items():
            if section.corrections == "newest":
                fault = f"corrections of kind {kind} can't follow a newer version of a table"
                remedy = "seen; or kind aggregate or topk"
                raise field_error(fault, remedy, f"streams.{name}.lookup.{lookup}.corrections")
