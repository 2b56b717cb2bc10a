"""A query compiled for its sources: the columns that they must have, the readers of its streams, and its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from tailrace.engine.derived_columns import bound, with_derived
from tailrace.engine.lookup_types import table_types, with_lookup_types
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.stream_reader import StreamReader
from tailrace.engine.stream_records import StreamRecords, types_seen
from tailrace.expressions.projection import Projection
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.facts import TABLE
from tailrace.ground.files.object_path import Location
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.kind.column_use import IDENTITY, ColumnUse
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.protocol import Enrichment, Kind, windowed
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.sources.answers_source import AnswersSource
from tailrace.sources.carried_columns import carried_type, score_type
from tailrace.sources.columns import SourceMapping
from tailrace.sources.ids_and_keys import id_type, key_type
from tailrace.sources.segments import Types
from tailrace.sources.time_zones import WITH_ZONE, WITHOUT_ZONE

NO_HISTORIES: Mapping[str, Location] = {}


@dataclass(frozen=True)
class CompiledQuery:
    """A declared query with the columns of its sources; and its kind, readers and pipeline once the types are known.

    Kind, readers and types of tuples are built once, when they are first used. That raises `Unfit` if an expression, or
    the key of a lookup, does not fit the types.

    Attributes
    ----------
    sources : dict
        The columns that each stream's source must have, by the stream's name.
    types : dict
        The types of the source's columns, by stream, and of tables, by the subject of their versions. A stream has none
        before its first record.
    """

    query: Query
    sources: Mapping[str, SourceMapping]
    types: Mapping[str, Types] = field(default_factory=dict)

    @staticmethod
    def declare(query: Query) -> CompiledQuery:
        """Compile a query whose sources' types are still unknown."""
        return CompiledQuery(query, _sources(query))

    def bind(self, types: Mapping[str, Types]) -> CompiledQuery:
        """Return the query with the types of its sources; the same object if it already has these types."""
        return self if types == self.types else replace(self, types=types)

    @cached_property
    def _seen(self) -> dict[str, Types]:
        """The types of each source's columns as lookups and expressions see them."""
        types = {name: self.types.get(name, {}) for name in self.sources}
        return {name: types_seen(self.sources[name], shown) if shown else shown for name, shown in types.items()}

    @cached_property
    def _with_lookups(self) -> dict[str, SourceMapping]:
        """The columns of each source; their lookups have the types of their tables."""
        tables = {subject: table_types(self.types[subject]) for subject in self.query.tables if subject in self.types}
        return {name: with_lookup_types(each, self._seen[name], tables) for name, each in self.sources.items()}

    @cached_property
    def tuples(self) -> dict[str, ColumnTypes]:
        """The types of the tuples of each stream whose source has shown its types, by the stream's name."""
        columns = self._with_lookups
        known = {name: with_derived(name, columns[name], seen) for name, seen in self._seen.items() if seen}
        return {name: column_types_of(columns[name], types) for name, types in known.items()}

    @cached_property
    def kind(self) -> Kind:
        """The kind for the types of all tuples and of the dimension table."""
        table = [table_types(self.types[TABLE])] if self.query.table else []
        return build(self.query, [*self.tuples.values(), *table])

    def pipeline(self, histories: Mapping[str, Location] = NO_HISTORIES, chunks: Location | None = None) -> Pipeline:
        """Build the pipeline; `histories` is as in `readers`, `chunks` as in `Pipeline`."""
        readers, query = self.readers(histories), self.query
        return Pipeline(self.kind, readers, query.tasks, query.disorder.deduplicate, chunks)

    def readers(self, histories: Mapping[str, Location] = NO_HISTORIES) -> tuple[StreamReader, ...]:
        """Build the readers of the streams.

        `histories` has the directory for history, by stream; used where the source is not itself a history.
        """
        return tuple(self._reader(name, columns, histories.get(name)) for name, columns in self._with_lookups.items())

    def _reader(self, name: str, columns: SourceMapping, history: Location | None) -> StreamReader:
        source, read = self.query.streams[name].source, self.types[name]
        columns = replace(columns, zones=_zones(columns, read))
        # Looked-up values are stored in history, so a correction computes with the same values as the stream.
        history = None if source.is_history(columns) and not columns.lookups else history
        columns = replace(columns, projection=bound(columns, self._seen[name])).pruned()
        names = set(columns.named().values())
        read = {column: dtype for column, dtype in read.items() if column in names}
        records = StreamRecords.from_columns(columns, self.types[name]) if columns.repeats_lookups else None
        tuples, tick_ms = self.tuples[name], self.query.tick_ms
        return StreamReader(name, source.reader(columns), columns, read, tuples, tick_ms, history, records)


def _sources(query: Query) -> dict[str, SourceMapping]:
    """Return the columns that each of the query's streams must have, by the stream's name."""
    kind = build(query)
    first, last = EARLIEST_MS, LATEST_MS
    if not isinstance(kind, Enrichment):
        first, last = windowed(kind).windows.within(first, last)
    columns: dict[str, SourceMapping] = {}
    for (name, stream), needed in zip(query.streams.items(), kind.inputs, strict=True):
        given = stream.source.own_columns
        arrival_time, id_ = stream.arrival_time or given.get("arrival_time"), stream.id or given.get("id")
        assert id_ is not None  # other streams without an id are refused
        derived = {**stream.columns, **needed.derives}
        projection = Projection.parse(derived, stream.where) if derived or stream.where else None
        uses = needed.uses
        if isinstance(stream.source, AnswersSource):
            uses += (ColumnUse(RETRACTED, IDENTITY, part=RETRACTED),)
        parts = {"event_time": stream.event_time, "arrival_time": arrival_time, "id": id_, "key": stream.key}
        bounds = {"earliest_ms": max(stream.bounds.earliest_ms, first), "ahead_ms": query.ahead_ms(stream)}
        bounds |= {"latest_ms": last, "skew_ms": stream.bounds.skew_ms}
        own: dict[str, Any] = {**parts, **bounds, "timezone": stream.timezone, "groups_nulls": stream.groups_nulls}
        own |= {"stream": name, "projection": projection, "lookups": query.lookups[name]}
        columns[name] = SourceMapping(uses, needed.row_check, needed.file_check, **own)
    return columns


def column_types_of(columns: SourceMapping, types: Types) -> ColumnTypes:
    """Return the types of a stream's tuples.

    The key is a string without a column, and of a list of columns.
    """
    names = {name: key_type(types[name]) for name in columns.key_parts.values()}
    is_list = isinstance(columns.key, tuple)
    key, keys = (pa.string(), names) if is_list else (next(iter(names.values()), pa.string()), {})
    carried = {
        part: score_type(types[name]) if part in columns.required else carried_type(types[name])
        for part, name in columns.carried.items()
    }
    return ColumnTypes(key, id_type(types[columns.id]), carried, keys)


def _zones(columns: SourceMapping, types: Types) -> dict[str, bool]:
    """Return for each time column whether its texts state their zone, as far as the first record has shown it."""
    names = [name for name in (columns.event_time, columns.arrival_time) if name is not None]
    return {name: types[name] == WITH_ZONE for name in names if types.get(name) in (WITH_ZONE, WITHOUT_ZONE)}
