"""Reads from history the late tuples that rows of the table `late` count, each with its position in the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tailrace.correction.scan_job import no_tuples
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import Ranges, overlap
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.kind.protocol import windowed
from tailrace.panels.query_view import QueryView
from tailrace.storage.log import Log

VALUE = "value: "
"""Prefix of the columns with a tuple's values; no other column has it."""

OF_ROW = ("stream", "tick", "tuples", "arrived")
"""The columns of a row of `late` beside those that identify its tuples."""

MOST_ROWS = 3_000_000  # rows of history that are read to find tuples


class TooManyRows(Exception):
    """Raised if finding tuples would mean reading more rows than anybody would wait for."""


def tuples_of(view: QueryView, reader: StreamReader, late: pa.Table, ranges: Ranges) -> pa.Table:
    """Read the tuples that rows of `late` of one stream count, from the segments of the rows' ticks.

    Parameters
    ----------
    ranges : Ranges
        The ranges of their event times.

    Raises
    ------
    TooManyRows
        When more than `MOST_ROWS` rows of history would be read.
    """
    log = Log.read(reader, view.tables, AFTER_ALL)
    # Without a tick length, ticks are numbered over all streams, and segments by their own stream's ticks.
    if reader.tick_ms or len(view.query.streams) == 1:
        log = _in_ticks(log, late["tick"].to_numpy())
    log = log.of_events(ranges)
    pieces, read = log.pieces(ranges), log.reader()
    if sum(piece.rows for piece in pieces) > MOST_ROWS:
        raise TooManyRows
    values = {part: name for part, name in reader.columns.parts().items() if part in reader.value_types}
    columns = ["event_time", "arrival_time", "key", "id", "tick", "position", *values]
    tables = [_matching(view, no_tuples(reader, columns), late)]
    tables += [_matching(view, read.read(piece, columns), late) for piece in pieces]
    return _located(reader.name, pa.concat_tables(tables), log.segments, values)


def _in_ticks(log: Log, ticks: Ints) -> Log:
    """Return the segments of a log that may contain tuples of these ticks, by the newest tick before each."""
    before = log.segments["before_tick"].to_numpy()
    mask = overlap(before, np.append(before[1:], AFTER_ALL), ticks, ticks)
    return replace(log, segments=select(log.segments, mask))


def _matching(view: QueryView, tuples: pa.RecordBatch, late: pa.Table) -> pa.Table:
    """Select the tuples of rows of `late`, and add the ends of their ticks (`arrived`)."""
    rows = pa.Table.from_batches([tuples])
    if "pane_start" in late.column_names:
        pane = windowed(view.kind).windows.pane(rows["event_time"].to_numpy())
        mine, names = rows.append_column("pane_start", pa.array(pane)), ["key", "pane_start", "tick"]
    else:
        ids = rows["id"].cast(late["id"].type)  # `late` has text where the streams' ids differ
        mine, names = rows.set_column(rows.schema.get_field_index("id"), "id", ids), ["id", "event_time"]
    index = matching.find(*matching.number_rows([mine, late], names))
    arrived = late["arrived"].take(pa.array(index, mask=index < 0))
    return select(rows.append_column("arrived", arrived), index >= 0)


def _located(stream: str, tuples: pa.Table, segments: pa.Table, values: Mapping[str, str]) -> pa.Table:
    """Return tuples with their file and position in it, computed from their position in the log."""
    position = tuples["position"].to_numpy()
    segment = np.searchsorted(segments["position"].to_numpy(), position, side="right") - 1
    first, start = (segments[name].to_numpy()[segment] for name in ("first_row", "position"))
    columns = {name: tuples[name] for name in ("id", "key", "event_time", "arrival_time", "arrived")}
    columns["id"] = columns["id"].cast(pa.string())
    columns["stream"] = pa.repeat(pa.scalar(stream), tuples.num_rows)
    columns["file"] = segments["path"].take(pa.array(segment)).cast(pa.string())
    columns["position"] = pa.array(first + position - start, pa.int64())
    return pa.table(columns | {VALUE + name: tuples[part] for part, name in values.items()})
