"""The types of a kernel's parameters: integers, doubles and columns of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.uint8]

SUM, MIN, MAX = 0, 1, 2
"""The folds of a kernel."""

Kernel = Callable[..., int]
"""A loop over columns: takes integers and contiguous columns, writes into some of these, and returns an integer."""

COLUMNS: dict[Any, np.dtype[Any]] = {
    Ints: np.dtype(np.int64),
    Codes: np.dtype(np.int32),
    Floats: np.dtype(np.float64),
    Flags: np.dtype(np.uint8),
}
"""The dtype of each type of column."""


def parameters(kernel: Kernel) -> list[np.dtype[Any] | None]:
    """Return the dtype of each parameter that is a column, and None for each integer."""
    hints = get_type_hints(kernel)
    hints.pop("return")
    return [COLUMNS.get(hint) for hint in hints.values()]
