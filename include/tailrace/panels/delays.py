"""The delays of a query's newest tuples: how far their event times were behind t_max when they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pydantic import ConfigDict, Field

from tailrace.calibration.measure import EventTimeCourse
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.columns import Floats, Ints
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.panels.panel import Shown
from tailrace.panels.query_view import QueryView
from tailrace.storage.log import Log
from tailrace.storage.tables import Tables
from tailrace.stream.opening import pipeline_of

MOST_TUPLES = 100_000
"""About so many tuples, the newest ones, are read."""

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)

_MOST_SEGMENTS = 50  # each may be a file
_COLUMNS = ["event_time", "arrival_time", "tick"]


class Quantile(Shown):
    """A share `q` of the tuples had at most this delay (ms)."""

    q: float
    delay_ms: float


class Delays(Shown):
    """The quantiles of the delays of some tuples, which arrived in [`from_`, `to`]."""

    model_config = ConfigDict(serialize_by_alias=True)

    quantiles: list[Quantile]
    tuples: int
    from_: int = Field(serialization_alias="from")
    to: int


class _Arrivals(NamedTuple):
    """The newest tuples of a stream: their ticks, arrival and event times, and event times as they count for t_max."""

    tick: Ints
    arrival: Ints
    event: Ints
    counted: Ints


def read_delays(view: QueryView, until: int) -> Delays | None:
    """Measure the delays of the newest tuples that came by a point of arrival time (ms); None where none came.

    A delay is t_max − event time, with t_max at the end of the tuple's tick, as for the clock. Of what came before
    these tuples, t_max counts complete ticks; a stream without tuples among them counts as idle. They are read from
    history; from the source, where that is a log that stays.

    Raises
    ------
    OSError, Refused
        When history or the source can't be read.
    """
    manifest = view.layout.manifest()
    if manifest is None or not view.query.has_late_tuples or not view.tables.has("segments"):
        return None
    segments = _newest_segments(view.tables, until)
    if not len(segments):
        return None
    readers = pipeline_of(view.query.fixed_by(manifest.structure), view.layout, manifest).readers
    streams = [arrivals for reader in readers if (arrivals := _read(reader, segments, until)) is not None]
    if not streams:
        return None
    delays = _delays(streams, _t_max_before(view.tables, int(segments["batch"].min())))
    arrival = np.concatenate([stream.arrival for stream in streams])
    quantiles = [Quantile(q=q, delay_ms=value) for q, value in zip(QUANTILES, _quantiles(delays), strict=True)]
    return Delays(quantiles=quantiles, tuples=len(delays), from_=int(arrival.min()), to=int(arrival.max()))


def _newest_segments(tables: Tables, until: int) -> pd.DataFrame:
    """Return the newest rows of the table `segments` with tuples that came by a point of arrival time."""
    has_tuples = (ds.field("accepted") > 0) & (ds.field("before_end") <= until)
    newest = np.sort(tables.read("segments", ["ordinal"], has_tuples)["ordinal"].to_numpy())[-_MOST_SEGMENTS:]
    if not len(newest):
        return pd.DataFrame()
    rows = tables.read("segments", where=has_tuples & (ds.field("ordinal") >= int(newest[0]))).to_pandas()
    segments = rows.sort_values("ordinal", ascending=False)
    newer = segments["accepted"].cumsum() - segments["accepted"]
    return segments[newer < MOST_TUPLES]


def _read(reader: StreamReader, segments: pd.DataFrame, until: int) -> _Arrivals | None:
    """Read the tuples of a stream's segments that came by a point of arrival time; None where it has none."""
    mine = segments[segments["stream"] == reader.name].copy()
    if reader.history is None:  # the source gives any rows of a file: of a large one the last will do
        cut = np.maximum(mine["rows"] - MOST_TUPLES, 0)
        for name in ("first_row", "position"):
            mine[name] += cut
        mine["rows"] -= cut
    log = Log.of(reader, until, mine)
    of_log = log.reader()
    tuples = [of_log.read(piece, _COLUMNS) for piece in log.pieces()]
    columns = [np.concatenate([np.asarray(part.column(name)) for part in tuples]) for name in _COLUMNS if tuples]
    if not columns or not len(columns[0]):
        return None
    event, arrival, tick = columns
    return _Arrivals(tick, arrival, event, reader.columns.counted_events(event, arrival))


def _t_max_before(tables: Tables, batch: int) -> int:
    """Return t_max before a batch, of the ticks that were complete by then; `BEFORE_ALL` where it is not known."""
    if not tables.has("metrics"):
        return BEFORE_ALL
    t_max = pc.max(tables.read("metrics", ["t_max"], ds.field("batch") == batch - 1)["t_max"]).as_py()
    return BEFORE_ALL if t_max is None else int(t_max)


def _delays(streams: Sequence[_Arrivals], before: int) -> Ints:
    """Return the delays of tuples of some streams; t_max is the least of the streams', and at least `before`."""
    ticks = np.unique(np.concatenate([stream.tick for stream in streams]))
    t_max = np.full(len(ticks), AFTER_ALL)
    for stream in streams:
        course = EventTimeCourse.of(stream.tick, stream.counted)
        place = np.searchsorted(course.tick, ticks, side="right") - 1
        t_max = np.minimum(t_max, np.where(place < 0, BEFORE_ALL, course.t_max[place]))
    course = EventTimeCourse(ticks, np.maximum(np.maximum.accumulate(t_max), before))
    return np.concatenate([course.delays(stream.tick, stream.event) for stream in streams])


def _quantiles(delays: Ints) -> Floats:
    """Return the least delay that each share of the tuples does not exceed."""
    return np.quantile(delays, QUANTILES, method="inverted_cdf").astype(float)
