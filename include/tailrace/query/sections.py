"""Frozen models of the sections of a query file; query.py composes them. The sources are in the room `sources`.

Each field's description ends in a colon and an example: error messages and the JSON Schema are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from tailrace.expressions.projection import NamedError, Projection
from tailrace.ground.duration import ms, parse_duration
from tailrace.ground.facts import lookup_subject
from tailrace.ground.fields import (
    EPOCH,
    Column,
    Name,
    NonNegativeDuration,
    Section,
    Time,
    TimeZone,
    field_error,
    null_word,
)
from tailrace.kind.table_place import OnNoMatch
from tailrace.query.key_section import Key, NullKey
from tailrace.sources.answers_source import EVENT_TIMES, AnswersSource
from tailrace.sources.discovery.path_sources import DeltaSource, FileSource, ReplaySource
from tailrace.sources.kafka.kafka_source import KafkaSource
from tailrace.sources.lookup.table_section import TableSection

if TYPE_CHECKING:
    from tailrace.sources.lookup.lookups import Lookup


def _by_name(columns: Any) -> Any:
    """Return columns by their names in the stream; a single column, or each of a list, has its name in the table."""
    names = [columns] if isinstance(columns, str) else columns
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return {name: name for name in names} if is_list else names


LookupColumns = Annotated[
    dict[Column, Column],
    Field(min_length=1),
    BeforeValidator(_by_name, json_schema_input_type=Column | list[Column] | dict[Column, Column]),
]
"""Pydantic field type of columns: one or several with the same name in stream and table, or pairs of both names."""


class LookupSection(TableSection):
    """A lookup: the table, the key, and the columns to add."""

    key: LookupColumns = Field(
        description="join key, as stream column and table column, or names that both have: {sku: product_id}"
    )
    columns: LookupColumns = Field(
        description="columns to add, as name in the stream and table column, or names for both: "
        "{category: product_category}"
    )
    on_no_match: Annotated[OnNoMatch, BeforeValidator(null_word, json_schema_input_type=OnNoMatch | None)] = Field(
        default="null",
        description="a record without a row in the table gets nulls (null), "
        "is left out (drop) or rejected (quarantine): drop",
    )

    corrections: Literal["seen", "newest"] = Field(
        default="seen",
        description="table version that corrections look up in, seen (the one that the stream used) or newest: newest",
    )

    @model_validator(mode="after")
    def _validate_columns(self) -> Self:
        self.require_own_times(self.key.values())
        return self

    def build(self, stream: str, name: str) -> Lookup:
        """Build the lookup of a stream, by its name."""
        from tailrace.sources.lookup.lookup_table import LookupTable  # noqa: PLC0415 (slow; DAG files import this)
        from tailrace.sources.lookup.lookups import Lookup  # noqa: PLC0415

        section = f"streams.{stream}.lookup.{name}"
        fields = dict.fromkeys(self.key.values(), f"{section}.key")
        fields |= {
            column: f"{section}.{field}"
            for field, column in zip(("valid_from", "valid_to"), self.valid, strict=True)
            if column is not None
        }
        fields |= {column: f"{section}.columns.{own}" for own, column in self.columns.items() if column not in fields}
        names = (*self.key.values(),), (*self.columns.items(),)
        table = LookupTable(self.place, *names, self.format, self.valid, (*fields.items(),), section)
        is_repeated = self.corrections == "newest"
        return Lookup(name, lookup_subject(stream, name), table, (*self.key,), self.on_no_match, is_repeated)


def check_corrections(
    lookups: Mapping[str, LookupSection], named: Mapping[str, str | None], projection: Projection | None
) -> None:
    """Refuse lookups of a stream that corrections can't repeat in the newest versions.

    A tuple's times, id and key may not depend on a version. `named` has the columns of a stream's times and id, by
    field.

    Raises
    ------
    PydanticCustomError
    """
    newest = [name for name, lookup in lookups.items() if lookup.corrections == "newest"]
    if not newest:
        return
    if others := [name for name in lookups if name not in newest]:
        fault = f"lookup {newest[0]} has newest, and lookup {others[0]} has seen: a correction repeats all or none"
        raise field_error(fault, "one of both for all lookups of the stream", f"lookup.{others[0]}.corrections")
    looked_up = {column for lookup in lookups.values() for column in lookup.columns}
    for field, column in named.items():
        behind: tuple[str, ...] = ()
        if projection is not None and column is not None:
            alone = replace(projection, where=None).pruned([column])
            behind = () if alone is None else alone.inputs
        if given := sorted(looked_up.intersection([column, *behind])):
            fault = f"{given[0]} is looked up, and a newer version of the table may change the tuple's {field}"
            raise field_error(fault, "a column of the source; or corrections: seen", field)


Source = Annotated[FileSource | DeltaSource | ReplaySource | KafkaSource | AnswersSource, Field(discriminator="format")]
"""A stream's source. A new type of source is a member here; a new file format is a line in the registry of formats."""

_WITH_IDS = [
    tag
    for source in get_args(get_args(Source)[0])
    if "id" in source.own_columns
    for tag in get_args(source.model_fields["format"].annotation)
]
"""The formats of sources that add the columns for the tuples' ids themselves."""


class Bounds(Section):
    """Bounds of the accepted times, both included: events from `earliest` to `ahead` after the tuple's own arrival.

    `skew` is the tolerated difference of clocks: an arrival time may be later than the reading of the record by this,
    and an event time moves t_max at most this far beyond its arrival.
    """

    earliest: Time = Field(
        default=datetime(2000, 1, 1, tzinfo=UTC), description="earliest event time accepted, included: 2000-01-01"
    )
    ahead: NonNegativeDuration | None = Field(
        default=None,
        description="how far event time may be ahead of arrival time, by default the longest of 1 h, "
        "the window's size and K: 1 d",
    )
    skew: NonNegativeDuration = Field(
        default=timedelta(minutes=1),
        description="tolerated clock difference; arrival times further ahead of the reader's clock are rejected: 1 min",
    )

    @property
    def earliest_ms(self) -> int:
        return ms(self.earliest - EPOCH)

    @property
    def skew_ms(self) -> int:
        return ms(self.skew)


class StreamSection(Section):
    """A stream: its source, its columns, and the event times accepted."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["id"], "properties": {"id": {"not": {"type": "null"}}}},
                {"properties": {"source": {"properties": {"format": {"enum": _WITH_IDS}}}}},
            ]
        }
    )

    source: Source = Field(description="where the tuples come from: {format: parquet, path: data/readings}")
    event_time: Column = Field(description="column with the time at which the event happened: event_time")
    arrival_time: Column | None = Field(
        default=None,
        description="column with the arrival time, by default Kafka's append time or the time of reading: arrival_time",
    )
    id: Column | None = Field(
        default=None, description="column with the tuple's id; tuples with the same id are repeats: id"
    )
    lookup: dict[Name, LookupSection] = Field(
        default={},
        description="lookups that add a table's columns by key, under names of your choice: "
        "{products: {path: ..., key: sku, columns: ...}}",
    )
    columns: dict[Column, Column] = Field(
        default={}, description="derived columns, each a scalar expression of Spark SQL: {net: amount / 1.19}"
    )
    where: Column | None = Field(
        default=None, description="Spark SQL condition; records that do not meet it are filtered out: status = 'paid'"
    )
    key: Key | None = Field(default=None, description="column to group by, or a list of columns: sensor")
    null_key: NullKey | None = Field(
        default=None,
        description="records with a null in the key form a group of their own (group, "
        "the default) or are rejected (quarantine): quarantine",
    )
    bounds: Bounds = Field(
        default=Bounds(), description="range of accepted event and arrival times: {earliest: 2000-01-01, ahead: 1 d}"
    )
    timezone: TimeZone | None = Field(
        default=None, description="time zone of times that state none, UTC by default: Europe/Berlin"
    )

    @model_validator(mode="after")
    def _validate_expressions(self) -> Self:
        try:
            _ = self.projection
        except NamedError as error:
            raise field_error(f"{error.position}: {error.fault}", error.remedy, error.field) from None
        return self

    @property
    def projection(self) -> Projection | None:
        """The derived columns and the condition, not bound to types yet; None if there are none."""
        return Projection.parse(self.columns, self.where) if self.columns or self.where else None

    @model_validator(mode="after")
    def _validate_lookups(self) -> Self:
        above = dict[str, str]()
        for name, lookup in self.lookup.items():
            for column in lookup.columns:
                field = f"lookup.{name}.columns"
                if column in above:
                    raise field_error(f"lookup {above[column]} gives a column {column}, too", "another name", field)
                if column == self.event_time:
                    fault = f"{column} is the event time, by which bounds and validity are judged before"
                    raise field_error(fault, "another name; and a derived column, if need be", field)
                above[column] = name
            if (lookup.valid_from or lookup.valid_to) and self.event_time in self.columns:
                fault = "an expression gives the event time, and lookups come before expressions"
                raise field_error(fault, "event_time: a column of the source", f"lookup.{name}")
        named = {field: getattr(self, field) for field in ("event_time", "arrival_time", "id")}
        check_corrections(self.lookup, named, self.projection)
        return self

    @model_validator(mode="after")
    def _validate_id(self) -> Self:
        if self.id is None and "id" not in self.source.own_columns:
            raise field_error("is missing", "id: id (column with the tuple's id)", "id")
        return self

    @model_validator(mode="after")
    def _validate_null_key(self) -> Self:
        if self.null_key is not None and self.key is None:
            remedy = "no null_key; or a key, of kind aggregate or topk"
            raise field_error("the stream has no key, of which a value could be null", remedy, "null_key")
        return self

    @model_validator(mode="after")
    def _validate_versions(self) -> Self:
        """Refuse settings with which versions of an answer could be tuples of different windows, or no tuples."""
        if not isinstance(self.source, AnswersSource):
            return self
        if self.event_time not in EVENT_TIMES or self.event_time in self.columns:
            fault = "it is no time of the answers' windows, and may differ between versions of an answer"
            raise field_error(fault, " or ".join(EVENT_TIMES), "event_time")
        for field, value, own in (("id", self.id, "answer"), ("arrival_time", self.arrival_time, "as_of")):
            if value is not None:
                raise field_error(f"the answers of a query have their own: {own}", "nothing", field)
        if self.lookup:
            fault = "a version that comes later could meet another row, and would not replace the one before"
            raise field_error(fault, "a lookup of the other query", "lookup")
        if self.where is not None:
            fault = "a correction of the other query could make a tuple of a record, or none of it"
            raise field_error(fault, "a where of the other query, or of an aggregate here", "where")
        return self

    @property
    def path(self) -> Path:
        """The path of its files or table; None for a topic or an object store."""
        assert self.source.local_path is not None
        return self.source.local_path

    @property
    def uri(self) -> str:
        """The source as a URI."""
        return self.source.uri()

    @property
    def groups_nulls(self) -> bool:
        """Whether a null in the key is a value like any other."""
        return self.null_key != "quarantine"

    def fixed_by(self, ahead: str | None, null_key: NullKey | None) -> Self:
        """Return the stream with a bound for event times ahead of arrival, and a `null_key`, if it declares none."""
        updates: dict[str, Any] = {}
        if ahead is not None and self.bounds.ahead is None:
            updates["bounds"] = self.bounds.model_copy(update={"ahead": parse_duration(ahead)})
        if null_key == "quarantine" and self.null_key is None and self.key is not None:
            updates["null_key"] = null_key
        return self.model_copy(update=updates) if updates else self

    @property
    def is_stamped(self) -> bool:
        """Whether its tuples have no arrival time, and get the time of their planning."""
        return self.arrival_time is None and "arrival_time" not in self.source.own_columns
