"""The tables of `tailrace bench kafka`."""

from __future__ import annotations

from tailrace.bench.kafka import reading
from tailrace.bench.page import Effort
from tailrace.bench.progress import Row, Tell

_PART = 16  # the topics have a sixteenth of the rows of a case


def speeds(effort: Effort, tell: Tell) -> dict[str, list[Row]]:
    """Measure topics of some partitions, ours and Spark's connector side by side."""
    return {"partitions": reading.by_partitions(max(effort.rows // _PART, 1), effort.rounds, tell)}
