"""Finds repeats in the stream (`deduplicate: true`): tuples whose id came before, as far back as tuples are stored.

The query's clock gets the ids of all tuples, and finds the repeats once for all tasks. It remembers an id until the
frontier (the watermark) has passed all answers in which a tuple with this id, the first one or a repeat, can count. It
knows no keys of sessions: it takes the session of such a tuple alone, though an open session may last longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import Ints, unify
from tailrace.ground.arrow.times import ARRIVAL_US
from tailrace.ground.arrow.wire import Batches
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.kernels.library import compiled
from tailrace.kernels.repeats import find_repeat

_IDS_PER_TUPLE = 4  # ids are counted in an array of at most so many integers for each tuple

ID_COLUMNS = ("id", "tick", "arrival_time", ARRIVAL_US, "position", "event_time")
"""Columns of a tuple that deduplication needs; arrival is ordered by tick, arrival time and position.

Versions of answers also have `retracted`.
"""


def are_distinct(ids: pa.Array) -> bool:
    """Test cheaply (in a few nanoseconds an id) whether all ids are distinct; False if that is not known.

    It is known for ascending ids, and for integers within a small range. Comparing all ids would take up to a quarter
    of a batch's time.
    """
    if len(ids) and pa.types.is_integer(ids.type):
        values = np.asarray(ids)
        low, high = int(values.min()), int(values.max())
        if high - low < _IDS_PER_TUPLE * len(ids):
            is_there = np.zeros(high - low + 1, np.uint8)
            if (find := compiled(find_repeat, len(ids))) is not None:
                return find(len(ids), low, values.astype(np.int64, copy=False), is_there) < 0
            is_there[values - low] = 1
            return int(np.count_nonzero(is_there)) == len(ids)
    return pc.all(pc.less(ids[:-1], ids[1:])).as_py() is not False  # null without neighbours


@dataclass(frozen=True)
class KnownIds:
    """The distinct remembered ids of one stream, and the frontier (ms) up to which each is remembered."""

    ids: pa.Array
    until: Ints

    @staticmethod
    def none(id_type: pa.DataType) -> KnownIds:
        return KnownIds(pa.array([], id_type), np.zeros(0, np.int64))

    def observe(self, tuples: pa.Table, until: Ints, before: Ints, frontier: int) -> tuple[KnownIds, Ints]:
        """Add the n tuples of complete ticks.

        Parameters
        ----------
        tuples : Table
            With `ID_COLUMNS`; versions of answers also with `retracted`.
        until, before : ndarray, shape (n,)
            The frontier up to which each tuple can count, and the frontier before its tick.
        frontier : int
            The frontier after these ticks; ids remembered up to it are forgotten.

        Returns
        -------
        known : KnownIds
        repeats : ndarray, shape (m,)
            The positions of the repeats in the log of the stream. A retraction that is not late is included, since it
            does not count, whether or not the retracted answer was counted.
        """
        if RETRACTED not in tuples.column_names:
            return self._observe(tuples, until, before, frontier)
        is_retraction = np.asarray(tuples[RETRACTED])
        is_version = ~is_retraction
        versions = tuples.filter(pa.array(is_version))
        known, repeats = self._observe(versions, until[is_version], before[is_version], frontier)
        is_dropped = is_retraction & (until > before)
        return known, np.sort(np.r_[repeats, tuples["position"].to_numpy()[is_dropped]])

    def _observe(self, tuples: pa.Table, until: Ints, before: Ints, frontier: int) -> tuple[KnownIds, Ints]:
        if not tuples.num_rows:
            kept = self.until > frontier
            return KnownIds(self.ids.filter(pa.array(kept)), self.until[kept]), np.zeros(0, np.int64)
        ids, (old, new) = unify([self.ids, tuples.column("id").combine_chunks()])
        names = ("position", ARRIVAL_US, "arrival_time", "tick")
        position, arrival_us, arrival, tick = (tuples.column(name).to_numpy() for name in names)
        order = np.lexsort([position, arrival_us, arrival, tick, new])
        code, end, at = new[order], until[order], tick[order]
        remembered = np.full(len(ids), BEFORE_ALL)
        remembered[old] = self.until
        present, code_here = np.unique(code, return_inverse=True)
        is_repeat = _running_max_before(code_here, end, remembered[present]) > before[order]
        is_repeat[1:] |= (code[1:] == code[:-1]) & (at[1:] == at[:-1])  # the tuples of a tick come at the same time
        np.maximum.at(remembered, code, end)
        kept = remembered > frontier
        known = KnownIds(ids.filter(pa.array(kept)), remembered[kept])
        return known, np.sort(position[order[is_repeat]])

    def to_arrow(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([self.ids, pa.array(self.until)], names=["id", "until"])

    @staticmethod
    def from_arrow(batch: pa.RecordBatch) -> KnownIds:
        return KnownIds(batch.column("id"), np.asarray(batch.column("until")))


@dataclass(frozen=True)
class Repeats:
    """The remembered ids of each stream."""

    known: tuple[KnownIds, ...]

    @staticmethod
    def none(id_types: Sequence[pa.DataType]) -> Repeats:
        return Repeats(tuple(map(KnownIds.none, id_types)))

    def to_arrow(self) -> Batches:
        return {str(side): known.to_arrow() for side, known in enumerate(self.known)}

    @staticmethod
    def from_arrow(batches: Batches) -> Repeats:
        return Repeats(tuple(KnownIds.from_arrow(batches[str(side)]) for side in range(len(batches))))


def with_positions(rows: pa.RecordBatch, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """Add to the rows of tuples their positions in the stream's log, and the column `tuples` with 1."""
    rows = rows.append_column("position", tuples.column("position"))
    if "tuples" not in rows.schema.names:
        rows = rows.append_column("tuples", pa.array(np.ones(len(rows), np.int64)))
    return rows


def without(rows: pa.Table, repeats: Ints) -> pa.Table:
    """Drop the rows at these positions, and the column of positions."""
    is_first = ~np.isin(rows.column("position").to_numpy(), repeats)
    return rows.filter(pa.array(is_first)).drop_columns(["position"])


def _running_max_before(code: Ints, value: Ints, start: Ints) -> Ints:
    """Return, for each row, the largest value of the earlier rows with the same code and of its code's start.

    `code` is sorted; its groups are shifted apart, so that a single running maximum suffices.
    """
    if not len(code):
        return value
    ranks = np.unique(np.r_[value, start], return_inverse=True)
    levels, index = ranks[0], ranks[1].astype(np.int64)
    first = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
    entry = np.empty(len(code), np.int64)
    entry[1:] = index[: len(code) - 1]
    entry[first] = index[len(code) :][code[first]]
    group = np.cumsum(np.isin(np.arange(len(code)), first)) * len(levels)
    return np.asarray(levels[np.maximum.accumulate(entry + group) - group])
