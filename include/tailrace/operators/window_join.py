"""Incremental join of two streams by sliding windows: a pair is found once, and answered when its windows close.

F is the frontier (the watermark). A window holds the tuples that arrived while it was open: its end was beyond F before
the tuple's tick. A pair is found when its later tuple comes, and waits. Each window that holds both tuples answers the
pair when it closes. A tuple, or a waiting pair, is stored while one of its windows is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.columns import Floats, Ints, single_batch
from tailrace.operators.chunk import Chunks, take
from tailrace.operators.chunked_rows import ChunkedRows
from tailrace.operators.interval_join import Match, Matches, in_order, match_new
from tailrace.windows.sliding import Sliding

OPEN_AFTER = "open_after"
"""The column with F before a row's tick; the row counts in windows that end later."""

FIRST_END = "first_end"
"""The column with the end of the earliest window that holds both tuples of a pair; waiting pairs are ordered by it."""


@dataclass(frozen=True)
class WindowPairState:
    """State of the operator in one task: the rows of either side with an open window, and the waiting pairs."""

    left: ChunkedRows = field(default_factory=ChunkedRows)
    right: ChunkedRows = field(default_factory=ChunkedRows)
    pairs: ChunkedRows = field(default_factory=ChunkedRows)

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        return {}

    @property
    def chunks(self) -> Chunks:
        return {"left": self.left.chunks, "right": self.right.chunks, "pairs": self.pairs.chunks}

    @staticmethod
    def from_chunks(chunks: Chunks) -> WindowPairState:
        return WindowPairState(*(ChunkedRows(chunks.get(part, ())) for part in ("left", "right", "pairs")))


class AnsweredWindowPairs(NamedTuple):
    """n answers (pairs, each with the end of a closed window), and the work of the batch, as in `kind.step.Step`.

    `pairs` has `left_id`, `right_id`, `left_time`, `right_time`, carried columns, and the kind's own columns.
    """

    pairs: pa.Table
    end: Ints
    loads: Mapping[str, Floats]
    counts: Mapping[str, int]


def step(
    windows: Sliding,
    match: Match,
    state: WindowPairState,
    arrived: tuple[pa.Table, ...],
    frontier: Frontier,
    carried: Sequence[Sequence[str]] = ((), ()),
) -> tuple[WindowPairState, AnsweredWindowPairs, tuple[pa.RecordBatch, ...]]:
    """Add the rows of complete ticks, and answer the pairs in windows that the frontier has passed.

    Parameters
    ----------
    arrived : tuple of Table
        For the left and the right stream: `event_time`, `tick`, `tuples` (0 for a replica), `id`, and the columns for
        `match`.
    carried : pair of list of str
        Further columns of the left and of the right rows, with distinct names, which are copied to pairs.

    Returns
    -------
    state : WindowPairState
    closed : AnsweredWindowPairs
    late : tuple of RecordBatch
        The tuples of each stream that missed a window: `id`, `event_time`, `tick`, `tuples`, `frontier`; without
        replicas.
    """
    new = [_with_open_after(in_order(rows, None), frontier) for rows in arrived]
    live = [rows.filter(pa.array(_has_open_window(windows, rows))) for rows in new]
    stored = state.left.chunks, state.right.chunks
    matches = match_new(match, stored, live)
    sides = [[*(chunk.rows for chunk in old), rows] for old, rows in zip(stored, live, strict=True)]
    pairs = _pairs(windows, sides, matches, carried)

    closes = windows.end_until(frontier.start) < windows.end_until(frontier.last)
    waiting = [*(chunk.rows for chunk in state.pairs.chunks), pairs] if closes else [pairs.slice(0, 0)]
    due = pa.Table.from_batches([_due(windows, rows, frontier) for rows in waiting])
    row, end = _closing(windows, due, frontier)
    answered = due.take(pa.array(row)).drop_columns(["event_time", FIRST_END, OPEN_AFTER])

    bound = windows.start(windows.end_after(frontier.last))  # earlier windows have all closed
    left, right = (side.append(part, bound, None) for side, part in zip((state.left, state.right), live, strict=True))
    late = tuple(_late(windows, rows) for rows in new)
    return (
        WindowPairState(left, right, state.pairs.append(pairs, bound, FIRST_END)),
        AnsweredWindowPairs(answered, end, matches.loads, matches.counts),
        late,
    )


def shared_windows(windows: Sliding, left_ms: Ints, right_ms: Ints) -> tuple[Ints, Ints]:
    """Enumerate the windows that hold both times of each pair: the index of the pair, and the end of the window."""
    first = windows.first_end(windows.pane(np.maximum(left_ms, right_ms)))
    return windows.ends(windows.pane(np.minimum(left_ms, right_ms)), first - 1, None)


def _with_open_after(rows: pa.RecordBatch, frontier: Frontier) -> pa.RecordBatch:
    before = frontier.before(frontier.index(np.asarray(rows.column("tick"))))
    return rows.append_column(OPEN_AFTER, pa.array(before, pa.int64()))


def _has_open_window(windows: Sliding, rows: pa.RecordBatch) -> np.ndarray:
    event_time, after = (np.asarray(rows.column(name)) for name in ("event_time", OPEN_AFTER))
    return np.asarray(windows.last_end(event_time) > after)


def _pairs(
    windows: Sliding,
    sides: Sequence[Sequence[pa.RecordBatch]],
    matches: Matches,
    carried: Sequence[Sequence[str]],
) -> pa.RecordBatch:
    """Return the pairs that share a window which was open when the later tuple came, sorted by `first_end`.

    Their `event_time` is the earlier one of the two.
    """
    names = ["id", "event_time", OPEN_AFTER]
    tables = [
        pa.Table.from_batches([rows.select([*names, *more]) for rows in side])
        for side, more in zip(sides, carried, strict=True)
    ]
    times, after = (
        [table[name].to_numpy()[rows] for table, rows in zip(tables, (matches.left, matches.right), strict=True)]
        for name in names[1:]
    )
    earlier, open_after = np.minimum(*times), np.maximum(*after)
    first, last = windows.first_end(windows.pane(np.maximum(*times))), windows.last_end(earlier)
    row = np.flatnonzero((last >= first) & (last > open_after))
    row = row[np.argsort(first[row], kind="stable")]
    columns: dict[str, pa.Array] = {}
    for side, table, rows, more in zip(("left", "right"), tables, (matches.left, matches.right), carried, strict=True):
        mine = take(table.select(["id", "event_time", *more]), rows[row])
        columns |= {f"{side}_id": mine["id"], f"{side}_time": mine["event_time"]} | {each: mine[each] for each in more}
    columns |= {name: pa.array(each[row], mask=np.isnan(each[row])) for name, each in matches.columns.items()}
    columns |= {"event_time": earlier[row], FIRST_END: first[row], OPEN_AFTER: open_after[row]}
    return single_batch(pa.table(columns))


def _due(windows: Sliding, pairs: pa.RecordBatch, frontier: Frontier) -> pa.RecordBatch:
    """Return the waiting pairs of which a window may close now.

    All windows of a pair end within one window size.
    """
    first = np.asarray(pairs.column(FIRST_END))
    begin, end = np.searchsorted(first, [frontier.start - windows.size_ms, frontier.last], "right").tolist()
    return pairs.slice(begin, end - begin)


def _closing(windows: Sliding, pairs: pa.Table, frontier: Frontier) -> tuple[Ints, Ints]:
    """Return the windows in which pairs are answered now: the index of the pair, and the end of the window."""
    first, after = (pairs[name].to_numpy() for name in (FIRST_END, OPEN_AFTER))
    after = np.maximum(np.maximum(after, first - 1), frontier.start)
    return windows.ends(windows.pane(pairs["event_time"].to_numpy()), after, frontier.last)


def _late(windows: Sliding, rows: pa.RecordBatch) -> pa.RecordBatch:
    event_time, after, tuples = (np.asarray(rows.column(name)) for name in ("event_time", OPEN_AFTER, "tuples"))
    is_late = (windows.first_end(windows.pane(event_time)) <= after) & (tuples > 0)
    late = rows.select(["id", "event_time", "tick", "tuples", OPEN_AFTER]).filter(pa.array(is_late))
    return late.rename_columns(["id", "event_time", "tick", "tuples", "frontier"])
