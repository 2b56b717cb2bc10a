"""Errors and accuracy of answers by pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa

from tailrace.answers.by_pair import PairAnswers
from tailrace.ground.arrow.columns import single_batch


class PairQuality(ABC):
    """Base of kinds that answer pairs, which are either present or missing."""

    @property
    @abstractmethod
    def answers(self) -> PairAnswers:
        """The answer model, see `Kind.answers`."""

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Return 1 for each exact pair that is missing, else 0."""
        identity = self.answers.identity
        missing = identity.find(exact, approximate) < 0
        rows = exact.select(list(identity.columns)).append_column("error", pa.array(missing.astype(float)))
        return single_batch(rows)

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """Return the recall: the share of the exact pairs that were found."""
        error = np.asarray(self.errors(approximate, exact).column("error"))
        return float(1 - error.mean()) if len(error) else 1.0
