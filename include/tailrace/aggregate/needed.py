"""How long a window would have had to wait: the least K with which its answer is not off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailrace.aggregate import folds
from tailrace.aggregate.accuracy import relative
from tailrace.aggregate.folds import Floats, Fold, Ints
from tailrace.aggregate.functions import Function

_ACCUMULATE: dict[Fold, tuple[np.ufunc, float]] = {
    "sum": (np.add, 0.0),
    "min": (np.minimum, np.inf),
    "max": (np.maximum, -np.inf),
}
"""How totals come together, and what nothing comes to."""

_NEAR = 1 - 1e-9  # what is off by all but the error is off: sums of doubles depend on the order of the partials


def required_slack(function: Function, error: float, window: Ints, need: Ints, tuples: Ints, total: Floats) -> Ints:
    """The least K of each window with which, as with every larger one, its answer is off by less than `error`.

    Each need at which some window gets more is a step: the answers over what the windows have by then are held against
    those over all of it. A window that has nothing yet is off.

    Parameters
    ----------
    window, need, tuples, total : ndarray, shape (n,), n ≥ 1
        Partials as the function's fold has them: the number of the window in [0, m), each of which occurs, and the
        least K, in ms, with which it would have held the partial.

    Returns
    -------
    ndarray, shape (m,)
    """
    needs, step = np.unique(need, return_inverse=True)
    shape = int(window.max()) + 1, len(needs)
    held = np.zeros(shape, np.int64)
    np.add.at(held, (window, step), tuples)
    held = np.cumsum(held, axis=1)
    there, answer = held > 0, np.full(shape, np.nan)
    with np.errstate(all="ignore"):  # totals may be beyond all doubles
        if function.fold == "keep":
            gathered = _by_step(there, window, step, total)
        else:
            gathered = _by_fold(function.fold, there, window, step, total)
        answer[there] = function.finish(held[there], gathered)
    wrong = ~(relative(answer.ravel(), np.repeat(answer[:, -1], shape[1])) < error * _NEAR).reshape(shape)
    wrong[:, -1] = False
    latest = np.where(wrong.any(axis=1), shape[1] - np.argmax(wrong[:, ::-1], axis=1), 0)
    return needs[latest]


def _by_fold(fold: Fold, there: NDArray[np.bool_], window: Ints, step: Ints, total: Floats) -> Floats:
    """The total of each window by each step at which there is something."""
    come, nothing = _ACCUMULATE[fold]
    found = np.full(there.shape, nothing)
    come.at(found, (window, step), total)
    totals: Floats = come.accumulate(found, axis=1)[there]
    return totals


def _by_step(there: NDArray[np.bool_], window: Ints, step: Ints, total: Floats) -> Floats:
    """The values of each window by each step, one step after the other, ascending in each."""
    many = there.shape[1] - step  # a value is there from its own step on
    row = np.repeat(np.arange(len(step)), many)
    code = window[row] * there.shape[1] + np.repeat(there.shape[1] - np.cumsum(many), many) + np.arange(len(row))
    return folds.gather("keep", code, row, np.ones_like(step), total)[2]
