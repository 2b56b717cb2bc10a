"""Tuples with the same id: which of them stays, and which windows are not what the stream made them because of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.correction.affected_windows import AffectedWindows
from tailrace.ground.columns import unify
from tailrace.ground.frames import frame
from tailrace.kinds import Kind
from tailrace.windows.sliding import Sliding

Mask = NDArray[np.bool_]


def first_arrivals(tuples: pa.RecordBatch, others: pa.RecordBatch) -> Mask:
    """Which of the tuples, n of them, are the first to arrive with their id: of themselves and the others.

    By tick, then arrival time, then position. Both have the columns `log.ORDER`.
    """
    columns = [np.r_[tuples.column(name), others.column(name)] for name in ("position", "arrival_time", "tick")]
    order, code = np.lexsort(columns), np.concatenate(_codes(tuples, others))
    _, first = np.unique(code[order], return_index=True)
    mask = np.zeros(len(code), bool)
    mask[order[first]] = True
    return mask[: tuples.num_rows]


def repeated(tuples: pa.RecordBatch, others: pa.RecordBatch) -> Mask:
    """Which of the tuples have an id that is there more than once, among themselves and the others."""
    mine, theirs = _codes(tuples, others)
    return np.bincount(np.concatenate([mine, theirs]))[mine] > 1 if len(mine) else np.zeros(0, bool)


def windows_of(windows: Sliding, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """`key` and `window_end` of the windows that hold one of the tuples, each once."""
    panes = pa.table({"key": tuples.column("key"), "pane": windows.pane(np.asarray(tuples.column("event_time")))})
    panes = panes.group_by(["key", "pane"]).aggregate([])
    row, end = windows.ends(panes.column("pane").to_numpy(), None, None)
    found = pa.table({"key": panes.column("key").take(pa.array(row)), "window_end": end})
    found = found.group_by(["key", "window_end"]).aggregate([]).combine_chunks()
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in found.columns], schema=found.schema)


def evaluate(kind: Kind, tuples: pa.RecordBatch, touched: AffectedWindows) -> pa.RecordBatch:
    """The answers of these windows over tuples of which none is a repeat."""
    answers = kind.evaluate(tuples)
    return answers.filter(pa.array(touched.contains(frame(answers))))


def _codes(*parts: pa.RecordBatch) -> list[NDArray[np.int64]]:
    return unify([part.column("id") for part in parts])[1]
