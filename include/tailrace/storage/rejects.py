"""The newest rejected records of a stream, with reasons and the position of an example."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from tailrace.sources.record_place import place_of
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

_ROWS = 10_000  # rows of the newest file, which has the rejects of a batch
_QUOTED = re.compile(r"""(['"]).*\1""")


@dataclass(frozen=True)
class Rejects:
    """Records that were rejected together.

    Attributes
    ----------
    reasons : dict of str to int
        The number of records rejected for each reason, the most frequent first. No reason quotes a value.
    example : str
        The place in the source of a record rejected for the first of these reasons.
    """

    reasons: dict[str, int]
    example: str

    def __str__(self) -> str:
        parts = [f"{reason} ({number:,})" for reason, number in self.reasons.items()]
        return f"{'; '.join(parts)}; such as {self.example}"


def newest_rejects(layout: Layout) -> Rejects | None:
    """Read the newest file of the table `quarantine`; None where there is none."""
    tables = Tables(layout)
    if not tables.has("quarantine"):
        return None
    table = tables.open("quarantine")
    files = pa.table(table.get_add_actions(flatten=True)).select(["path", "modification_time"]).to_pylist()
    if not files:
        return None
    newest = max(files, key=lambda file: file["modification_time"])["path"]
    fragments = [each for each in table.to_pyarrow_dataset().get_fragments() if each.path.endswith(newest)]
    rows = fragments[0].head(_ROWS, columns=["position", "reason"]).to_pylist()
    reasons = Counter(_QUOTED.sub("…", row["reason"]) for row in rows)
    frequent = dict(reasons.most_common(3))
    first = next(iter(frequent))
    position = next(row["position"] for row in rows if _QUOTED.sub("…", row["reason"]) == first)
    return Rejects(frequent, place_of(position))
