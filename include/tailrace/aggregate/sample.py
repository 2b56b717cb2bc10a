"""A sample of the partials, by keys: what every task is told alike, so that all measure the same errors.

The keys with the smallest hashes: the fewest of all keys are among the fewest of each part of the stream that has them,
so the sample of a segment holds all that the sample of the whole stream needs, however the log is cut.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.aggregate.folds import Fold
from tailrace.aggregate.partials import combine
from tailrace.columns import unify
from tailrace.disorder.seen import SAMPLE
from tailrace.partition.by_key import hash_of
from tailrace.windows.sliding import Sliding

KEYS = 16


def sample(windows: Sliding, fold: Fold, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """The partials of the tuples of at most `KEYS` keys; `group` is the key's hash.

    Parameters
    ----------
    tuples : RecordBatch
        As `combine` takes them.

    Returns
    -------
    RecordBatch
        Of `SAMPLE`. `squares` is the sum of the squares of the values where `total` is that of the values, else 0.
    """
    keys, (code,) = unify([tuples.column("key")])
    hashes = hash_of(keys)
    chosen = np.zeros(len(keys), bool)
    chosen[np.argsort(hashes, kind="stable")[:KEYS]] = True
    mine = tuples if chosen.all() else tuples.filter(pa.array(chosen[code]))
    partials = combine(windows, fold, mine)
    group = hash_of(partials.column("key").dictionary).view(np.int64)[np.asarray(partials.column("key").indices)]
    squares = np.zeros(len(group))
    if fold == "sum" and "value" in mine.schema.names:
        place = mine.schema.get_field_index("value")
        squared = mine.set_column(place, "value", pa.array(np.square(np.asarray(mine.column(place)))))
        squares = np.asarray(combine(windows, fold, squared).column("total"))  # by the same keys, panes and ticks
    columns = [partials.column("tick"), pa.array(group), partials.column("pane"), partials.column("tuples")]
    return pa.RecordBatch.from_arrays([*columns, partials.column("total"), pa.array(squares)], schema=SAMPLE)
