"""Explains one answer in plain words: the streamed answer, and the change by each correction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.by_session import BySession
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.duration import format_time, rounded_duration
from tailrace.panels.cells import Cell, ShownColumn
from tailrace.panels.late_tuples import LateTuples
from tailrace.panels.query_view import QueryView
from tailrace.storage.results import Overlapping
from tailrace.topk.section import RANKED

_MOST_VALUES, _LONGEST = 3, 60
_REPEATS = "tuples whose id had come before"


class _Version(NamedTuple):
    """A version: its stamps and rows; no row means a retraction."""

    as_of: int
    emitted_at: int | None
    interval: str | None
    corrected: bool
    tuples: int
    rows: list[list[Cell]]


def summary_of(
    view: QueryView,
    versions: pa.Table,
    cells: list[list[Cell]],
    columns: Sequence[ShownColumn],
    values: Sequence[str],
    late: LateTuples,
) -> str:
    """Return the sentences on an answer.

    Parameters
    ----------
    versions : Table
        The rows of the versions, in the order in which they took effect.
    cells : list
        The same rows as cells of the page's `columns`.
    values : list of str
        The columns that do not identify it.
    """
    every = _grouped(versions, cells)
    first = every[0]
    gone = "" if all(each.rows for each in every[1:]) else _why_gone(view, versions)
    changes = [_change(*two, columns, values, late, gone) for two in pairwise(every)]
    if first.corrected:
        came = _came(late, (None, first.as_of))
        why = f": {came}" if came else ""
        beginning = f"The stream did not give it{why}. {_named(first)} added it, as of {format_time(first.as_of)}."
    else:
        known = _values(first, columns, values)
        what = f"gave {known}" if known else "gave it"
        beginning = f"The stream {what} as of {format_time(first.as_of)}."
    return " ".join([beginning, *changes, _end(view, every, late)])


def _grouped(versions: pa.Table, cells: list[list[Cell]]) -> list[_Version]:
    names = ["as_of", "emitted_at", "interval", "corrected", "tuples", "retracted"]
    stamped = zip(versions.select(names).to_pylist(), cells, strict=True)
    summaries = []
    for _, group in groupby(stamped, key=lambda each: (each[0]["as_of"], each[0]["corrected"], each[0]["interval"])):
        rows = list(group)
        stamp: dict[str, Any] = dict(rows[0][0])
        is_retracted = stamp.pop("retracted")
        summaries.append(_Version(**stamp, rows=[] if is_retracted else [row for _, row in rows]))
    return summaries


def _change(
    before: _Version,
    after: _Version,
    columns: Sequence[ShownColumn],
    values: Sequence[str],
    late: LateTuples,
    gone: str,
) -> str:
    """Return the sentence on a version that followed another one."""
    if not after.corrected:
        changed = _differences(before, after, columns, values)
        what = f", with {changed}" if changed else ""
        return f"The stream gave it again as of {format_time(after.as_of)}{what}: an id came again."
    name = _named(after)
    came = _came(late, (before.as_of if before.corrected else None, after.as_of))
    if not after.rows:
        return f"{name} took it back: {gone}."
    if not before.rows:
        return f"{name} added it again, as of {format_time(after.as_of)}."
    changed = _differences(before, after, columns, values)
    if not changed:
        return f"{name} left it as it was{f', though {came}' if came else ''}."
    because = came or f"it leaves out {_REPEATS}"
    return f"{name} made it {changed}, as of {format_time(after.as_of)}: {because}."


def _why_gone(view: QueryView, versions: pa.Table) -> str:
    """Return the reason why an answer was retracted."""
    if isinstance(view.kind.answers, BySession):
        key, start, end = (versions[name][0] for name in ("key", "window_start", "window_end"))
        latest = view.answers.latest(Overlapping((np.array([start.as_py()]), np.array([end.as_py()]))))
        its_key = pc.equal(latest["key"], key) if key.is_valid else pc.is_null(latest["key"])
        now = latest.filter(its_key).sort_by("window_start")
        if now.num_rows:
            times = (format_time(now[name][0].as_py()) for name in ("window_start", "window_end"))
            return f"its tuples are in the session from {' to '.join(times)} now"
    if RETRACTED in view.tables.schema("results").names:
        return "it does not meet the query's having, or nothing of it is left"
    return f"without the {_REPEATS}, nothing of it is left"


def _end(view: QueryView, every: list[_Version], late: LateTuples) -> str:
    """Return the sentence on late tuples that have not changed the answer, or not yet."""
    last = every[-1]
    if not view.query.has_late_tuples:
        return "It stays so: a join with a table answers each tuple as it comes, and none is late."
    waiting = _number(late, (last.as_of if last.corrected else None, None))
    if waiting:
        tuples = "1 tuple that came late is" if waiting == 1 else f"{waiting:,} tuples that came late are"
        return f"{tuples} in no correction yet: it may change."
    if len(every) > 1 or last.corrected:
        return "No late tuple is left to be corrected."
    if isinstance(view.kind.answers, PairAnswers):
        return "No correction has changed it."
    return "No tuple came late for it, and no correction has changed it."


def _named(version: _Version) -> str:
    is_of_all = version.interval == str(CorrectionRange())
    return f"The correction of {'everything' if is_of_all else version.interval}"


def _number(late: LateTuples, arrived: tuple[int | None, int | None]) -> int:
    """Return the number of late tuples whose ticks ended in (low, high]; None means unbounded."""
    low, high = arrived
    return sum(
        row["tuples"]
        for row in late.rows.select(["arrived", "tuples"]).to_pylist()
        if (low is None or row["arrived"] > low) and (high is None or row["arrived"] <= high)
    )


def _came(late: LateTuples, arrived: tuple[int | None, int | None]) -> str:
    """Return how many tuples came late in (low, high], and when the first one came; empty without any."""
    number = _number(late, arrived)
    if not number:
        return ""
    low, high = arrived
    text = "1 tuple came late" if number == 1 else f"{number:,} tuples came late"
    for row in late.tuples.to_pylist():
        if (low is None or row["arrived"] > low) and (high is None or row["arrived"] <= high):
            delay = rounded_duration(row["arrival_time"] - row["event_time"])
            at = f"at {format_time(row['arrival_time'])}, {delay} after its event time"
            return f"{text}, {'the first ' if number > 1 else ''}{at}, from {row['file']} (record {row['position']:,})"
    return text


def _values(version: _Version, columns: Sequence[ShownColumn], values: Sequence[str]) -> str:
    """Return some values of a version with one row."""
    if len(version.rows) > 1:
        return _several(columns)
    row = zip(columns, version.rows[0], strict=True)
    named = [f"{head.name} {_text(head, cell)}" for head, cell in row if head.name in values]
    return ", ".join(named[:_MOST_VALUES]) + (", …" if len(named) > _MOST_VALUES else "")


def _differences(before: _Version, after: _Version, columns: Sequence[ShownColumn], values: Sequence[str]) -> str:
    """Return some of the values that differ; empty if none does."""
    if before.rows == after.rows:
        return ""
    if len(before.rows) > 1 or len(after.rows) > 1:
        return "another ranking" if _is_ranking(columns) else "another number of rows"
    rows = zip(columns, before.rows[0], after.rows[0], strict=True)
    changed = [(head, old, new) for head, old, new in rows if head.name in values and not _alike(old, new)]
    texts = [
        f"{head.name} {_text(head, new)} instead of {_text(head, old)}" for head, old, new in changed[:_MOST_VALUES]
    ]
    return ", ".join(texts) + (f" and {len(changed) - _MOST_VALUES} more" if len(changed) > _MOST_VALUES else "")


def _is_ranking(columns: Sequence[ShownColumn]) -> bool:
    return any(head.name == RANKED[0] for head in columns)


def _several(columns: Sequence[ShownColumn]) -> str:
    return "a ranking" if _is_ranking(columns) else "several rows, as an id came again"


def _alike(old: Cell, new: Cell) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) <= 1e-9 * max(abs(old), abs(new))
    return old == new


def _text(head: ShownColumn, cell: Cell) -> str:
    if cell is None:
        return "null"
    if head.type == "time":
        return format_time(int(cell))
    text = f"{cell:.12g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
