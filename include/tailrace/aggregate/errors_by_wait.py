"""The errors of aggregates with any wait, by merging the partials of each window in the order of their lateness."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from tailrace.aggregate.accuracy import errors_by_column
from tailrace.aggregate.aggregates import Aggregates
from tailrace.aggregate.partials import combine
from tailrace.aggregate.running_answers import Steps
from tailrace.answers.identity import Identity
from tailrace.expressions.projection import Projection
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.kind.errors_by_wait import ErrorsByWait
from tailrace.windows.windows import Windows

_STEP = Identity(("step",), ("step",))
_NO_AGGREGATES = Aggregates(())


def errors_by_wait(
    windows: Windows,
    aggregates: Aggregates,
    derived: Projection | None,
    values: Mapping[str, pa.DataType],
    tuples: pa.RecordBatch,
    before: Callable[[Ints], Ints],
) -> ErrorsByWait:
    """Return the errors of aggregates that keep no values, and of expressions over them, see `MeasuredByWait`.

    Parameters
    ----------
    derived : Projection or None
        The expressions.
    values : mapping
        The types of the measured columns of answers.
    """
    partials = combine(windows, aggregates, _with_early_ticks(windows, tuples, before))
    pane, tick = (np.asarray(partials.column(name)) for name in ("pane", "tick"))
    row, end = windows.ends(pane, None, None)
    need = np.maximum(before(tick)[row] - end + 1, 0)
    key, keys = np.asarray(partials.column("key").indices).astype(np.int64), len(partials.column("key").dictionary)
    ends, of_end = np.unique(end, return_inverse=True)
    codes, answers = GroupedRows.from_codes(of_end * keys + key[row])
    steps = Steps.from_partials(answers.group, need)
    columns = {name: partials.column(name).to_numpy(zero_copy_only=False)[row] for name in aggregates.types}
    running = pa.table(steps.answers(aggregates, _NO_AGGREGATES, columns))
    if derived is not None:
        running = derived.run(running).table
    near = running.select(list(values)).append_column("step", pa.array(np.arange(len(steps.need))))
    true = running.select(list(values)).take(pa.array(steps.last)).append_column("step", near.column("step"))
    errors = errors_by_column(_STEP, values, near, true)
    by_column = {name: np.asarray(errors.column(name)) for name in values}
    return ErrorsByWait(steps.window, ends[codes // keys][steps.window], steps.need, by_column)


def _with_early_ticks(windows: Windows, tuples: pa.RecordBatch, before: Callable[[Ints], Ints]) -> pa.RecordBatch:
    """Move tuples that are never late to the first tick, so that few partials remain of them."""
    event, tick = (np.asarray(tuples.column(name)) for name in ("event_time", "tick"))
    is_late = before(tick) >= windows.end_after(windows.pane(event))
    moved = np.where(is_late, tick, tick.min())
    return tuples.set_column(tuples.schema.get_field_index("tick"), "tick", pa.array(moved))
