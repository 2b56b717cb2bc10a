"""Maps the columns of a source to the parts of tuples, with the bounds of their times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tailrace.expressions.projection import WHERE, Projection
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.key_lists import KEY_PART
from tailrace.ground.time_limits import AFTER_ALL, LATEST_MS
from tailrace.kind.inputs import UsedColumns

if TYPE_CHECKING:
    from tailrace.sources.lookup.lookups import Lookup


LOOKUP_KEY = "key of a lookup, "
"""Prefix, before the column's name, of the parts that are keys of lookups."""


@dataclass(frozen=True, kw_only=True)
class SourceMapping(UsedColumns):
    """Columns of a source that hold the parts of a tuple, and the bounds of the accepted event times.

    Attributes
    ----------
    key : str, tuple of str or None
        With several columns, the tuple's key is a text with their values, see `ground.arrow.key_lists`.
    groups_nulls : bool
        Whether a null in a column of the key is a value of its own; otherwise the record is rejected.
    earliest_ms, ahead_ms, latest_ms : int
        An event time is accepted from `earliest_ms` up to its arrival time + `ahead_ms`, and up to `latest_ms`: the
        last one whose windows all end at a time that a calendar can print.
    skew_ms : int
        The greatest difference between clocks. An arrival time may be later than the reading of its record by this, and
        an event time counts for t_max up to this time after its arrival.
    timezone : str or None
        The time zone of times that state none; None: UTC.
    zones : dict
        Whether the texts of a column of times state their zone, as in the first record. Without a `timezone`, a record
        that differs from the first in this is rejected, as its time can't be known.
    projection : Projection or None
        Computes the derived columns, and which records stay; None if there is no expression.
    stream : str
        The name of its stream in the query; empty without one.
    lookups : tuple of Lookup
        The lookups, in order: their columns come before derived ones.
    """

    event_time: str
    arrival_time: str | None
    id: str
    key: str | tuple[str, ...] | None
    earliest_ms: int
    ahead_ms: int
    latest_ms: int = LATEST_MS
    skew_ms: int = AFTER_ALL
    timezone: str | None = None
    zones: Mapping[str, bool] = field(default_factory=dict)
    projection: Projection | None = None
    stream: str = ""
    lookups: tuple[Lookup, ...] = ()
    groups_nulls: bool = True

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The columns that its expressions read, of the source or of lookups."""
        return () if self.projection is None else self.projection.inputs

    @property
    def exact(self) -> frozenset[str]:
        """The source's columns whose numbers must stay exact: carried ones, and inputs of expressions."""
        return frozenset(self.free.values()) - self.scores

    @property
    def scores(self) -> frozenset[str]:
        """The source's columns that only rank tuples."""
        others = {name for part, name in self.free.items() if part not in self.required}
        return frozenset(self.carried[part] for part in self.required) - others - self.added

    @property
    def numbers(self) -> frozenset[str]:
        """The free columns that hold the kind's doubles, or rank tuples: texts there become numbers."""
        doubles = {self.values[part] for part, dtype in self.value_types.items() if pa.types.is_float64(dtype)}
        doubles |= {self.carried[part] for part in self.required}
        others = {self.event_time, self.arrival_time, self.id, *self.key_parts.values()}
        return frozenset(self.free.values()) & (doubles - others - self.added)

    @property
    def derived(self) -> frozenset[str]:
        """The names of the columns that expressions give, which the source need not have."""
        return frozenset(() if self.projection is None else dict(self.projection.columns))

    @property
    def looked_up(self) -> frozenset[str]:
        """The names of the columns that lookups give, which the source need not have."""
        return frozenset(name for lookup in self.lookups for name in lookup.columns)

    @property
    def repeats_lookups(self) -> bool:
        """Whether corrections repeat the lookups, in the newest versions of the tables."""
        return any(lookup.is_repeated for lookup in self.lookups)

    @property
    def added(self) -> frozenset[str]:
        """The names of the columns that the source need not have."""
        return self.derived | self.looked_up

    @property
    def lookup_keys(self) -> dict[str, str]:
        """The source's columns by which lookups find rows, by part."""
        expressions, above = dict[str, str](), set[str]()
        for lookup in self.lookups:
            expressions |= {f"{LOOKUP_KEY}{name}": name for name in lookup.keys if name not in above}
            above.update(lookup.columns)
        return expressions

    @property
    def free(self) -> dict[str, str]:
        """The columns of the source whose types follow from it: carried, read by expressions, or keys of lookups."""
        looked_up = self.looked_up
        carried = {part: name for part, name in self.carried.items() if name not in self.added}
        inputs = {f"input of an expression, {name}": name for name in self.inputs if name not in looked_up}
        return carried | inputs | self.lookup_keys

    def counted_events(self, event_ms: Ints, arrival_ms: Ints) -> Ints:
        """Return the event times as they count for t_max, given event and arrival times of tuples, shape (n,)."""
        if not len(event_ms) or int(event_ms.max()) - int(arrival_ms.min()) <= self.skew_ms:
            return event_ms
        return np.minimum(event_ms, arrival_ms + self.skew_ms)

    def named(self) -> dict[str, str]:
        """Return the columns that the source must have, by part of the tuple."""
        added = self.added
        parts = {part: name for part, name in self.parts().items() if name not in added}
        return parts | {part: name for part, name in self.free.items() if part not in parts}

    def needed(self) -> dict[str, str]:
        """Return the columns of `named` that every record must have."""
        return {part: name for part, name in self.named().items() if part not in self.free}

    def pruned(self) -> SourceMapping:
        """Return the mapping with only the expressions that give a part of the tuple, or decide which records stay."""
        if self.projection is None:
            return self
        return replace(self, projection=self.projection.pruned(self.parts().values()))

    def parts(self) -> dict[str, str]:
        """Return the columns, of the source or derived, by part of the tuple."""
        parts = {"event_time": self.event_time, "arrival_time": self.arrival_time, "id": self.id}
        named = {part: name for part, name in parts.items() if name is not None} | self.key_parts
        return named | self.values | self.carried

    @property
    def key_parts(self) -> dict[str, str]:
        """The columns of the key by part of the tuple: `key`; for several columns `key 1`, `key 2`, …"""
        if isinstance(self.key, tuple):
            return {f"{KEY_PART}{number}": name for number, name in enumerate(self.key, 1)}
        return {} if self.key is None else {"key": self.key}

    def field_of(self, part: str) -> str | None:
        """Return the field of the query file that names the column of a part; None where that is not known."""
        if part in (keys := self.lookup_keys):
            name = next(lookup.name for lookup in self.lookups if keys[part] in lookup.keys)
            return f"streams.{self.stream}.lookup.{name}.key"
        own = "key" if part in self.key_parts else part if part in ("event_time", "arrival_time", "id") else None
        if own is None:
            return self.part_fields.get(part)
        return f"streams.{self.stream}.{own}" if self.stream else None

    def expressions(self) -> list[tuple[str, str, str | None]]:
        """Return the names and texts of the expressions, with their fields in the query file."""
        texts: list[tuple[str, str, str | None]] = []
        for number, (name, text) in enumerate(() if self.projection is None else self.projection.named()):
            assert self.projection is not None
            own = f"columns.{name}" if number < len(self.projection.columns) else WHERE
            of_stream = f"streams.{self.stream}.{own}" if self.stream else None
            texts.append((name, text, name if name in self.derives else of_stream))
        return texts

    def is_name(self, part: str) -> bool:
        """Test whether a part of the tuple is its id, or the key or a part of it."""
        return part == "id" or part in self.key_parts

    def may_be_null(self, part: str) -> bool:
        """Test whether a tuple may lack a value in a part."""
        return (part in self.free and part not in self.required) or (self.groups_nulls and part in self.key_parts)
