"""The verdict on the records of a segment: which are rejected, and why."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Verdict:
    """The first reason against each record, as a code from 1 into `reasons`; 0: none."""

    def __init__(self, records: int) -> None:
        self.code = np.zeros(records, np.int32)
        self.reasons: list[str] = []

    def reject(self, mask: NDArray[np.bool_], reason: str) -> None:
        self.reasons.append(reason)
        self.code[mask & (self.code == 0)] = len(self.reasons)
