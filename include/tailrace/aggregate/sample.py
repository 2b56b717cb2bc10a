"""A sample of the partials, by keys: what every task is told alike, so that all measure the same errors.

The keys with the smallest hashes of those that have come up to each tick. Who goes, tick by tick, by the smallest ones
of the whole stream so far finds them in the samples of its segments, however the log is cut.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.aggregate.folds import Fold
from tailrace.aggregate.partials import combine
from tailrace.columns import unify
from tailrace.disorder.seen import SAMPLE
from tailrace.partition.by_key import hash_of
from tailrace.windows.sliding import Sliding

KEYS = 16


def _bounds(hashes: NDArray[np.uint64], code: NDArray[np.int64], tick: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The largest hash that counts at each tuple's tick: the sixteenth of those that have come up to that tick.

    Parameters
    ----------
    hashes : ndarray, shape (k,)
        Of the keys, in the order in which they come first.
    code, tick : ndarray, shape (n,)
        The key and the tick of each tuple; ticks do not fall.
    """
    seen = np.searchsorted(np.unique(code, return_index=True)[1], np.searchsorted(tick, tick, side="right"))
    running = np.full(len(hashes) + 1, np.iinfo(np.uint64).max)  # after so many keys
    smallest = np.sort(hashes[:KEYS])
    at = KEYS
    while len(smallest) == KEYS:
        running[at:] = smallest[-1]
        smaller = np.flatnonzero(hashes[at:] < smallest[-1])
        if not len(smaller):
            break
        at += int(smaller[0]) + 1
        smallest = np.sort(np.append(smallest[:-1], hashes[at - 1]))
    return running[seen]


def sample(windows: Sliding, fold: Fold, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """The partials of the tuples of at most `KEYS` keys at a time; `group` is the key's hash.

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
    bounds = _bounds(hashes, code, np.asarray(tuples.column("tick")))
    mine = tuples if len(keys) <= KEYS else tuples.filter(pa.array(hashes[code] <= bounds))
    partials = combine(windows, fold, mine)
    group = hash_of(partials.column("key").dictionary).view(np.int64)[np.asarray(partials.column("key").indices)]
    squares = np.zeros(len(group))
    if fold == "sum" and "value" in mine.schema.names:
        place = mine.schema.get_field_index("value")
        squared = mine.set_column(place, "value", pa.array(np.square(np.asarray(mine.column(place)))))
        squares = np.asarray(combine(windows, fold, squared).column("total"))  # by the same keys, panes and ticks
    columns = [partials.column("tick"), pa.array(group), partials.column("pane"), partials.column("tuples")]
    return pa.RecordBatch.from_arrays([*columns, partials.column("total"), pa.array(squares)], schema=SAMPLE)
