"""Result of a step of a task: what became due when a state advanced to the frontier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.columns import Floats


class Step(NamedTuple):
    """Result of `Kind.step`.

    Attributes
    ----------
    state : State
        The new state.
    answers : RecordBatch
        The answers that became due, of schema `Kind.answer`; n rows.
    decided_at : ndarray, shape (n,)
        The index in the frontier of the tick that decided each row: its as_of, K and facts are those of this tick.
    late : tuple of RecordBatch
        The late tuples of each input, of schema `Kind.late`, and beside it `tick`, `tuples` (how many a row stands for)
        and `frontier` (F before its tick).
    loads : dict of ndarray, shape (e,)
        The work of the task, from which a kind that balances makes its next plan: first e elements of its partition
        (spans, cells; integers), then the cost of each under `load`, and what else is summed. Empty where a kind does
        not measure it.
    counts : dict of int
        Counts of what the kind did, by names of its own: as how many pairs each filter rejected.
    """

    state: Any
    answers: pa.RecordBatch
    decided_at: NDArray[np.int64]
    late: tuple[pa.RecordBatch, ...]
    loads: Mapping[str, Floats] = {}
    counts: Mapping[str, int] = {}
