"""The delays of a query's newest tuples: how far their event times were behind t_max when they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pydantic import ConfigDict, Field

from tailrace.calibration.measure import EventTimeCourse
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.ground.arrow.matching import select
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.panels.panel import Shown
from tailrace.panels.query_view import QueryView
from tailrace.storage.log import Log
from tailrace.storage.lookup_versions import with_known_versions
from tailrace.storage.tables import Tables

MOST_TUPLES = 100_000
"""The approximate number of newest tuples that are read."""

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)

MOST_SEGMENTS = 50  # segments, each of which may be a file
_COLUMNS = ["event_time", "arrival_time", "tick"]


class DelayQuantile(Shown):
    """A share `q` of the tuples had at most this delay (ms)."""

    q: float
    delay_ms: float


class DelayQuantiles(Shown):
    """The quantiles of the delays of some tuples, which arrived in [`from_`, `to`]."""

    model_config = ConfigDict(serialize_by_alias=True)

    quantiles: list[DelayQuantile]
    tuples: int
    from_: int = Field(serialization_alias="from")
    to: int


class _Arrivals(NamedTuple):
    """The newest tuples of a stream: ticks, arrival and event times, and the event times that count for t_max."""

    tick: Ints
    arrival: Ints
    event: Ints
    counted: Ints


def read_delays(view: QueryView, until: int) -> DelayQuantiles | None:
    """Measure the delays of the newest tuples up to a point of arrival time (ms); None without any.

    A delay is t_max − event time, with t_max at the end of the tuple's tick, as for the clock. Before these tuples,
    t_max counts complete ticks; a stream without tuples among them counts as idle. The tuples are read from history, or
    from the source if it is a durable log.

    Raises
    ------
    OSError, Refused
        When history or the source can't be read.
    """
    manifest = view.layout.manifest()
    if manifest is None or not view.query.has_late_tuples or not view.tables.has("segments"):
        return None
    segments = _newest_segments(view.tables, until)
    if not segments.num_rows:
        return None
    readers = [with_known_versions(reader, view.tables, until) for reader in view.readers(manifest)]
    streams = [arrivals for reader in readers if (arrivals := _read(reader, segments, until)) is not None]
    if not streams:
        return None
    delays = _delays(streams, _t_max_before(view.tables, pc.min(segments["batch"]).as_py()))
    arrival = np.concatenate([stream.arrival for stream in streams])
    quantiles = [DelayQuantile(q=q, delay_ms=value) for q, value in zip(QUANTILES, _quantiles(delays), strict=True)]
    return DelayQuantiles(quantiles=quantiles, tuples=len(delays), from_=int(arrival.min()), to=int(arrival.max()))


def _newest_segments(tables: Tables, until: int) -> pa.Table:
    """Return the newest rows of the table `segments` with tuples up to a point of arrival time."""
    has_tuples = (ds.field("accepted") > 0) & (ds.field("before_end") <= until)
    newest = np.sort(tables.read("segments", ["ordinal"], has_tuples)["ordinal"].to_numpy())[-MOST_SEGMENTS:]
    least = int(newest[0]) if len(newest) else 0
    rows = tables.read("segments", where=has_tuples & (ds.field("ordinal") >= least))
    segments = rows.sort_by([("ordinal", "descending")])
    accepted = segments["accepted"].to_numpy()
    return select(segments, np.cumsum(accepted) - accepted < MOST_TUPLES)


def _read(reader: StreamReader, segments: pa.Table, until: int) -> _Arrivals | None:
    """Read the tuples of a stream's segments up to a point of arrival time; None where it has none."""
    mine = segments.filter(ds.field("stream") == reader.name)
    if reader.history is None:  # a source can return any rows of a file; for a large one the last rows suffice
        cut = np.maximum(mine["rows"].to_numpy() - MOST_TUPLES, 0)
        for name, change in (("first_row", cut), ("position", cut), ("rows", -cut)):
            column = pa.array(mine[name].to_numpy() + change)
            mine = mine.set_column(mine.schema.get_field_index(name), name, column)
    log = Log.from_segments(reader, until, mine)
    of_log = log.reader()
    tuples = [of_log.read(piece, _COLUMNS) for piece in log.pieces()]
    columns = [np.concatenate([np.asarray(part.column(name)) for part in tuples]) for name in _COLUMNS if tuples]
    if not columns or not len(columns[0]):
        return None
    event, arrival, tick = columns
    return _Arrivals(tick, arrival, event, reader.columns.counted_events(event, arrival))


def _t_max_before(tables: Tables, batch: int) -> int:
    """Return t_max before a batch, from ticks that were complete by then; `BEFORE_ALL` where unknown."""
    if not tables.has("metrics"):
        return BEFORE_ALL
    t_max = pc.max(tables.read("metrics", ["t_max"], ds.field("batch") == batch - 1)["t_max"]).as_py()
    return BEFORE_ALL if t_max is None else int(t_max)


def _delays(streams: Sequence[_Arrivals], before: int) -> Ints:
    """Return the delays of tuples; t_max is the least over the streams, and at least `before`."""
    ticks = np.unique(np.concatenate([stream.tick for stream in streams]))
    t_max = np.full(len(ticks), AFTER_ALL)
    for stream in streams:
        course = EventTimeCourse.from_tuples(stream.tick, stream.counted)
        index = np.searchsorted(course.tick, ticks, side="right") - 1
        t_max = np.minimum(t_max, np.where(index < 0, BEFORE_ALL, course.t_max[index]))
    course = EventTimeCourse(ticks, np.maximum(np.maximum.accumulate(t_max), before))
    return np.concatenate([course.delays(stream.tick, stream.event) for stream in streams])


def _quantiles(delays: Ints) -> Floats:
    """Return, for each share, the least delay that this share of the tuples does not exceed."""
    return np.quantile(delays, QUANTILES, method="inverted_cdf").astype(float)
