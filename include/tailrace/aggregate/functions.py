"""Aggregate functions over mergeable partials: a new one is a line here.

Every function sees how many tuples a window holds and the sum of their values, both doubles.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Finish = Callable[[Floats, Floats], Floats]

FUNCTIONS: dict[str, Finish] = {
    "sum": lambda tuples, total: total,
    "count": lambda tuples, total: tuples,
    "avg": lambda tuples, total: total / tuples,
}
