"""Errors of approximate answers, relative to the exact ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.aggregate.folds import Floats
from tailrace.answers.identity import Identity
from tailrace.ground.columns import single_batch


def errors(identity: Identity, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
    """The identity, and the relative error (`error`) of the answer to each window that is answered exactly.

    Where the true value is 0 the error is the absolute one; the error of a missing answer is 1.
    """
    near, true = (part["value"].to_numpy() for part in (approximate, exact))
    near = np.append(near, np.nan)[identity.find(exact, approximate)]  # −1 takes what was appended
    error = pa.array(relative(near, true))
    return single_batch(exact.select(identity.columns).append_column("error", error))


def relative(value: Floats, true: Floats) -> Floats:
    """The relative errors, shape (n,): absolute where the true value is 0, and 1 where the error is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(value - true) / np.where(true == 0, 1.0, np.abs(true))
    return np.where(value == true, 0.0, np.where(np.isnan(error), 1.0, error))
