"""The hit rate of a ranking: the share of the correct top-k that it contains (paper 001, section 2.1)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.answers.identity import Identity
from tailrace.ground.columns import single_batch
from tailrace.ground.matching import first_indices, number_rows


def errors(identity: Identity, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
    """Return the share of the correct top-k that the approximate answer lacks, for every window with an exact answer.

    Returns
    -------
    RecordBatch
        The identity, and `error` in [0, 1]: 1 where the approximate answer is missing. An id that occurs repeatedly in
        a ranking counts once.
    """
    member, near_member = number_rows([exact, approximate], (*identity.determining, "id"))
    is_found = np.zeros(1 + max(member.max(initial=-1), near_member.max(initial=-1)), bool)
    is_found[near_member] = True
    (answer,) = identity.number(exact)
    once = first_indices(member)
    hits, size = np.bincount(answer[once], is_found[member[once]]), np.bincount(answer[once])
    first = first_indices(answer)
    error = 1 - hits[answer[first]] / size[answer[first]]
    rows = exact.select(identity.columns).take(pa.array(first))
    return single_batch(rows.append_column("error", pa.array(error)))
