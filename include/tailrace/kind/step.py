"""Result of a step of a task: the answers that became due when a state advanced to the frontier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Floats


class Step(NamedTuple):
    """Result of `Kind.step`.

    Attributes
    ----------
    state : State
        The new state.
    answers : RecordBatch
        The answers that became due, of schema `Kind.answer`; n rows.
    decided_at : ndarray, shape (n,)
        The frontier index of the tick that decided each row, which gives the row's as_of, K and facts.
    late : tuple of RecordBatch
        The late tuples of each input, with the columns of `Kind.late` and `tick`, `tuples` (the number that a row
        stands for) and `frontier` (F before its tick).
    loads : dict of ndarray, shape (e,)
        The work of the task, from which a load-balanced kind makes its next plan: e elements of its partition (spans or
        cells; integers), then the cost of each under `load`, and further sums. Empty if a kind does not measure it.
    counts : dict of int
        Counts with the kind's own names, such as the number of pairs that each filter rejected.
    """

    state: Any
    answers: pa.RecordBatch
    decided_at: NDArray[np.int64]
    late: tuple[pa.RecordBatch, ...]
    loads: Mapping[str, Floats] = {}
    counts: Mapping[str, int] = {}
