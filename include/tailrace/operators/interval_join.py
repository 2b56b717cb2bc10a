"""Incremental interval join of two streams, answered by pairs: one call a batch, without a loop over tuples or ticks.

F is the frontier (the watermark), and the reach is the largest distance in event time of a pair's tuples. A tuple is
stored while its event time is at least F − reach. A pair is answered at the tick of its later tuple, if its first one
was still stored then: it came in the same tick, or its event time is at least F before that tick − reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.clock import Frontier
from tailrace.ground.columns import single_batch

Ints = NDArray[np.int64]

Match = Callable[[pa.Table, pa.Table], tuple[Ints, Ints]]
"""Finds the pairs of rows of a left and a right table that match: their indices in either."""

_EARLIER = -1  # the place in the frontier of a tuple that came in an earlier batch


@dataclass(frozen=True)
class PairState:
    """State of the operator in one task: the rows of either side that can still meet a later tuple."""

    left: pa.Table
    right: pa.Table

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        return {"left": single_batch(self.left), "right": single_batch(self.right)}

    @staticmethod
    def from_arrow(batches: dict[str, pa.RecordBatch]) -> PairState:
        return PairState(*(pa.Table.from_batches([batches[name]]) for name in ("left", "right")))


class Pairs(NamedTuple):
    """n pairs: the rows of both sides, and the index in the frontier of the tick that decided each."""

    left: pa.Table
    right: pa.Table
    decided_at: Ints


def step(
    reach_ms: int, match: Match, state: PairState, arrived: tuple[pa.Table, ...], frontier: Frontier
) -> tuple[PairState, Pairs, tuple[pa.RecordBatch, ...]]:
    """Add the rows of complete ticks, and answer each pair that has met.

    Parameters
    ----------
    arrived : tuple of Table
        Of the left and the right stream: `event_time`, `tick`, `tuples` (0: a replica), `id`, and what `match` needs.

    Returns
    -------
    state : PairState
    pairs : Pairs
    late : tuple of RecordBatch
        The tuples of each stream with an event time below F before their tick: `id`, `event_time`, `tick`, `tuples`,
        `frontier`; without replicas.
    """
    earlier = state.left, state.right
    places = [frontier.index(rows.column("tick").to_numpy()) for rows in arrived]
    tables = [pa.concat_tables(parts) for parts in zip(earlier, arrived, strict=True)]
    at = [np.append(np.full(old.num_rows, _EARLIER), new) for old, new in zip(earlier, places, strict=True)]

    left, right = match(arrived[0], tables[1])
    more_left, more_right = match(earlier[0], arrived[1])
    left = np.concatenate([left + earlier[0].num_rows, more_left])
    right = np.concatenate([right, more_right + earlier[1].num_rows])
    met, decided_at = _met(reach_ms, tables, at, (left, right), frontier)
    pairs = Pairs(tables[0].take(left[met]), tables[1].take(right[met]), decided_at[met])

    bound = frontier.last - reach_ms
    state = PairState(*(rows.filter(pa.array(_event_time(rows) >= bound)) for rows in tables))
    return state, pairs, tuple(_late(rows, place, frontier) for rows, place in zip(arrived, places, strict=True))


def _met(
    reach_ms: int, tables: list[pa.Table], at: list[Ints], pairs: tuple[Ints, Ints], frontier: Frontier
) -> tuple[NDArray[np.bool_], Ints]:
    """Test which pairs have met, and find the place in the frontier of the later tuple of each."""
    left_at, right_at = (place[rows] for place, rows in zip(at, pairs, strict=True))
    left_time, right_time = (_event_time(table)[rows] for table, rows in zip(tables, pairs, strict=True))
    decided_at = np.maximum(left_at, right_at)
    first = np.where(left_at < right_at, left_time, right_time)
    return (left_at == right_at) | (first >= frontier.before(decided_at) - reach_ms), decided_at


def _late(rows: pa.Table, place: Ints, frontier: Frontier) -> pa.RecordBatch:
    before = frontier.before(place)
    is_late = (_event_time(rows) < before) & (rows.column("tuples").to_numpy() > 0)
    late = rows.select(["id", "event_time", "tick", "tuples"]).filter(pa.array(is_late))
    return single_batch(late.append_column("frontier", pa.array(before[is_late])))


def _event_time(rows: pa.Table) -> Ints:
    return np.asarray(rows.column("event_time"))
