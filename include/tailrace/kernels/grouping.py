"""The loops that group rows by an integer code: a radix sort, and folds over the runs of equal codes."""

from __future__ import annotations

from tailrace.kernels.signature import MIN, SUM, Codes, Floats, Ints

DIGIT_BITS = 11
BUCKETS = 1 << DIGIT_BITS


def sort_codes(
    n: int, low: int, digits: int, group_id: Ints, counts: Ints, key: Ints, row: Codes, key_2: Ints, row_2: Codes
) -> int:
    """Sort n codes stably. `key` gets each code minus the lowest one, `row` its original position.

    Parameters
    ----------
    low : int
        The lowest code.
    digits : int
        The number of digits (of `DIGIT_BITS`) of the differences to it.
    counts : ndarray, shape (digits · BUCKETS,)
        Scratch.
    key, row, key_2, row_2 : ndarray, shape (n,)

    Returns
    -------
    int
        0 if the result is in `key` and `row`, 1 if it is in `key_2` and `row_2`.
    """
    for bucket in range(digits * BUCKETS):
        counts[bucket] = 0
    for index in range(n):
        value = group_id[index] - low
        key[index] = value
        row[index] = index
        for digit in range(digits):
            counts[digit * BUCKETS + ((value >> (DIGIT_BITS * digit)) & (BUCKETS - 1))] += 1
    is_second = 0
    for digit in range(digits):
        shift = DIGIT_BITS * digit
        first = key[0] if is_second == 0 else key_2[0]
        if counts[digit * BUCKETS + ((first >> shift) & (BUCKETS - 1))] == n:
            continue  # all have the same
        start = 0
        for bucket in range(digit * BUCKETS, digit * BUCKETS + BUCKETS):
            count = counts[bucket]
            counts[bucket] = start
            start += count
        for index in range(n):
            value = key[index] if is_second == 0 else key_2[index]
            bucket = digit * BUCKETS + ((value >> shift) & (BUCKETS - 1))
            target = counts[bucket]
            counts[bucket] = target + 1
            if is_second == 0:
                key_2[target] = value
                row_2[target] = row[index]
            else:
                key[target] = value
                row[target] = row_2[index]
        is_second = 1 - is_second
    return is_second


def first_of_runs(n: int, key: Ints, first: Ints) -> int:
    """Write the start of each run of equal keys among n sorted ones; return the number of runs."""
    runs = 0
    for index in range(n):
        if index == 0 or key[index] != key[index - 1]:
            first[runs] = index
            runs += 1
    return runs


def fold_floats(n: int, runs: int, fold: int, first: Ints, row: Codes, value: Floats, out: Floats) -> int:
    """Fold the values of each run, from its first row on: SUM, MIN or MAX."""
    for run in range(runs):
        end = first[run + 1] if run + 1 < runs else n
        if fold == SUM:
            total = 0.0
            for index in range(first[run], end):
                total += value[row[index]]
        else:
            total = value[row[first[run]]]
            for index in range(first[run] + 1, end):
                each = value[row[index]]
                total = min(total, each) if fold == MIN else max(total, each)
        out[run] = total + 0.0  # −0.0 becomes 0.0, so that the order of the two does not matter
    return runs


def fold_ints(n: int, runs: int, fold: int, first: Ints, row: Codes, value: Ints, out: Ints) -> int:
    """Do the same as `fold_floats` with integers."""
    for run in range(runs):
        end = first[run + 1] if run + 1 < runs else n
        total = value[row[first[run]]]
        for index in range(first[run] + 1, end):
            each = value[row[index]]
            if fold == SUM:
                total += each
            else:
                total = min(total, each) if fold == MIN else max(total, each)
        out[run] = total
    return runs
