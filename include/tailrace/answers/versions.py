"""Versions of answers in one table: the stream's and the corrections'."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.identity import Identity
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.matching import Rows, select

_STAMPS = "k_ms", "facts_version"


def as_streamed(results: pa.Table, withheld: bool = False) -> pa.Table:
    """Mark rows of the table `results` as the stream's versions.

    Answers that do not meet the query's condition `having` are left out, unless `withheld`: a correction adds late
    tuples to them.
    """
    results = results if withheld else without_retracted(results)
    false, none = pa.repeat(pa.scalar(False), results.num_rows), pa.nulls(results.num_rows, pa.string())
    marks = {"corrected": false, RETRACTED: false, "interval": none}
    return _with_columns(results, {name: marks[name] for name in marks if name not in results.column_names})


def as_corrections(rows: pa.Table) -> pa.Table:
    """Mark rows of the table `corrections` as versions of corrections."""
    return _with_columns(rows, {"corrected": pa.repeat(pa.scalar(True), rows.num_rows)})


def without_retracted(versions: Rows) -> Rows:
    """Drop versions that are no answers; a table without the column `RETRACTED` has none."""
    if RETRACTED not in versions.schema.names:
        return versions
    return select(versions, ~np.asarray(versions.column(RETRACTED)))


def streamed_versions(versions: pa.Table) -> pa.Table:
    """Select the stream's versions."""
    return select(versions, ~versions["corrected"].to_numpy())


def of_others(versions: pa.Table, interval: str) -> pa.Table:
    """Drop the versions of one interval, which its next correction replaces."""
    is_mine = pc.fill_null(pc.equal(versions["interval"], interval), False).to_numpy()  # streamed ones have none
    return select(versions, ~is_mine)


def with_stamps(identity: Identity, answers: pa.Table, versions: pa.Table) -> pa.Table:
    """Add K and the facts of the streamed answers; null without one."""
    streamed = streamed_versions(versions)
    index = identity.find(answers, streamed)
    for name in _STAMPS:
        answers = answers.append_column(name, streamed[name].take(pa.array(index, mask=index < 0)))
    return answers


def with_retractions(answers: pa.Table, gone: pa.Table) -> pa.Table:
    """Mark answers as next versions, and append retractions, without tuples, of removed answers."""
    gone = gone.select(answers.column_names)
    no_tuples = pa.repeat(pa.scalar(0, pa.int64()), gone.num_rows)
    gone = gone.set_column(gone.schema.get_field_index("tuples"), "tuples", no_tuples)
    retracted = np.repeat([False, True], [answers.num_rows, gone.num_rows])
    return pa.concat_tables([answers, gone]).append_column(RETRACTED, pa.array(retracted))


def _with_columns(rows: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        rows = rows.append_column(name, column)
    return rows
