"""The records of a stream whose corrections repeat its lookups: history stores them, and tuples are made from them.

A record is a row of the source with valid times and an id. The tuple that lookups, expressions and `where` make of it
depends on a version of a table. Stream and corrections make tuples of records by the same steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.engine.derived_columns import bound
from tailrace.ground.arrow.number_types import cast_values
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US, joined_times
from tailrace.ground.errors import Problem, Unfit
from tailrace.ground.facts import Subject
from tailrace.ground.files.object_path import Location
from tailrace.kind.column_use import IDENTITY, ColumnUse
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.carried_columns import CARRIABLE, carried_type, score_type
from tailrace.sources.check import Checked, check
from tailrace.sources.columns import SourceMapping
from tailrace.sources.ids_and_keys import id_type, key_type
from tailrace.sources.lookup.lookups import Versions, stored_versions
from tailrace.sources.segments import Types
from tailrace.sources.sound_times import Times

_PREFIX = "source_"
_OWN = ("event_time", "arrival_time", "id")
_OF_ARRIVAL = ("position", "tick", "end")


@dataclass(frozen=True)
class StreamRecords:
    """Reads the records of a stream, and makes tuples of them by versions of tables; frozen, and sent to every worker.

    Attributes
    ----------
    read : SourceMapping
        Maps the source to records: each column that tuples need is carried along.
    tuples : SourceMapping
        Maps records to tuples.
    id_type : DataType
    value_types : dict
        The types of a record's columns beside times and id, by name in history.
    files : dict
        The versions of tables that a correction reads, by the subject of each table; empty in the stream.
    """

    read: SourceMapping
    tuples: SourceMapping
    id_type: pa.DataType
    value_types: Mapping[str, pa.DataType]
    files: Mapping[Subject, Location] = field(default_factory=dict)

    @staticmethod
    def from_columns(columns: SourceMapping, types: Types) -> StreamRecords:
        """Return the records of a stream; `types` has the types of the source's columns."""
        wanted = _types_of_records(columns, types)
        carried = {f"{_PREFIX}{name}": name for name in wanted}
        projection = columns.projection
        if projection is not None:
            times_and_id = [name for name in (columns.event_time, columns.arrival_time, columns.id) if name is not None]
            projection = replace(projection, where=None).pruned(times_and_id)
        uses = tuple(ColumnUse(name, IDENTITY, part=part) for part, name in carried.items())
        read = replace(columns, key=None, uses=uses, row_check=None, projection=projection, lookups=())
        read = replace(read, projection=bound(read, types))
        event_time, arrival_time, id_ = map(_own, _OWN)
        tuples = replace(columns, event_time=event_time, arrival_time=arrival_time, id=id_, timezone=None, zones={})
        return StreamRecords(
            read, tuples, id_type(types.get(columns.id, "")), {part: wanted[name] for part, name in carried.items()}
        )

    @property
    def stored_columns(self) -> list[str]:
        """The columns of history from which tuples are made."""
        return [*_OWN, EVENT_US, ARRIVAL_US, *self.value_types, *_OF_ARRIVAL]

    def check(
        self, raw: pa.Table, row: np.ndarray, types: ColumnTypes, ingested_ms: int | None, versions: Versions
    ) -> tuple[Checked, pa.RecordBatch]:
        """Make records of the source's rows, shape (n,), and tuples of the records; parameters as in `check.check`.

        Returns
        -------
        checked : Checked
            Every record moves ticks and t_max, even if no tuple is made of it.
        records : RecordBatch
        """
        of_records = ColumnTypes(id=self.id_type, carried=self.value_types)
        first = check(self._with_types(raw), self.read, row, of_records, ingested_ms)
        records = first.tuples
        second = check(
            self._named(records), self.tuples, np.asarray(records.column("row")), types, None, False, versions
        )
        is_record = np.delete(np.arange(raw.num_rows), first.rejected)
        rejected = np.concatenate([first.rejected, is_record[second.rejected]])
        times = Times(*(np.asarray(records.column(name)) for name in ("event_time", "arrival_time", "row")))
        is_tuple = np.zeros(records.num_rows, bool)
        is_tuple[np.searchsorted(times.row, np.asarray(second.tuples.column("row")))] = True
        checked = Checked(
            second.tuples,
            rejected,
            first.reasons + second.reasons,
            first.arrivals + second.arrivals,
            second.filtered,
            times,
            None if is_tuple.all() else pa.array(is_tuple),
            second.unmatched,
            first.floored,
        )
        return checked, records

    def tuples_of(self, records: pa.RecordBatch, types: ColumnTypes) -> pa.RecordBatch:
        """Return the tuples that the versions in `files` make of stored records, with `position`, `tick` and `end`."""
        versions = stored_versions(self.tuples.lookups, self.files)
        row = np.arange(records.num_rows)
        tuples = check(self._named(records), self.tuples, row, types, None, False, versions).tuples
        for name in _OF_ARRIVAL:
            tuples = tuples.append_column(name, records.column(name).take(tuples.column("row")))
        return tuples

    def _with_types(self, raw: pa.Table) -> pa.Table:
        """Cast the kind's own values to the types that the kind takes, as number types may differ by file."""
        for name, dtype in _values(self.tuples).items():
            column = raw.column(name)
            if column.type != dtype:
                raw = raw.set_column(raw.schema.get_field_index(name), name, cast_values(column, dtype))
        return raw

    def _named(self, records: pa.RecordBatch) -> pa.Table:
        """Return records with the source's names for their columns."""
        times_and_id = joined_times(pa.table(records))
        columns: dict[str, Any] = {_own(part): times_and_id.column(part) for part in _OWN}
        columns |= {name: records.column(part) for part, name in self.read.carried.items()}
        return pa.table(columns)


def types_seen(columns: SourceMapping, types: Types) -> Types:
    """Return the types of a source's columns as lookups and expressions see them: the types of records if it has these.

    Raises
    ------
    Unfit
        When history can't hold a column of such a record.
    """
    if not columns.repeats_lookups:
        return types
    return types | {name: str(dtype) for name, dtype in _types_of_records(columns, types).items()}


def _types_of_records(columns: SourceMapping, types: Types) -> dict[str, pa.DataType]:
    """Return the types of all source columns that tuples may need, as records hold them, by name."""
    values, dtypes = _values(columns), dict[str, pa.DataType]()
    needed = {name: part for part, name in columns.named().items() if part not in _OWN}
    needed |= {name: part for part, name in columns.named().items() if name in columns.free.values()}
    for name, part in needed.items():
        type_of = score_type if name in columns.scores else carried_type
        dtype = values.get(name) or type_of(types[name])
        if columns.is_name(part) and name not in columns.free.values():
            dtype = (key_type if part in columns.key_parts else id_type)(types[name])
        if dtype is None:
            lookup = next(each.name for each in columns.lookups)
            fault = f"the type of {name} is {types[name]}, which history does not hold for a later correction"
            where = f"streams.{columns.stream}.lookup.{lookup}.corrections"
            raise Unfit([Problem(where, fault, f"seen; or a column that is {CARRIABLE}")])
        dtypes[name] = dtype
    return dtypes


def _values(columns: SourceMapping) -> dict[str, pa.DataType]:
    """Return the types of the source's columns that are the kind's own values, and nothing else."""
    free, added = frozenset(columns.free.values()), columns.added
    return {
        columns.values[part]: dtype
        for part, dtype in columns.value_types.items()
        if columns.values[part] not in free | added
    }


def _own(part: str) -> str:
    """Return the name of a record's time or id: one that no source has for a column."""
    return f"{part} of the record"
