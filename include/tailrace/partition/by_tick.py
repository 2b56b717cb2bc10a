"""Partitioning by arrival time, for rows that no state waits for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.ground.facts import Facts
from tailrace.partition.by_key import task_of
from tailrace.partition.routes import Routes


class ByTick:
    """The partitioning by the hash of a row's tick. It takes no plan."""

    needs_earlier_plans = False

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        task = task_of(rows.column("tick"), tasks)
        return Routes(np.arange(rows.num_rows), task, np.ones(rows.num_rows, bool))
