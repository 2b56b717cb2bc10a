"""Incremental join of two streams by shared sliding windows: a pair is found once, and answered as its windows close.

F is the frontier (the watermark). A window holds the tuples that arrived while it was open: its end was beyond F before
the tuple's tick. A pair is found when its later tuple comes, and waits; each window that holds both answers it when it
closes. A tuple is stored while one of its windows is open, and so is a pair that waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tailrace.disorder.clock import Frontier
from tailrace.ground.columns import Floats, Ints, single_batch
from tailrace.operators.chunk import Chunks
from tailrace.operators.chunked_rows import ChunkedRows
from tailrace.operators.interval_join import Match, in_order, joined_loads
from tailrace.windows.sliding import Sliding

OPEN_AFTER = "open_after"
"""The column with F before a row's tick: the row counts in windows that end later."""


@dataclass(frozen=True)
class WindowPairState:
    """State of the operator in one task: the rows of either side with an open window, and the pairs that wait."""

    left: ChunkedRows = field(default_factory=ChunkedRows)
    right: ChunkedRows = field(default_factory=ChunkedRows)
    pairs: ChunkedRows = field(default_factory=ChunkedRows)

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        return {}

    @property
    def chunks(self) -> Chunks:
        return {"left": self.left.chunks, "right": self.right.chunks, "pairs": self.pairs.chunks}

    @staticmethod
    def of(chunks: Chunks) -> WindowPairState:
        return WindowPairState(*(ChunkedRows(chunks.get(part, ())) for part in ("left", "right", "pairs")))


class ClosedPairs(NamedTuple):
    """n answers: pairs, each with the end of a window that closed; and the work of the batch, as in `kind.step.Step`.

    `pairs` has `left_id`, `right_id`, `left_time`, `right_time`, carried columns and the kind's own.
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
) -> tuple[WindowPairState, ClosedPairs, tuple[pa.RecordBatch, ...]]:
    """Add the rows of complete ticks, and answer the pairs of the windows that the frontier has passed.

    Parameters
    ----------
    arrived : tuple of Table
        Of the left and the right stream: `event_time`, `tick`, `tuples` (0: a replica), `id`, and what `match` needs.
    carried : pair of list of str
        Further columns of the left and of the right rows that pairs have, by names that differ.

    Returns
    -------
    state : WindowPairState
    closed : ClosedPairs
    late : tuple of RecordBatch
        The tuples of each stream that missed a window: `id`, `event_time`, `tick`, `tuples`, `frontier`; without
        replicas.
    """
    new = [_with_open_after(in_order(rows, None), frontier) for rows in arrived]
    live = [rows.filter(pa.array(_has_open_window(windows, rows))) for rows in new]
    old = [[chunk.rows for chunk in side.chunks] for side in (state.left, state.right)]
    found = [match([live[0]], [*old[1], live[1]], 0), match(old[0], [live[1]], 1)]
    before = [sum(rows.num_rows for rows in side) for side in old]
    left = np.concatenate([found[0].left + before[0], found[1].left])
    right = np.concatenate([found[0].right, found[1].right + before[1]])
    columns = {name: np.concatenate([each.columns[name] for each in found]) for name in found[0].columns}
    pairs = _pairs([[*old[0], live[0]], [*old[1], live[1]]], (left, right), columns, carried)
    pairs = pairs.filter(pa.array(_shares_open_window(windows, pairs)))

    closes = windows.end_until(frontier.start) < windows.end_until(frontier.last)
    stored = [chunk.rows for chunk in state.pairs.chunks] if closes else []
    waiting = pa.Table.from_batches([*stored, pairs])
    row, end = _closing(windows, waiting, frontier)
    answered = waiting.take(pa.array(row)).drop_columns(["event_time", OPEN_AFTER])
    counts = sum((Counter(each.counts) for each in found), Counter[str]())

    bound = ((frontier.last - windows.size_ms) // windows.slide_ms + 1) * windows.slide_ms  # all windows before closed
    stored = [side.append(part, bound, None) for side, part in zip((state.left, state.right), live, strict=True)]
    late = tuple(_late(windows, rows) for rows in new)
    return (
        WindowPairState(stored[0], stored[1], state.pairs.append(pairs, bound, None)),
        ClosedPairs(answered, end, joined_loads(found), counts),
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
    sides: Sequence[Sequence[pa.RecordBatch]],
    index: tuple[Ints, Ints],
    values: Mapping[str, Floats],
    carried: Sequence[Sequence[str]],
) -> pa.RecordBatch:
    """The found pairs as rows: `event_time` is the earlier one, from which on they share windows."""
    names, columns = ["id", "event_time", OPEN_AFTER], dict[str, pa.Array]()
    times, after = [], []
    for name, batches, rows, more in zip(("left", "right"), sides, index, carried, strict=True):
        mine = pa.Table.from_batches([batch.select([*names, *more]) for batch in batches]).take(pa.array(rows))
        columns |= {f"{name}_id": mine["id"], f"{name}_time": mine["event_time"]} | {each: mine[each] for each in more}
        times.append(mine["event_time"].to_numpy())
        after.append(mine[OPEN_AFTER].to_numpy())
    columns |= {name: pa.array(each, mask=np.isnan(each)) for name, each in values.items()}
    columns |= {"event_time": pa.array(np.minimum(*times)), OPEN_AFTER: pa.array(np.maximum(*after))}
    return single_batch(pa.table(columns))


def _shares_open_window(windows: Sliding, pairs: pa.RecordBatch) -> np.ndarray:
    """Test which pairs have a window that holds both, and was open when the later one came."""
    later = np.maximum(*(np.asarray(pairs.column(f"{side}_time")) for side in ("left", "right")))
    earlier, after = (np.asarray(pairs.column(name)) for name in ("event_time", OPEN_AFTER))
    last = windows.last_end(earlier)
    return np.asarray((last >= windows.first_end(windows.pane(later))) & (last > after))


def _closing(windows: Sliding, pairs: pa.Table, frontier: Frontier) -> tuple[Ints, Ints]:
    """The windows in which pairs are answered now: the index of the pair, and the end of the window."""
    later = np.maximum(*(pairs[f"{side}_time"].to_numpy() for side in ("left", "right")))
    opened = windows.first_end(windows.pane(later)) - 1
    after = np.maximum(np.maximum(pairs[OPEN_AFTER].to_numpy(), opened), frontier.start)
    return windows.ends(windows.pane(pairs["event_time"].to_numpy()), after, frontier.last)


def _late(windows: Sliding, rows: pa.RecordBatch) -> pa.RecordBatch:
    event_time, after, tuples = (np.asarray(rows.column(name)) for name in ("event_time", OPEN_AFTER, "tuples"))
    is_late = (windows.first_end(windows.pane(event_time)) <= after) & (tuples > 0)
    late = rows.select(["id", "event_time", "tick", "tuples", OPEN_AFTER]).filter(pa.array(is_late))
    return late.rename_columns(["id", "event_time", "tick", "tuples", "frontier"])
