"""The required slack K (allowed lateness) of a window: the least with which its answer is not off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailrace.aggregate import folds
from tailrace.aggregate.accuracy import relative
from tailrace.aggregate.folds import Floats, Fold, Ints
from tailrace.aggregate.function import Function

_ACCUMULATE: dict[Fold, tuple[np.ufunc, float]] = {
    "sum": (np.add, 0.0),
    "min": (np.minimum, np.inf),
    "max": (np.maximum, -np.inf),
}
"""The ufunc that accumulates the totals of a fold, and its identity element."""

_NEAR = 1 - 1e-9  # an error this near to the bound breaks it: sums of doubles depend on the order of the partials


def required_slack(function: Function, error: float, window: Ints, need: Ints, tuples: Ints, total: Floats) -> Ints:
    """The least K of each window with which, as with every larger one, its answer is off by less than `error`.

    Each distinct need is a step, at which some window gets more partials. At every step the answers over the partials
    that the windows have by then are compared with the answers over all partials. A window that has none yet is off.

    Parameters
    ----------
    window, need, tuples, total : ndarray, shape (n,), n ≥ 1
        Partials by the function's fold: the number of the window in [0, m), each of which occurs, and the least K, in
        ms, with which it would have held the partial.

    Returns
    -------
    ndarray, shape (m,)
    """
    (fold,) = function.folds
    needs, step = np.unique(need, return_inverse=True)
    shape = int(window.max()) + 1, len(needs)
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (window, step), tuples)
    counts = np.cumsum(counts, axis=1)
    not_empty, answer = counts > 0, np.full(shape, np.nan)
    with np.errstate(all="ignore"):  # totals may overflow a double
        if fold == "keep":
            totals = _cumulative_values(not_empty, window, step, total)
        else:
            totals = _cumulative_totals(fold, not_empty, window, step, total)
        answer[not_empty] = function.finish(counts[not_empty], totals)
    wrong = ~(relative(answer.ravel(), np.repeat(answer[:, -1], shape[1])) < error * _NEAR).reshape(shape)
    wrong[:, -1] = False
    required_step = np.where(wrong.any(axis=1), shape[1] - np.argmax(wrong[:, ::-1], axis=1), 0)
    return needs[required_step]


def _cumulative_totals(fold: Fold, not_empty: NDArray[np.bool_], window: Ints, step: Ints, total: Floats) -> Floats:
    """The total of each window up to each step at which it has any partial."""
    ufunc, identity = _ACCUMULATE[fold]
    step_totals = np.full(not_empty.shape, identity)
    ufunc.at(step_totals, (window, step), total)
    totals: Floats = ufunc.accumulate(step_totals, axis=1)[not_empty]
    return totals


def _cumulative_values(not_empty: NDArray[np.bool_], window: Ints, step: Ints, total: Floats) -> Floats:
    """The values of each window up to each step: one step after another, ascending in each."""
    counts = not_empty.shape[1] - step  # a value counts at its own step and at all later ones
    row = np.repeat(np.arange(len(step)), counts)
    code = (
        window[row] * not_empty.shape[1]
        + np.repeat(not_empty.shape[1] - np.cumsum(counts), counts)
        + np.arange(len(row))
    )
    values: Floats = folds.gather(("keep",), code, row, np.ones_like(step), total)[2]
    return values
