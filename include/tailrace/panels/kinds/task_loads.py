"""The load that each task of a join measured over time, such as its exact distances."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.columns import Floats
from tailrace.panels.panel import Shown
from tailrace.panels.series import downsample


class TaskLoads(Shown):
    """The load of each task over time.

    Attributes
    ----------
    at : list of int
        The arrival committed, in ms.
    tasks : list of list
        For each task, the total load of a point's batches.
    imbalance : list
        The excess of the greatest load over the mean, in multiples of the mean, for the worst batch of a point.
    """

    at: list[int]
    tasks: list[list[float | None]]
    imbalance: list[float | None]


def task_loads(rows: pa.Table) -> TaskLoads:
    """Return the series of the load, given rows of `metrics` with `batch`, `task`, `committed` and `load`."""
    number = (pc.max(rows["task"]).as_py() or 0) + 1 if len(rows) else 0
    for task in range(number):
        mine = pc.if_else(pc.equal(rows["task"], task), rows["load"], pa.scalar(None, pa.float64()))
        rows = rows.append_column(f"load {task}", mine)
    rows = rows.append_column("imbalance", pa.array(_imbalance(rows)))
    names = [f"load {task}" for task in range(number)]
    series = downsample(rows, "committed", {**dict.fromkeys(names, "sum"), "imbalance": "max"})
    return TaskLoads(at=series["at"], tasks=[series[name] for name in names], imbalance=series["imbalance"])


def _imbalance(rows: pa.Table) -> Floats:
    """Return the imbalance of each row's batch, NaN if it had no load; shape (n,)."""
    batches, of_batch = np.unique(rows["batch"].to_numpy(), return_inverse=True)
    load = np.nan_to_num(rows["load"].to_numpy())
    mean = np.bincount(of_batch, load, len(batches)) / np.maximum(np.bincount(of_batch, minlength=len(batches)), 1)
    most = np.zeros(len(batches))
    np.maximum.at(most, of_batch, load)
    with np.errstate(invalid="ignore"):
        return np.asarray((most / mean - 1)[of_batch])
