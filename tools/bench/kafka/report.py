"""The tables of `tools/dev.py bench kafka`."""

from __future__ import annotations

from bench.kafka import reading
from bench.progress import Echo, Row
from bench.report import Effort

_PART = 16  # the topics have a sixteenth of the rows of a case


def speeds(effort: Effort, echo: Echo) -> dict[str, list[Row]]:
    """Measure topics with some partitions, ours and Spark's connector side by side."""
    return {"partitions": reading.by_partitions(max(effort.rows // _PART, 1), effort.rounds, echo)}
