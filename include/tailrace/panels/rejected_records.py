"""Reads the table of rejected records, the newest files first, and counts the records by reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import select
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import naming_what_is_lost
from tailrace.storage.rejections import OTHERS, counted_as, without_values
from tailrace.storage.tables import Tables
from tailrace.tables.every import in_ms

_AT_ONCE = 16_384  # records
_REASONS_AT_ONCE = 1 << 16
_BYTES = 1 << 20  # bytes of records at once, as stored; in memory they may take several times as many

IsAsked = Callable[[pa.ChunkedArray], pa.Array]
"""Tests which reasons are requested."""


@dataclass(frozen=True)
class RejectedFile:
    """A file of rejected records."""

    layout: Layout
    fragment: Any
    rows: int
    size: int

    def batches(self, columns: Sequence[str], at_once: int) -> Iterator[pa.Table]:
        """Yield some rows at a time."""
        with naming_what_is_lost(self.layout, "quarantine"):
            for batch in self.fragment.to_batches(columns=[*columns], batch_size=at_once):
                yield in_ms(pa.Table.from_batches([batch]), "quarantine")

    def count(self, is_asked: IsAsked | None) -> int:
        """Count the rows with a requested reason; all rows if no reason is requested."""
        if is_asked is None:
            return self.rows
        return sum(pc.sum(is_asked(rows["reason"])).as_py() or 0 for rows in self.batches(["reason"], _REASONS_AT_ONCE))

    def between(self, columns: Sequence[str], start: int, stop: int, is_asked: IsAsked | None) -> pa.Table:
        """Return the rows with a requested reason, numbers `start` to `stop` (exclusive), the last one first."""
        kept, seen = list[pa.Table](), 0
        at_once = min(max(_BYTES * self.rows // max(self.size, 1), 1), _AT_ONCE)
        for batch in self.batches(columns, at_once):
            rows = batch if is_asked is None else batch.filter(is_asked(batch["reason"]))
            kept.append(rows[max(start - seen, 0) : max(stop - seen, 0)])
            seen += rows.num_rows
            if seen >= stop:
                break
        rows = pa.concat_tables(kept, promote_options="default") if kept else pa.table({name: [] for name in columns})
        return rows.take(pa.array(np.arange(rows.num_rows)[::-1]))


@dataclass(frozen=True)
class RejectedFiles:
    """The files of the table, by newest arrival, and the number of all their records."""

    files: tuple[RejectedFile, ...]
    total: int

    @staticmethod
    def read(tables: Tables) -> RejectedFiles:
        """Return the files of the table, which exists."""
        table = tables.open("quarantine")
        fragments = {unquote(each.path).rpartition("/")[2]: each for each in table.to_pyarrow_dataset().get_fragments()}
        actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        actions.sort(
            key=lambda each: (str(each.get("max.arrival_time") or ""), each["modification_time"]), reverse=True
        )
        files = tuple(
            RejectedFile(
                tables.layout,
                fragments[unquote(each["path"]).rpartition("/")[2]],
                each["num_records"] or 0,
                each["size_bytes"],
            )
            for each in actions
        )
        return RejectedFiles(files, sum(file.rows for file in files))

    def newest(self, columns: Sequence[str], most: int) -> Iterator[pa.Table]:
        """Yield the rows of the newest files, enough for about `most` rows."""
        left = most
        for file in self.files:
            if left <= 0:
                return
            yield from file.batches(columns, _REASONS_AT_ONCE)
            left -= file.rows


def groups_of(reasons: pa.ChunkedArray) -> pa.Array:
    """Return the group of each reason; each distinct reason is processed once."""
    encoded = reasons.combine_chunks().dictionary_encode()
    return without_values(encoded.dictionary.cast(pa.string())).take(encoded.indices)


@dataclass(frozen=True)
class ReasonCount:
    """The number of records of a reason, their newest arrival (ms), and the stream of one of them."""

    records: int
    last: int | None
    stream: str


@dataclass
class RejectsByReason:
    """Counts rejected records by reason.

    Attributes
    ----------
    by_reason : dict
        At most a hundred reasons; records with further reasons are counted together.
    """

    by_reason: dict[str, ReasonCount] = field(default_factory=dict)
    _arrival: list[Ints] = field(default_factory=list)

    @property
    def records(self) -> int:
        return sum(each.records for each in self.by_reason.values())

    @property
    def arrival(self) -> Ints:
        """The arrival times (ms) of records that have one."""
        return np.concatenate([np.zeros(0, np.int64), *self._arrival])

    @property
    def named(self) -> list[str]:
        """The reasons that are counted separately."""
        return [reason for reason in self.by_reason if reason != OTHERS]

    def most_frequent(self) -> list[tuple[str, ReasonCount]]:
        return sorted(self.by_reason.items(), key=lambda item: (item[0] == OTHERS, -item[1].records, item[0]))

    def add(self, rows: pa.Table) -> None:
        """Count rows: their `stream`, `reason` and `arrival_time`."""
        self._arrival.append(select(rows, np.asarray(rows["arrival_time"].is_valid()))["arrival_time"].to_numpy())
        grouped = pa.table(
            {"reason": groups_of(rows["reason"]), "stream": rows["stream"], "arrival_time": rows["arrival_time"]}
        )
        grouped = grouped.group_by("reason", use_threads=False).aggregate(
            [([], "count_all"), ("arrival_time", "max"), ("stream", "first")]
        )
        for reason, count, last, stream in zip(*(grouped[name].to_pylist() for name in _GROUPED), strict=True):
            known = counted_as(reason, self.by_reason)
            before = self.by_reason.get(known, ReasonCount(0, None, stream))
            newest = max((each for each in (before.last, last) if each is not None), default=None)
            self.by_reason[known] = replace(before, records=before.records + count, last=newest)


_GROUPED = ("reason", "count_all", "arrival_time_max", "stream_first")
