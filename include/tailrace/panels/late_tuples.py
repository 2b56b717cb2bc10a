"""The late tuples that one answer of the stream missed: when they came, and from where in the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.identity import SIDES
from tailrace.correction.scan_job import no_tuples
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground import matching
from tailrace.ground.columns import Ints
from tailrace.ground.errors import SourceChanged
from tailrace.ground.matching import select
from tailrace.ground.ranges import overlap
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.ground.times import TIMES
from tailrace.kind.protocol import windowed
from tailrace.panels.query_view import QueryView
from tailrace.storage.log import Log
from tailrace.storage.tables import within

VALUE = "value: "
"""Prefix of the columns that hold a tuple's values; no other column begins with it."""

_MOST_ROWS = 3_000_000  # of history, that are read to find the tuples of one answer


@dataclass(frozen=True)
class LateTuples:
    """The late tuples of an answer.

    Attributes
    ----------
    rows : Table
        Of `late`: `stream`, `tick`, `tuples`, `arrived`, and what identifies a tuple there.
    tuples : Table
        The tuples in order of arrival, as history has them: `stream`, `id`, `event_time`, `arrival_time`, `arrived`,
        `file`, `position` (in the file), and the values by the source's columns, each named with `VALUE`.
    fault : str or None
        Why history was not read.
    """

    rows: pa.Table
    tuples: pa.Table
    fault: str | None = None

    @property
    def total(self) -> int:
        return int(pc.sum(self.rows["tuples"], min_count=0).as_py())


_NOTHING = pa.table({name: pa.array([], pa.int64()) for name in ("tuples", "arrived")})


def late_tuples(view: QueryView, answer: pa.Table, is_streamed: bool) -> LateTuples:
    """Read the late tuples that an answer missed, from the files of history that may have them.

    Parameters
    ----------
    answer : Table
        Its identity, one row.
    is_streamed : bool
        Whether the stream gave it: a pair that it gave missed no tuple.
    """
    is_pair = isinstance(view.kind.answers, PairAnswers)
    if not (view.query.has_late_tuples and view.tables.has("late")) or (is_pair and is_streamed):
        return LateTuples(_NOTHING, _NOTHING)
    rows = _late_of_pair(view, answer) if is_pair else _late_of_window(view, answer)
    manifest = view.layout.manifest()
    if not rows.num_rows or manifest is None:
        return LateTuples(rows, _NOTHING)
    query = view.query.fixed_by(manifest.structure)
    readers = Pipeline.of(query, manifest.types, view.layout.histories(query.streams)).readers
    parts = []
    try:
        for reader in readers:
            mine = select(rows, rows["stream"].to_numpy(zero_copy_only=False) == reader.name)
            if mine.num_rows:
                parts.append(_of_stream(view, reader, mine, answer))
    except SourceChanged as changed:
        problem = changed.problems[0]
        return LateTuples(rows, _NOTHING, f"{problem.where}: {problem.fault}")
    except _TooManyRows:
        return LateTuples(rows, _NOTHING, "too many tuples lie near it in history to look for them here")
    tuples = pa.concat_tables(parts, promote_options="default")
    return LateTuples(rows, tuples.sort_by([("arrival_time", "ascending"), ("position", "ascending")]))


class _TooManyRows(Exception):
    """Raised where the tuples of an answer are among more rows than a page may wait for."""


def _late_of_window(view: QueryView, answer: pa.Table) -> pa.Table:
    """Return the rows of `late` that a window missed."""
    model = view.kind.answers
    start, end = (answer[name][0].as_py() for name in ("window_start", "window_end"))
    where = within(model.late_time, start - 1, end - 1) & within("frontier", end - 1, AFTER_ALL)
    late = view.tables.read("late", where=where)
    names = ("stream", "tick", "tuples", "arrived", "pane_start")
    missed = model.explode_late(late, *names)
    return select(missed, model.identity.find(missed, answer) >= 0).select([*names, "key"])


def _late_of_pair(view: QueryView, answer: pa.Table) -> pa.Table:
    """Return the rows of `late` of the two tuples of a pair; in a window, as far as that had closed before."""
    row = answer.to_pylist()[0]
    times = [row[f"{side}_time"] for side in SIDES]
    late = view.tables.read("late", where=reduce(or_, (within("event_time", time - 1, time) for time in times)))
    if "window_end" in row:
        late = late.filter(pc.greater_equal(late["frontier"], row["window_end"]))
    ids = late["id"].cast(pa.string())
    is_mine = [
        reduce(
            pc.and_,
            (pc.equal(late["stream"], side), pc.equal(late["event_time"], time), pc.equal(ids, str(row[f"{side}_id"]))),
        )
        for side, time in zip(SIDES, times, strict=True)
    ]
    return late.filter(pc.or_(*is_mine)).select(["stream", "tick", "tuples", "arrived", "id", "event_time"])


def _of_stream(view: QueryView, reader: StreamReader, late: pa.Table, answer: pa.Table) -> pa.Table:
    """Read the tuples of rows of `late` of one stream, from the segments that came in their ticks."""
    log = Log.read(reader, view.tables, AFTER_ALL)
    if (
        reader.tick_ms or len(view.query.streams) == 1
    ):  # else ticks are numbered over all streams, segments by their own
        log = _in_ticks(log, late["tick"].to_numpy())
    times = [answer[name][0].as_py() for name in answer.column_names if name in TIMES]
    ranges = np.array([min(times)]), np.array([max(times) + 1])
    log = log.of_events(ranges)
    pieces, read = log.pieces(ranges), log.reader()
    if sum(piece.rows for piece in pieces) > _MOST_ROWS:
        raise _TooManyRows
    values = {part: name for part, name in reader.columns.parts().items() if part in reader.value_types}
    columns = ["event_time", "arrival_time", "key", "id", "tick", "position", *values]
    found = [_matching(view, no_tuples(reader, columns), late)]
    found += [_matching(view, read.read(piece, columns), late) for piece in pieces]
    return _located(reader.name, pa.concat_tables(found), log.segments, values)


def _in_ticks(log: Log, ticks: Ints) -> Log:
    """Return the segments of a log that may hold tuples of these ticks, by the newest tick when each came."""
    before = log.segments["before_tick"].to_numpy(np.int64)
    return replace(log, segments=log.segments[overlap(before, np.append(before[1:], AFTER_ALL), ticks, ticks)])


def _matching(view: QueryView, tuples: pa.RecordBatch, late: pa.Table) -> pa.Table:
    """Select the tuples that rows of `late` stand for, and add when the ticks of these ended (`arrived`)."""
    rows = pa.Table.from_batches([tuples])
    if "pane_start" in late.column_names:
        pane = windowed(view.kind).windows.pane(rows["event_time"].to_numpy())
        mine, names = rows.append_column("pane_start", pa.array(pane)), ["key", "pane_start", "tick"]
    else:
        ids = rows["id"].cast(late["id"].type)  # `late` has text where the streams' ids differ
        mine, names = rows.set_column(rows.schema.get_field_index("id"), "id", ids), ["id", "event_time"]
    place = matching.find(*matching.number_rows([mine, late], names))
    arrived = late["arrived"].take(pa.array(place, mask=place < 0))
    return select(rows.append_column("arrived", arrived), place >= 0)


def _located(stream: str, tuples: pa.Table, segments: pd.DataFrame, values: Mapping[str, str]) -> pa.Table:
    """Return tuples with the file, and the place in it, that follow from their position in the log."""
    position = tuples["position"].to_numpy()
    segment = np.searchsorted(segments["position"].to_numpy(), position, side="right") - 1
    first, start = (segments[name].to_numpy()[segment] for name in ("first_row", "position"))
    columns = {name: tuples[name] for name in ("id", "event_time", "arrival_time", "arrived")}
    columns["id"] = columns["id"].cast(pa.string())
    columns["stream"] = pa.repeat(pa.scalar(stream), tuples.num_rows)
    columns["file"] = pa.array(segments["path"].to_numpy()[segment].tolist(), pa.string())
    columns["position"] = pa.array(first + position - start, pa.int64())
    return pa.table(columns | {VALUE + name: tuples[part] for part, name in values.items()})
