"""The tables of `tailrace bench kafka`."""

from __future__ import annotations

from tailrace.bench.kafka import reading
from tailrace.bench.progress import Echo, Row
from tailrace.bench.report import Effort

_PART = 16  # the topics have a sixteenth of the rows of a case


def speeds(effort: Effort, echo: Echo) -> dict[str, list[Row]]:
    """Measure topics with some partitions, ours and Spark's connector side by side."""
    return {"partitions": reading.by_partitions(max(effort.rows // _PART, 1), effort.rounds, echo)}
