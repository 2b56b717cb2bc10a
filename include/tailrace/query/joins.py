"""Declared queries over pairs: of two streams, or of a stream and a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from tailrace.answers.identity import SIDES
from tailrace.emd_join.section import EmdJoinSection
from tailrace.ground.arrow.answer_columns import WINDOW_TIMES
from tailrace.ground.errors import refuse
from tailrace.ground.fields import field_error
from tailrace.kind.column_use import IDENTITY, JOIN, TRANSFORMATION, ColumnUse
from tailrace.kind.inputs import TableInput
from tailrace.query.query import KIND, LONGEST_DEFAULT_TICK, Query
from tailrace.query.sections import StreamSection
from tailrace.query.structure import TABLE_PLACE
from tailrace.query.window_section import JoinWindow, Window
from tailrace.spatial_join.section import SpatialJoinSection


class JoinQuery(Query):
    """A query over pairs of tuples of two streams."""

    sides: ClassVar[tuple[str, ...]] = SIDES

    streams: dict[str, StreamSection] = Field(
        description="the two streams, left and right: {left: {source: ..., id: ...}, right: {source: ..., id: ...}}",
        json_schema_extra={"minProperties": 2, "maxProperties": 2, "propertyNames": {"enum": ["left", "right"]}},
    )


def _refuse_identity(uses: Sequence[ColumnUse]) -> None:
    """Refuse to select a column that answers already have as a part of their identity."""
    copied = [use for use in uses if use.way == IDENTITY]
    fields = {(use.side, use.column): use.field for use in copied if use.part}
    for use in copied:
        if not use.part and (field := fields.get((use.side, use.column))) is not None:
            (answer,), side = use.answers or (), SIDES[use.side]
            part, place = "id" if answer == f"{side}_id" else "event_time", "table" if use.field else f"stream {side}"
            fault = f"{side}.{use.column} is the {part} of the {place}, which answers have as {answer}"
            raise field_error(fault, f"leave it out: answers have {answer}", field)


def _pair_uses(streams: Mapping[str, StreamSection]) -> Iterator[ColumnUse]:
    """Yield the uses of the streams' columns in the identity of pairs."""
    for side, (name, stream) in enumerate(streams.items()):
        if stream.id is not None:
            yield ColumnUse(stream.id, IDENTITY, (f"{name}_id",), side=side)
        yield ColumnUse(stream.event_time, IDENTITY, (f"{name}_time",), side=side)


def _time_uses(streams: Mapping[str, StreamSection]) -> list[ColumnUse]:
    """Return the uses of event times by the join."""
    return [ColumnUse(stream.event_time, JOIN, side=side) for side, stream in enumerate(streams.values())]


class EmdJoinQuery(JoinQuery):
    """The pairs of similar histograms, under the Earth Mover's Distance, of two streams."""

    kind: Literal["emd_join"] = Field(description=KIND)
    window: JoinWindow = Field(description="largest difference between the event times of a pair: {size: 5 s}")
    emd_join: EmdJoinSection = Field(
        description="which histograms form a pair, and how pairs are found: {threshold: 0.5, histogram: hist}"
    )

    @model_validator(mode="after")
    def _validate_columns(self) -> Self:
        for name, stream in self.streams.items():
            if stream.key is not None:
                raise field_error("kind emd_join takes no key: all pairs are compared", "no key", f"streams.{name}.key")
        _refuse_identity(self.uses)
        return self

    @property
    def uses(self) -> tuple[ColumnUse, ...]:
        return (*_pair_uses(self.streams), *_time_uses(self.streams), *self.emd_join.uses)

    @property
    def pair_condition(self) -> str | None:
        return self.emd_join.where

    @property
    def span(self) -> timedelta:
        return self.window.size

    @property
    def _default_tick(self) -> timedelta:
        return min(self.window.slide or LONGEST_DEFAULT_TICK, LONGEST_DEFAULT_TICK)

    def with_bins(self, bins: int) -> Self:
        """Return the query with a number of bins on a line.

        Raises
        ------
        pydantic.ValidationError
            When a declared span would hold all keys.
        """
        declared = {name: getattr(self.emd_join, name) for name in self.emd_join.model_fields_set}
        return self.model_copy(update={"emd_join": EmdJoinSection.model_validate(declared | {"bins": bins})})

    def fixed_by(self, structure: Mapping[str, Any]) -> Self:
        query, bins = super().fixed_by(structure), structure.get("emd_join.bins")
        if bins is None or not self.emd_join.takes_bins:
            return query
        try:
            return query.with_bins(bins)
        except ValidationError as error:
            fault = f"the stream was begun with {bins} bins, and emd_join does not fit that: {error.errors()[0]['msg']}"
            raise refuse(f"query {self.name}: emd_join", fault, "a section that fits; or bins: N") from None

    def structure(self) -> dict[str, Any]:
        """Return the structure, with all settings in force, declared or not, and a matrix by its content.

        Values that follow from the number of bins are None until the source has shown it. The feedback period is not
        part of the structure, as no answer depends on a partition plan.
        """
        section = self.emd_join
        structure = super().structure() | {
            "emd_join.bins": None if section.takes_bins else len(section.costs),
            "emd_join.span": None if section.takes_bins and section.span is None else section.span_width,
            "emd_join.ground_distance.digest": section.ground_distance.digest,
        }
        for name in ("ground_distance.matrix", "feedback"):
            structure.pop(f"emd_join.{name}", None)
        return structure


class SpatialJoinQuery(Query):
    """The pairs of related geometries of two streams, or of a stream and a dimension table."""

    streams: dict[str, StreamSection] = Field(
        description="the stream left and, unless join is table, the stream right: {left: {source: ..., id: ...}}",
        json_schema_extra={"minProperties": 1, "maxProperties": 2, "propertyNames": {"enum": ["left", "right"]}},
    )
    kind: Literal["spatial_join"] = Field(description=KIND)
    window: Window | None = Field(
        default=None,
        description="sliding windows, required for join window and only there: {size: 5 min, slide: 1 min}",
    )
    spatial_join: SpatialJoinSection = Field(
        description="which geometries form a pair, and how pairs are found: "
        "{join: interval, relation: dwithin, distance: 1 km}"
    )

    @field_validator("streams")
    @classmethod
    def _validate_streams(cls, streams: dict[str, StreamSection], info: ValidationInfo) -> dict[str, StreamSection]:
        if streams.keys() in ({"left"}, {"left", "right"}):
            return {name: streams[name] for name in SIDES if name in streams}
        remedy = "left, and right unless it is joined with a table"
        given = ", ".join(streams) or "none"
        raise field_error(f"kind spatial_join takes the streams left and right, here is {given}", remedy)

    @model_validator(mode="after")
    def _validate_join(self) -> Self:
        section = self.spatial_join
        sides = SIDES[:1] if section.join == "table" else SIDES
        if tuple(self.streams) != sides:
            takes = "one stream, left" if section.join == "table" else "the streams left and right"
            raise field_error(f"join {section.join} takes {takes}, here is {', '.join(self.streams)}", takes, "streams")
        if (self.window is None) == (section.join == "window"):
            if self.window is None:
                raise field_error("join window needs a window", "window: {size: 5 min, slide: 1 min}", "window")
            raise field_error(f"join {section.join} takes no window", "no window, or join: window", "window")
        for name, stream in self.streams.items():
            if stream.key is not None:
                fault = "kind spatial_join takes no key: the geometries determine the pairs"
                raise field_error(fault, "no key", f"streams.{name}.key")
        _refuse_identity(self.uses)
        if section.join == "table":
            self._take_no_disorder()
        if section.table is not None and section.table.on_no_match == "null" and self.answers.postgres is not None:
            fault = "an answer without a row of the table has no right_id, and a key of PostgreSQL takes no null"
            raise field_error(fault, "on_no_match: drop", "spatial_join.table.on_no_match")
        return self

    def _take_no_disorder(self) -> None:
        """Refuse the sections that only concern late tuples, as a join with a table has none."""
        each = "a join with a table answers each tuple as it comes"
        if "disorder" in self.model_fields_set:
            raise field_error(f"{each}: it waits for none, and drops none", "no disorder", "disorder")
        if "correction" in self.model_fields_set:
            raise field_error(f"{each}: none is late, and nothing to be corrected", "no correction", "correction")

    @property
    def table(self) -> TableInput | None:
        if self.spatial_join.table is None:
            return None
        from tailrace.spatial_join.planning import table_source_of  # noqa: PLC0415 (slow; DAG files import this)

        return table_source_of(self.spatial_join)

    @property
    def connections(self) -> list[str]:
        table = self.spatial_join.table
        own = [] if table is None or table.connection is None else [table.connection]
        return sorted({*super().connections, *own})

    @property
    def uses(self) -> tuple[ColumnUse, ...]:
        section, times = self.spatial_join, _time_uses(self.streams)
        windows = [use._replace(way=TRANSFORMATION, answers=WINDOW_TIMES) for use in times if self.window is not None]
        decides = times if section.table is None or any(section.table.valid) else []
        return (*_pair_uses(self.streams), *windows, *decides, *section.uses)

    @property
    def pair_condition(self) -> str | None:
        return self.spatial_join.where

    @property
    def span(self) -> timedelta:
        if self.window is not None:
            return self.window.size
        interval = self.spatial_join.interval
        return timedelta(milliseconds=0 if interval is None else interval.reach_ms)

    @property
    def _default_tick(self) -> timedelta:
        return LONGEST_DEFAULT_TICK if self.window is None else min(self.window.slide, LONGEST_DEFAULT_TICK)

    def structure(self) -> dict[str, Any]:
        """Return the structure, with all settings in force, declared or not."""
        section = self.spatial_join
        structure = super().structure() | {
            "spatial_join.distance": section.limit,
            "spatial_join.grid": section.cells.n if section.cells else None,
            "spatial_join.extent": section.cells.extent if section.cells else None,
            "spatial_join.bin": section.bin_ms,
        }
        for name in TABLE_PLACE:  # a location, like the path of a source
            structure.pop(f"spatial_join.table.{name}", None)
        return structure
