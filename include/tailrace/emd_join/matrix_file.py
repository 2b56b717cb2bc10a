"""Files of ground distances: a matrix saved by NumPy, which must be a metric."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from tailrace.emd_join.ground_distance import Costs, fault
from tailrace.ground.files.regular_files import open_regular, regular_status

MOST_BINS = 512
"""The most bins of a matrix. Checking that it is a metric takes a second, each time a query is loaded."""

_MAGIC = b"\x93NUMPY"


def read(path: Path) -> Costs:
    """Read a ground distance, shape (n, n).

    Raises
    ------
    ValueError
        When it can't be read, or is not a metric; the text completes a sentence about the file.
    """
    try:
        stat = regular_status(path)
        return _read(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise ValueError(f"can't be read: {error.strerror or error}") from None


@lru_cache(maxsize=4)
def _read(path: Path, changed_ns: int, size: int) -> Costs:
    with open_regular(path) as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("is no file that np.save has written")
    try:
        saved = np.load(path, mmap_mode="r", allow_pickle=False)  # nothing is allocated for a header with a huge shape
    except (ValueError, EOFError, SyntaxError) as error:
        raise ValueError("is no whole file that np.save has written, or not of numbers") from error
    if saved.dtype.kind not in "iuf":
        raise ValueError("is not of numbers")
    if saved.ndim != 2 or saved.shape[0] != saved.shape[1]:  # noqa: PLR2004
        raise ValueError(f"is of shape {saved.shape}, not (n, n)")
    if not 1 < len(saved) <= MOST_BINS:
        raise ValueError(f"has {len(saved)} bins, and 2 to {MOST_BINS} are allowed")
    costs = np.array(saved, np.float64)
    if (reason := fault(costs)) is not None:
        raise ValueError(f"is no metric: {reason}")
    costs.flags.writeable = False
    return costs
