"""Incremental interval join of two streams, which answers pairs; in columns, without a loop over tuples or ticks.

F is the frontier (the watermark). A tuple is stored while its event time is at least F − `kept_ms` of its side: the
largest time by which a partner can be later than the tuple, at least 0 (paper 003, eq. 5). A pair is answered at the
tick of its later tuple, if its first tuple was still stored then: it came in the same tick, or had not expired before
that tick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.columns import Floats, Ints, single_batch
from tailrace.operators.chunk import Chunk, Chunks, take
from tailrace.operators.chunked_rows import ChunkedRows

SIDES = ("left", "right")
"""The parts of a join's state with the stored rows of either side."""

_EARLIER = -1  # the frontier index of a tuple that came in an earlier batch


class Matches(NamedTuple):
    """n pairs of matching rows, and the work of finding them.

    Attributes
    ----------
    left, right : ndarray, shape (n,)
        The index of each row among all rows of its side.
    columns : dict of ndarray, shape (n,)
        The kind's own columns of each pair.
    loads, counts : dict
        As in `kind.step.Step`.
    """

    left: Ints
    right: Ints
    columns: Mapping[str, NDArray[Any]] = {}
    loads: Mapping[str, Floats] = {}
    counts: Mapping[str, int] = {}

    def after(self, left: int, right: int) -> Matches:
        """Return the same pairs, with row numbers shifted by the `left` and `right` rows before the searched ones."""
        return self._replace(left=self.left + left, right=self.right + right)

    def only(self, kept: NDArray[np.bool_], counts: Mapping[str, int]) -> Matches:
        """Return the pairs of a mask, shape (n,), with further counts; `loads` stay the same."""
        columns = {name: each[kept] for name, each in self.columns.items()}
        return Matches(self.left[kept], self.right[kept], columns, self.loads, {**self.counts, **counts})

    @staticmethod
    def joined(parts: Sequence[Matches]) -> Matches:
        """Concatenate the matches of one or more searches."""
        left, right = (np.concatenate([getattr(part, side) for part in parts]) for side in ("left", "right"))
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
        measured = [part.loads for part in parts if part.loads]
        loads = {name: np.concatenate([each[name] for each in measured]) for name in (measured[0] if measured else ())}
        return Matches(left, right, columns, loads, sum((Counter(part.counts) for part in parts), Counter[str]()))


class Match(Protocol):
    """A search for matching rows. Each side consists of chunks, whose rows are numbered consecutively.

    `new` is the side whose rows are new, 0 or 1: one chunk, small beside the other side.
    """

    def __call__(self, left: Sequence[Chunk], right: Sequence[Chunk], new: int) -> Matches: ...


def match_new(match: Match, stored: Sequence[Sequence[Chunk]], new: Sequence[pa.RecordBatch]) -> Matches:
    """Match the new rows of each side with all rows of the other one; rows are numbered with the stored ones first."""
    chunks = [Chunk(rows) for rows in new]
    before = [sum(chunk.rows.num_rows for chunk in side) for side in stored]
    of_left = match([chunks[0]], [*stored[1], chunks[1]], 0).after(before[0], 0)
    return Matches.joined([of_left, match(stored[0], [chunks[1]], 1).after(0, before[1])])


@dataclass(frozen=True)
class PairState:
    """State of the operator in one task: the rows of both sides that can still meet a later tuple."""

    left: ChunkedRows = field(default_factory=ChunkedRows)
    right: ChunkedRows = field(default_factory=ChunkedRows)

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        return {}

    @property
    def chunks(self) -> Chunks:
        return {"left": self.left.chunks, "right": self.right.chunks}

    @staticmethod
    def from_chunks(chunks: Chunks, bin_ms: int | None = None) -> PairState:
        """Build the state from chunks; `bin_ms` is as in `ChunkedRows`."""
        return PairState(*(ChunkedRows(chunks.get(side, ()), bin_ms) for side in SIDES))


class AnsweredPairs(NamedTuple):
    """n pairs: `id`, `event_time` and carried columns of both sides, and the kind's own columns.

    `decided_at` is the frontier index of the tick that decided each pair; `loads` and `counts` are the work, as in
    `kind.step.Step`.
    """

    left: pa.Table
    right: pa.Table
    columns: Mapping[str, Floats]
    decided_at: Ints
    loads: Mapping[str, Floats]
    counts: Mapping[str, int]


def step(
    kept_ms: tuple[int, int],
    match: Match,
    state: PairState,
    arrived: tuple[pa.Table, ...],
    frontier: Frontier,
    sort_key: str | None = None,
    carried: Sequence[Sequence[str]] = ((), ()),
) -> tuple[PairState, AnsweredPairs, tuple[pa.RecordBatch, ...]]:
    """Add the rows of complete ticks, and answer each pair whose tuples have both come in time.

    Parameters
    ----------
    kept_ms : (int, int)
        The greatest distance behind F of the event times of stored left and right tuples.
    arrived : tuple of Table
        For the left and the right stream: `event_time`, `tick`, `tuples` (0 for a replica), `id`, and the columns for
        `match`.
    sort_key : str, optional
        The column by which each batch of rows for `match` is sorted.
    carried : pair of list of str
        Further columns of the left and of the right rows, which are copied to pairs.

    Returns
    -------
    state : PairState
    pairs : AnsweredPairs
    late : tuple of RecordBatch
        The tuples of each stream with an event time below F before their tick: `id`, `event_time`, `tick`, `tuples`,
        `frontier`; without replicas.
    """
    stored = state.left.chunks, state.right.chunks
    new = [in_order(rows, sort_key) for rows in arrived]
    sides = [
        _Side.from_batches([*(chunk.rows for chunk in old), rows], frontier, names)
        for old, rows, names in zip(stored, new, carried, strict=True)
    ]
    matches = match_new(match, stored, new)
    met, decided_at = _met(kept_ms, sides, (matches.left, matches.right), frontier)
    rows = sides[0].rows(matches.left[met]), sides[1].rows(matches.right[met])
    columns = {name: values[met] for name, values in matches.columns.items()}
    pairs = AnsweredPairs(*rows, columns, decided_at[met], matches.loads, matches.counts)

    after = (
        side.append(rows, frontier.last - kept, sort_key)
        for side, rows, kept in zip((state.left, state.right), new, kept_ms, strict=True)
    )
    return PairState(*after), pairs, tuple(_late(rows, frontier) for rows in arrived)


class _Side(NamedTuple):
    """The rows of one side, stored and new, and the frontier index at which each came.

    `columns` has their ids, event times and carried columns.
    """

    columns: pa.Table
    event_time: Ints
    at: Ints

    @staticmethod
    def from_batches(batches: Sequence[pa.RecordBatch], frontier: Frontier, carried: Sequence[str]) -> _Side:
        table = pa.Table.from_batches([batch.select(["id", "event_time", *carried]) for batch in batches])
        new = frontier.index(np.asarray(batches[-1].column("tick")))
        at = np.append(np.full(table.num_rows - len(new), _EARLIER), new)
        return _Side(table, table.column("event_time").to_numpy(), at)

    def rows(self, index: Ints) -> pa.Table:
        return take(self.columns, index)


def in_order(rows: pa.Table, key: str | None) -> pa.RecordBatch:
    """Return the rows as one batch, sorted by a column if one is given."""
    return single_batch(rows if key is None else rows.sort_by(key))


def _met(
    kept_ms: tuple[int, int], sides: Sequence[_Side], pairs: tuple[Ints, Ints], frontier: Frontier
) -> tuple[NDArray[np.bool_], Ints]:
    """Test which pairs have met in time, and find the frontier index of the later tuple of each."""
    left_at, right_at = (side.at[rows] for side, rows in zip(sides, pairs, strict=True))
    left_time, right_time = (side.event_time[rows] for side, rows in zip(sides, pairs, strict=True))
    decided_at = np.maximum(left_at, right_at)
    until = np.where(left_at < right_at, left_time + kept_ms[0], right_time + kept_ms[1])  # stored up to this F
    return (left_at == right_at) | (until >= frontier.before(decided_at)), decided_at


def _late(rows: pa.Table, frontier: Frontier) -> pa.RecordBatch:
    event_time, tick, tuples = (rows.column(name).to_numpy() for name in ("event_time", "tick", "tuples"))
    before = frontier.before(frontier.index(tick))
    is_late = (event_time < before) & (tuples > 0)
    late = rows.select(["id", "event_time", "tick", "tuples"]).filter(pa.array(is_late))
    return single_batch(late.append_column("frontier", pa.array(before[is_late])))
