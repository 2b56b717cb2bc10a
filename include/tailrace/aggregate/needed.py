"""How long a window would have had to wait: the least K with which its answer is not off."""

from __future__ import annotations

import numpy as np

from tailrace.aggregate import folds
from tailrace.aggregate.folds import Floats, Ints
from tailrace.aggregate.functions import Function
from tailrace.columns import pair


def needed(function: Function, error: float, window: Ints, need: Ints, tuples: Ints, total: Floats) -> Ints:
    """The least K of each window with which, as with every larger one, its answer is off by less than `error`.

    Each need at which a window gets more is a step: the answer over what it has by then is held against that over
    all of it. A window that has nothing yet is off.

    Parameters
    ----------
    window, need, tuples, total : ndarray, shape (n,), n ≥ 1
        Partials as the function's fold has them: the number of the window in [0, m), each of which occurs, and the
        least K, in ms, with which it would have held the partial.

    Returns
    -------
    ndarray, shape (m,)
    """
    code, split = pair(window, need)
    order = np.argsort(code, kind="stable")
    code, tuples, total = folds.merge(function.fold, code[order], tuples[order], total[order])
    steps, step = np.unique(code, return_inverse=True)
    of_window, needs = split(steps)
    first = np.flatnonzero(np.diff(of_window, prepend=-1))
    last = np.append(first[1:], len(steps)) - 1
    many = last[of_window[step]] - step + 1  # a partial is there from its own step on
    row = np.repeat(np.arange(len(step)), many)
    then = step[row] + np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    _, held, gathered = folds.gather(function.fold, then, row, tuples, total)
    with np.errstate(all="ignore"):
        answer = function.finish(held, gathered)
        true = answer[last][of_window]
        off = np.abs(answer - true) / np.where(true == 0, 1.0, np.abs(true))
    wrong = ~((off < error) | (answer == true))
    wrong[last] = False
    latest = np.maximum.reduceat(np.where(wrong, np.arange(len(steps)) + 1, 0), first)
    found: Ints = needs[np.maximum(latest, first)]
    return found
