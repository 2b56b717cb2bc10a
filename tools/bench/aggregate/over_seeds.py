"""Tables of experiments over several seeds: the median of the runs, with their range."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence

from bench.progress import Row
from bench.verdicts import select

_SEED = "seed"


def over_seeds(runs: Sequence[Row], group: Sequence[str], ranged: Collection[str]) -> list[Row]:
    """Return a row for each group of runs: the number of its seeds, and the median of each column.

    A column of `ranged` is followed by its least and its largest value. A median of no values is None.

    Parameters
    ----------
    runs : sequence of dict
        A row for each run, with its `seed`.
    group : sequence of str
        The columns that are the same in all runs of a group.
    """
    rows = []
    for values in dict.fromkeys(tuple(run[name] for name in group) for run in runs):
        same = dict(zip(group, values, strict=True))
        members = select(runs, **same)
        row: Row = same | {"seeds": len(members)}
        for name in members[0]:
            if name not in same and name != _SEED:
                cells = [member[name] for member in members if member[name] is not None]
                row[name] = statistics.median(cells) if cells else None
                if name in ranged:
                    row |= {f"{name}, least": min(cells, default=None), f"{name}, most": max(cells, default=None)}
        rows.append(row)
    return rows
