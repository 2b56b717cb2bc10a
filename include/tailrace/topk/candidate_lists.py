"""Top-k by a list of candidates for each key, one tuple at a time: the paper's method, and the baselines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.clock import Frontier
from tailrace.operators.window import encode_keys, late_partials
from tailrace.topk.best import Best
from tailrace.topk.candidates import Candidate, RankKey
from tailrace.topk.selected import Payload
from tailrace.windows.panes import Arrays, Ints
from tailrace.windows.windows import Windows


class Ranking(Protocol):
    """The candidates of one key, as maintained by a method; windows are numbered."""

    candidates: list[Candidate]

    def insert(self, rank_key: RankKey, first: int, last: int) -> None: ...

    def top(self, window: int) -> list[RankKey]: ...

    def slide(self, window: int) -> None: ...


@dataclass
class KeyState:
    """The ranking of a key, and the number of tuples in each of its panes."""

    ranking: Ranking
    counts: dict[int, int] = field(default_factory=lambda: defaultdict(int))


@dataclass
class CandidateState:
    """The state of a task: the state of each of its keys."""

    keys: dict[Any, KeyState]
    best: Best
    key_type: pa.DataType

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        candidates = [
            (key, *self._stored(candidate.rank_key), candidate.first, candidate.last)
            for key, key_state in self.keys.items()
            for candidate in _candidates(key_state)
        ]
        counts = [
            (key, pane, count) for key, key_state in self.keys.items() for pane, count in key_state.counts.items()
        ]
        key_field, windows = ("key", self.key_type), (("first", pa.int64()), ("last", pa.int64()))
        rank_fields = [
            ("worse", self.best.scores.stored),
            ("id", self.best.id_type),
            *self.best.selected.stored.items(),
        ]
        return {
            "candidates": _batch(candidates, pa.schema([key_field, *rank_fields, *windows])),
            "counts": _batch(counts, pa.schema([key_field, ("pane", pa.int64()), ("tuples", pa.int64())])),
        }

    def _stored(self, rank_key: RankKey) -> tuple[Any, ...]:
        key, *others = _flat(rank_key)
        return (self.best.scores.stored_key(key), *others)

    @staticmethod
    def of_keys(
        states: Sequence[CandidateState], are_wanted: Callable[[pa.Array], NDArray[np.bool_]]
    ) -> CandidateState:
        """Return the wanted keys of several states, of which no two have the same key."""
        keys = {key: key_state for state in states for key, key_state in state.keys.items()}
        wanted = are_wanted(pa.array(list(keys), states[0].key_type))
        mine = {key: key_state for (key, key_state), is_mine in zip(keys.items(), wanted, strict=True) if is_mine}
        return CandidateState(mine, states[0].best, states[0].key_type)


@dataclass(frozen=True)
class CandidateLists:
    """A method with candidate lists: the ranking that it maintains for each key, and its treatment of late tuples.

    Attributes
    ----------
    ranking : callable
        Creates the ranking of a key, given k.
    late : callable
        Takes the panes of late tuples, and the frontier F (the watermark) as panes. Returns the panes in whose windows
        the tuples count, or `BEFORE_ALL` for tuples to drop.
    moves : bool
        Whether these may differ from the tuples' own panes.
    """

    windows: Windows
    best: Best
    key_type: pa.DataType
    ranking: Callable[[int], Ranking]
    late: Callable[[Ints, Ints], Ints]
    moves: bool = False

    def start(self) -> CandidateState:
        return CandidateState({}, self.best, self.key_type)

    def restore(self, batches: dict[str, pa.RecordBatch]) -> CandidateState:
        state, selected = self.start(), self.best.selected.stored
        for row in batches["counts"].to_pylist():
            self._key_state(state, row["key"]).counts[row["pane"]] = row["tuples"]
        for row in batches["candidates"].to_pylist():
            ranking = self._key_state(state, row["key"]).ranking
            payload = [Payload(row[name] for name in selected)] if selected else []
            ranking.insert(
                (self.best.scores.restored_key(row["worse"]), row["id"], *payload), row["first"], row["last"]
            )
        return state

    def step(
        self, state: CandidateState, partials: pa.Table, frontier: Frontier
    ) -> tuple[CandidateState, pa.RecordBatch, pa.RecordBatch]:
        keys, rows, tick = encode_keys(pa.array([], self.key_type), partials, self.best.types)
        windows, at = self.windows, frontier.index(tick)
        before = frontier.before(at)
        is_late = windows.first_end(rows.time) <= before
        late = late_partials(self.best, keys, rows[is_late], tick[is_late], before[is_late])
        target = np.where(is_late, self.late(rows.time, windows.pane(before)), rows.time)
        first = windows.number(np.maximum(windows.first_end(target), windows.end_after(before)))
        last = windows.number(windows.last_end(target))
        names, answers = keys.to_pylist(), list[tuple[Any, ...]]()
        columns = (at, rows.key, target, rows.columns["tuples"], first, last)
        parts = [column.tolist() for column in columns]
        pending = sorted(zip(*parts, self._rank_keys(rows.columns), strict=True), key=lambda row: row[0])
        pending.reverse()  # consumed from the end, in order of arrival: the first of equal repeats comes first
        for index in range(len(frontier)):
            while pending and pending[-1][0] == index:
                _, key, pane, count, begin, until, rank_key = pending.pop()
                if begin <= until:
                    key_state = self._key_state(state, names[key])
                    key_state.counts[pane] += count
                    key_state.ranking.insert(rank_key, begin, until)
            f_before, f_after = int(frontier.after[index - 1]) if index else frontier.start, int(frontier.after[index])
            if f_after > f_before:
                answers += self._close(state, f_before, f_after)
        return state, self._answers(answers), late

    def _rank_keys(self, columns: Arrays) -> Iterable[RankKey]:
        """Yield the sort key of each row, with the stored columns of `select`, if there are any."""
        ranked = self.best.scores.sort_keys(columns["score"]), columns["id"].tolist()
        names = self.best.selected.stored
        if not names:
            return zip(*ranked, strict=True)
        payloads = map(Payload, zip(*(columns[name].tolist() for name in names), strict=True))
        return zip(*ranked, payloads, strict=True)

    def _key_state(self, state: CandidateState, key: Any) -> KeyState:
        if key not in state.keys:
            state.keys[key] = KeyState(self.ranking(self.best.k))
        return state.keys[key]

    def _close(self, state: CandidateState, after: int, until: int) -> list[tuple[Any, ...]]:
        """Return the rankings of the windows that end in (after, until], and drop these windows from the state."""
        rows, windows = list[tuple[Any, ...]](), self.windows
        for key, key_state in list(state.keys.items()):
            panes = np.array(sorted(key_state.counts), np.int64)
            for end in np.unique(windows.ends(panes, after, until)[1]).tolist():
                start = windows.start(end)
                top = key_state.ranking.top(windows.number(end))
                count = sum(key_state.counts[pane] for pane in panes.tolist() if start <= pane < end)
                for rank, (sort_key, *others) in enumerate(map(_flat, top), start=1):
                    rows.append((key, end, rank, count, self.best.scores.score(sort_key), *others))
            key_state.ranking.slide(windows.number(windows.end_until(until)))
            for pane in panes[windows.last_end(panes) <= until].tolist():
                del key_state.counts[pane]
            if not key_state.counts:
                del state.keys[key]
        return rows

    def _answers(self, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
        fields = [
            ("rank", pa.int64()),
            ("tuples", pa.int64()),
            ("score", self.best.scores.stored),
            ("id", self.best.id_type),
        ]
        fields += self.best.selected.stored.items()
        return _batch(rows, pa.schema([("key", self.key_type), ("time", pa.int64()), *fields]))


def _candidates(key_state: KeyState) -> list[Candidate]:
    return [*key_state.ranking.candidates, *getattr(key_state.ranking, "later", [])]


def _flat(rank_key: RankKey) -> tuple[Any, ...]:
    """Return the score, id and stored columns of a sort key as one tuple."""
    worse, name, *payload = rank_key
    return (worse, name, *payload[0]) if payload else rank_key


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
