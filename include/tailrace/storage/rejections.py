"""The rejected records of a stream by reason, each with the number of records and an example. No Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import repeat

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.words import counted
from tailrace.sources.record_place import places_of
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

_VALUE = r"(: ['\"].*|: line \d+ column .*)$"  # at the end of a reason: the text of a record, or a position in it
_LONGEST_EXAMPLE = 120
MOST_REASONS = 100

OTHERS = "other reasons"
"""The name of all reasons beyond the first hundred."""

_COLUMNS = ["reason", "position"]


def without_values(reasons: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return reasons without the parts that differ by record, so that records can be counted by reason."""
    return pc.replace_substring_regex(reasons, _VALUE, "")


def counted_as(reason: str, counted: Collection[str]) -> str:
    """Return the reason that a record counts for: its own one, or `OTHERS` where there are a hundred already."""
    return reason if reason in counted or len(counted) < MOST_REASONS else OTHERS


@dataclass(frozen=True)
class Rejected:
    """The number of records rejected for one reason, and one of them: its position, and its text where it is known."""

    records: int
    position: str
    record: str


@dataclass
class Rejections:
    """Counts rejected records by reason.

    Attributes
    ----------
    by_reason : dict
        At most a hundred reasons; records with further reasons are counted together.
    """

    by_reason: dict[str, Rejected] = field(default_factory=dict)

    @staticmethod
    def read(layout: Layout) -> Rejections:
        """Read the rejections in the table `quarantine`; none where it does not exist."""
        rejections = Rejections()
        tables = Tables(layout)
        if tables.has("quarantine"):
            for batch in tables.batches("quarantine", _COLUMNS, None):
                rejections.add(batch)
        return rejections

    @property
    def records(self) -> int:
        """The number of all rejected records."""
        return sum(rejected.records for rejected in self.by_reason.values())

    def add(self, quarantine: pa.Table) -> None:
        """Count rows of the table `quarantine`."""
        reason = without_values(quarantine["reason"].cast(pa.string()))
        rows = pa.table({"reason": reason, "row": pa.array(range(quarantine.num_rows), pa.int64())})
        grouped = rows.group_by("reason", use_threads=False).aggregate([("row", "count"), ("row", "min")])
        for name, count, first in zip(*(grouped[each].to_pylist() for each in grouped.column_names), strict=True):
            known = counted_as(name, self.by_reason)
            before = self.by_reason.get(known) or Rejected(0, *_example(quarantine.slice(first, 1)))
            self.by_reason[known] = replace(before, records=before.records + count)

    def lines(self, most: int = 5, examples: bool = True) -> Iterator[str]:
        """Yield a line for each of the most frequent reasons, with or without an example, and one for the rest."""
        ordered = sorted(self.by_reason.items(), key=lambda item: -item[1].records)
        positions = places_of([rejected.position for _, rejected in ordered[:most]]) if examples else repeat("")
        for (reason, rejected), position in zip(ordered[:most], positions, strict=False):
            example = f", as {position}: {rejected.record}" if rejected.record else f", as {position}"
            yield f"{rejected.records:,} × {reason}" + (example if examples else "")
        if rest := ordered[most:]:
            records = sum(rejected.records for _, rejected in rest)
            yield f"{records:,} for {counted(len(rest), 'other reason')}: see the table quarantine"


def _example(row: pa.Table) -> tuple[str, str]:
    """Return the position of a rejected record, and its text if the row has it, on one line."""
    record = " ".join(str(row["record"][0]).split()) if "record" in row.column_names else ""
    return str(row["position"][0]), record[:_LONGEST_EXAMPLE]
