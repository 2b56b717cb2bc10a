"""The loops that fold values by group, given the group of each row."""

from __future__ import annotations

from tailrace.kernels.signature import MIN, SUM, Codes, Floats, Ints


def fold_float_groups(n: int, fold: int, group: Codes, value: Floats, out: Floats) -> int:
    """Fold n values into `out` of their groups: SUM, MIN or MAX. `out` starts with the fold's value of no rows."""
    for row in range(n):
        if fold == SUM:
            out[group[row]] += value[row]
        elif fold == MIN:
            out[group[row]] = min(out[group[row]], value[row])
        else:
            out[group[row]] = max(out[group[row]], value[row])
    return n


def fold_int_groups(n: int, fold: int, group: Codes, value: Ints, out: Ints) -> int:
    """Do the same as `fold_float_groups` with integers."""
    for row in range(n):
        if fold == SUM:
            out[group[row]] += value[row]
        elif fold == MIN:
            out[group[row]] = min(out[group[row]], value[row])
        else:
            out[group[row]] = max(out[group[row]], value[row])
    return n


def number_runs(n: int, runs: int, first: Ints, row: Codes, group: Codes) -> int:
    """Write for each row the number of its run; `row` lists the rows run by run."""
    for run in range(runs):
        end = first[run + 1] if run + 1 < runs else n
        for index in range(first[run], end):
            group[row[index]] = run
    return runs
