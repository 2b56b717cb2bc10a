"""Top-k by a list of candidates for each key, tuple by tuple: the paper's own method, and the baselines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from tailrace.disorder.clock import Frontier
from tailrace.panes.operator import encode_keys, late_partials
from tailrace.panes.rows import Ints
from tailrace.topk.best import Best
from tailrace.topk.candidates import Candidate, Place
from tailrace.windows.sliding import Sliding


class Ranking(Protocol):
    """What a method keeps of one key. Windows are numbered."""

    listed: list[Candidate]

    def insert(self, place: Place, first: int, last: int) -> None: ...

    def top(self, window: int) -> list[Place]: ...

    def slide(self, window: int) -> None: ...


@dataclass
class KeyState:
    """A key's ranking, and how many tuples each pane holds."""

    ranking: Ranking
    counts: dict[int, int] = field(default_factory=lambda: defaultdict(int))


@dataclass
class CandidateState:
    """All keys of a task."""

    keys: dict[Any, KeyState]
    best: Best
    key_type: pa.DataType

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        listed = [(key, *one.place, one.first, one.last) for key, kept in self.keys.items() for one in _all(kept)]
        counts = [(key, pane, many) for key, kept in self.keys.items() for pane, many in kept.counts.items()]
        whole, numbers = ("key", self.key_type), (("first", pa.int64()), ("last", pa.int64()))
        own = [("worse", pa.float64()), ("id", self.best.id_type)]
        return {
            "candidates": _batch(listed, pa.schema([whole, *own, *numbers])),
            "counts": _batch(counts, pa.schema([whole, ("pane", pa.int64()), ("tuples", pa.int64())])),
        }


@dataclass(frozen=True)
class CandidateLists:
    """A method: what it keeps of a key, and what it does to late tuples.

    Attributes
    ----------
    ranking : callable
        Makes that of a key, for k.
    late : callable
        (panes, F as panes) → in the windows of which panes late tuples count; `BEFORE_ALL`: they are dropped.
    moves : bool
        Whether these may be other panes than their own.
    """

    windows: Sliding
    best: Best
    key_type: pa.DataType
    ranking: Callable[[int], Ranking]
    late: Callable[[Ints, Ints], Ints]
    moves: bool = False

    def start(self) -> CandidateState:
        return CandidateState({}, self.best, self.key_type)

    def restore(self, kept: dict[str, pa.RecordBatch]) -> CandidateState:
        state = self.start()
        for row in kept["counts"].to_pylist():
            self._of(state, row["key"]).counts[row["pane"]] = row["tuples"]
        for row in kept["candidates"].to_pylist():
            ranking = self._of(state, row["key"]).ranking
            ranking.insert((row["worse"], row["id"]), row["first"], row["last"])
        return state

    def step(
        self, state: CandidateState, partials: pa.Table, frontier: Frontier
    ) -> tuple[CandidateState, pa.RecordBatch, pa.RecordBatch]:
        keys, rows, tick = encode_keys(pa.array([], self.key_type), partials, self.best.types)
        windows, at = self.windows, frontier.index(tick)
        before = frontier.before(at)
        is_late = windows.first_end(rows.time) <= before
        late = late_partials(self.best, keys, rows[is_late], tick[is_late], before[is_late])
        where = np.where(is_late, self.late(rows.time, windows.pane(before)), rows.time)
        first = np.maximum(windows.first_end(where), windows.end_until(before) + windows.slide_ms)
        last = windows.last_end(where)
        score = -rows.columns["score"] if self.best.descending else rows.columns["score"]
        names, answers = keys.to_pylist(), list[tuple[Any, ...]]()
        columns = (at, rows.key, where, rows.columns["tuples"], score, rows.columns["id"], first, last)
        pending = sorted(
            zip(*(column.tolist() for column in columns), strict=True), key=lambda row: row[0], reverse=True
        )
        for place in range(len(frontier)):
            while pending and pending[-1][0] == place:
                _, key, pane, many, worse, name, begin, end = pending.pop()
                if begin <= end:
                    kept = self._of(state, names[key])
                    kept.counts[pane] += many
                    kept.ranking.insert((worse, name), self._number(begin), self._number(end))
            earlier, now = int(frontier.after[place - 1]) if place else frontier.start, int(frontier.after[place])
            if now > earlier:
                answers += self._close(state, earlier, now)
        return state, self._answered(answers), late

    def _of(self, state: CandidateState, key: Any) -> KeyState:
        if key not in state.keys:
            state.keys[key] = KeyState(self.ranking(self.best.k))
        return state.keys[key]

    def _number(self, end: int) -> int:
        """Of a window, by its end."""
        return (end - self.windows.size_ms) // self.windows.slide_ms

    def _close(self, state: CandidateState, after: int, until: int) -> list[tuple[Any, ...]]:
        """The rankings of the windows that end in (after, until]; nothing of them is kept."""
        found, windows = [], self.windows
        for key, kept in list(state.keys.items()):
            panes = np.array(sorted(kept.counts), np.int64)
            for end in np.unique(windows.ends(panes, after, until)[1]).tolist():
                top = kept.ranking.top(self._number(end))
                many = sum(kept.counts[pane] for pane in panes.tolist() if end - windows.size_ms <= pane < end)
                found += [(key, end, rank, name, worse, many) for rank, (worse, name) in enumerate(top, start=1)]
            kept.ranking.slide(self._number(windows.end_until(until)))
            for pane in panes[windows.last_end(panes) <= until].tolist():
                del kept.counts[pane]
            if not kept.counts:
                del state.keys[key]
        return found

    def _answered(self, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
        own = [("rank", pa.int64()), ("id", self.best.id_type), ("score", pa.float64()), ("tuples", pa.int64())]
        sign = -1 if self.best.descending else 1
        rows = [(key, end, rank, name, sign * worse, many) for key, end, rank, name, worse, many in rows]
        return _batch(rows, pa.schema([("key", self.key_type), ("time", pa.int64()), *own]))


def _all(kept: KeyState) -> list[Candidate]:
    return [*kept.ranking.listed, *getattr(kept.ranking, "later", [])]


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
