"""Finds out from a stream's tables why a query has no answers, or no measured ones, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.dataset as ds

from tailrace.engine.output_tables import WITHHELD
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.words import counted
from tailrace.storage.answer_range import ALL, AnswerRange
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.progress import held_back, read_newest, read_progress, read_totals

_NULLS = ("", "null", "none")
_END = "the end of a run with --bounded and without --keep-open"


def why_no_answers(layout: Layout, part: AnswerRange, is_current: bool = False) -> str:
    """Return the reason why a stream that has begun has no answers in a part; `is_current`: of the table `current`."""
    tables = OpenedTables(layout)
    totals = read_totals(tables, committed_batches(layout))
    accepted, filtered, rejected = (totals[name] for name in ("rows", "filtered", "quarantined"))
    if not (read := accepted + filtered + rejected):
        return "no answers yet: the stream has read no record"
    if totals["answers"]:
        given = counted(totals["answers"], "answer")
        if part != ALL:
            none = f"none of {counted(totals['answers'], 'streamed answer')} is in this range, or of this key"
            return f"{none}; some have a key that is null: --where 'key is null'" if _is_null(part, tables) else none
        later = ", or the table current will have them within a minute" * is_current
        return f"no answers: corrections took back the {given} of the stream{later}"
    counts = f"{accepted:,} accepted, {f'{filtered:,} filtered, ' if filtered else ''}{rejected:,} rejected"
    why = "; ".join(_reasons(tables) if accepted else _rejections(totals))
    return f"no answers{' yet' if accepted else ''}: read {counted(read, 'record')}, {counts}; {why}"


def why_no_quality(layout: Layout) -> str:
    """Return the reason why no answer of a stream that has begun is measured."""
    tables = OpenedTables(layout)
    if tables.has("correction_runs") and tables.read("correction_runs", ["interval"]).num_rows:
        return "nothing is measured: the corrections so far have found no answers"
    return "nothing is measured yet: a correction measures how far the stream's answers were off"


def _is_null(part: AnswerRange, tables: OpenedTables) -> bool:
    """Return whether a part seems to ask for answers whose key is null, and there are some."""
    if part.key is None or part.key.lower() not in _NULLS or "key" not in tables.schema("results").names:
        return False
    return bool(tables.read("results", ["key"], ds.field("key").is_null()).num_rows)


def _rejections(totals: dict[str, int]) -> Iterator[str]:
    """Yield the reasons why no record is a tuple."""
    if totals["filtered"] > totals["unmatched"]:
        yield "where is false or null for those that were filtered"
    if totals["unmatched"]:
        yield f"{counted(totals['unmatched'], 'record')} met no row of a lookup"
    if totals["quarantined"]:
        yield "quarantine shows the rejected ones, each with the reason"


def _reasons(tables: OpenedTables) -> Iterator[str]:
    """Yield the reasons why the tuples of a stream have no answers."""
    counts = tables.read("metrics", ["counts"])["counts"].drop_null().to_pylist()
    if withheld := sum(dict(each).get(WITHHELD, 0) for each in counts):
        yield f"{counted(withheld, 'answer')} withheld, as having is not true for them"
    progress = read_progress(tables)
    assert progress is not None  # there are tuples
    is_open = not progress.ended and progress.newest_tick is not None
    if "left_id" in tables.schema("results").names:
        yield "no pair of them is an answer"
        if is_open and progress.newest_tick != progress.complete_tick:
            yield f"those of the newest tick wait for later records, or for {_END}"
    elif is_open:
        newest, held = read_newest(tables, committed_batches(tables.layout)), held_back(tables)
        why = [f"{counted(held, 'row')} {'waits' if held == 1 else 'wait'} in an open tick"] if held else []
        if newest.get("t_max") is not None:
            before = " before that" if held else ""
            why.append(f"the newest event time{before} is {format_time(newest['t_max'])}")
            why.append(f"K is {format_duration(newest['k_ms'])}")
        yield f"no window has closed: {', '.join(why)}"
        yield f"later records close one, or the silence of a live run, or {_END}"
    elif not withheld:
        yield "no window has an answer"
