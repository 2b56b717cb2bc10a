"""The first late tuples of a query, one by one, in order of arrival."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import Ranges
from tailrace.ground.errors import refuse
from tailrace.kind.protocol import windowed
from tailrace.panels.late_reading import OF_ROW, TooManyRows, tuples_of
from tailrace.panels.query_view import QueryView
from tailrace.query.query import Query
from tailrace.sources.record_place import places_of

_COLUMNS = ["id", "key", "event_time", "arrival_time", "arrived", "stream", "file", "position"]
_ORDER = ["arrived", "stream", "file", "position"]

_NOTHING = pa.table({name: pa.array([], pa.string()) for name in ("place", "id", "key", "stream")})
"""The result if no tuple came late."""


def late_records(view: QueryView, limit: int | None) -> pa.Table:
    """Read the first late tuples to arrive from history, at most a number of them; None for all.

    Returns
    -------
    Table
        `place`, the file and the line of the record; `id`, `key`, `event_time`, `arrival_time`, `arrived`, `stream`.

    Raises
    ------
    Refused
        When too much of history would be read.
    SourceChanged
        When the source is the history, and a file of it has changed.
    """
    manifest = view.layout.manifest()
    if manifest is None or not (view.query.has_late_tuples and view.tables.has("late")):
        return _NOTHING
    is_pane = "pane_start" in view.tables.schema("late").names
    late = view.tables.read("late", (*OF_ROW, *(("key", "pane_start") if is_pane else ("id", "event_time"))))
    late = late.sort_by([(name, "ascending") for name in ("arrived", "tick")])
    if limit is not None:
        tuples = late["tuples"].to_numpy()
        late = select(late, np.cumsum(tuples) - tuples < limit)
    parts = []
    for reader in view.readers(manifest):
        mine = select(late, pc.equal(late["stream"], reader.name).to_numpy())
        if mine.num_rows:
            try:
                parts.append(tuples_of(view, reader, mine, _ranges(view, mine)))
            except TooManyRows:
                fault = "its late tuples are among too many rows of history to be looked for"
                raise refuse(
                    str(view.layout.home), fault, "a table with a smaller --limit; or no --records, which counts them"
                ) from None
    if not parts:
        return _NOTHING
    parts = [_with_text_keys(part.select(_COLUMNS)) for part in parts]
    rows = pa.concat_tables(parts, promote_options="default").sort_by([(name, "ascending") for name in _ORDER])
    return _with_places(rows.slice(0, limit), view.query)


def _with_text_keys(rows: pa.Table) -> pa.Table:
    """Return rows with keys as texts: streams of a join may have keys of different types."""
    return rows.set_column(rows.schema.get_field_index("key"), "key", rows["key"].cast(pa.string()))


def _with_places(rows: pa.Table, query: Query) -> pa.Table:
    """Return rows with the places of their records."""
    streams, files, positions = (rows[name].to_pylist() for name in ("stream", "file", "position"))
    places = [""] * rows.num_rows
    for name, stream in query.streams.items():
        mine = [row for row, of in enumerate(streams) if of == name]
        named = places_of([f"{files[row]}#{positions[row]}" for row in mine], stream.source.format)
        for row, place in zip(mine, named, strict=True):
            places[row] = place
    return rows.drop_columns(["file", "position"]).add_column(0, "place", pa.array(places, pa.string()))


def _ranges(view: QueryView, late: pa.Table) -> Ranges:
    """Return the event times of the tuples of rows of `late`, as ranges that do not overlap."""
    if "pane_start" not in late.column_names:
        event = np.unique(late["event_time"].to_numpy())
        return event, event + 1
    pane = np.unique(late["pane_start"].to_numpy())
    return pane, windowed(view.kind).windows.pane_end(pane)
