"""Windows with estimated answers: their expected coverage at the closing, and the corrections that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.estimates import COVERAGE, SPREAD
from tailrace.aggregate.interval_names import interval_names
from tailrace.disorder.clock import Frontier
from tailrace.kind.step import Step
from tailrace.windows.windows import Windows


def with_coverage(closed: pa.RecordBatch, frontier: Frontier) -> pa.RecordBatch:
    """Append to closed windows the expected coverage at their closing tick, and its spread."""
    end = np.asarray(closed.column("time"))
    index = frontier.closing(end)
    expected = frontier.curves.at(index, frontier.t_max[index] - end)
    for name, column in zip((COVERAGE, SPREAD), expected, strict=True):
        closed = closed.append_column(name, pa.array(column))
    return closed


def with_open_corrections(
    windows: Windows,
    estimated: Sequence[NamedAggregate],
    step: Step,
    columns: Mapping[str, pa.Array],
    frontier: Frontier,
) -> Step:
    """Add a late row of no tuples for each window with an estimate.

    So a correction replaces the estimate even if no tuple came late. `columns` has the columns of all estimates,
    including those that are in no answer.
    """
    answers, (late,) = step.answers, step.late
    is_scaled = np.zeros(answers.num_rows, bool)
    for each in estimated:
        is_scaled |= np.asarray(columns[interval_names(each.name)[0]].is_valid())
    if not is_scaled.any():
        return step
    scaled = answers.filter(pa.array(is_scaled))
    end, none = np.asarray(scaled.column("window_end")), np.zeros(scaled.num_rows, np.int64)
    known = {
        "key": scaled.column("key"),
        "pane_start": pa.array(windows.pane(end - 1)),
        "tick": pa.array(frontier.tick[step.decided_at[is_scaled]]),
        "tuples": pa.array(none),
        "frontier": pa.array(end),
    }
    values = [
        known[field.name].cast(field.type)
        if field.name in known
        else pa.array(none.astype(float))
        if pa.types.is_floating(field.type)
        else pa.nulls(len(end), field.type)
        for field in late.schema
    ]
    rows = pa.RecordBatch.from_arrays(values, schema=late.schema)
    return step._replace(late=(pa.concat_batches([late, rows]),))
