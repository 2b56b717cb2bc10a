"""Accumulated accuracy of a run over time (paper 002, figure 5), with corrections by Γ and without."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.simulate import Simulated
from tailrace.windows.sliding import Sliding

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def corrected_at(late: pd.DataFrame, gap_ms: int, pane_ms: int, end_ms: int) -> Ints:
    """Return the time at which each row's late tuples are corrected (paper 002, section 1.4).

    Rows that are left in the end are corrected at `end_ms`.

    Parameters
    ----------
    late : DataFrame
        `pane` and `arrived` (ms), in order of arrival.
    """
    pane, correction_ms = late["pane_start"].to_numpy(), np.full(len(late), end_ms)
    arrived, first = late["arrived"].to_numpy(), 0
    low = high = None
    for row in range(len(late)):
        low, high = (pane[row], pane[row]) if low is None else (min(low, pane[row]), max(high, pane[row]))
        if high - low + pane_ms > gap_ms:
            correction_ms[first : row + 1], first, low = arrived[row], row + 1, None
    return correction_ms


def accumulated(run: Simulated, windows: Sliding, at_ms: Ints, gap_ms: int | None) -> Floats:
    """Return the mean accuracy, 1 − relative error, of all windows closed at each time; for SUM over all keys.

    A correction adds the late tuples; it counts as done as soon as Γ is exceeded, and at the end of the stream. As
    deployed it takes longer.

    Parameters
    ----------
    at_ms : ndarray, shape (m,)
        Points of arrival time.
    gap_ms : int or None
        Γ; None: nothing is corrected.

    Returns
    -------
    ndarray, shape (m,)
        NaN where no window was closed yet.
    """
    streamed_answers = run.answers[["window_end", "value", "closed"]]
    answers = run.exact.merge(streamed_answers, how="left", on="window_end", suffixes=("", "_streamed"))
    answers = answers.sort_values("window_end", ignore_index=True)
    end, closed = answers["window_end"].to_numpy(), answers["closed"].to_numpy()
    value, exact = answers["value_streamed"].fillna(0.0).to_numpy(), answers["value"].to_numpy()
    late = run.late.sort_values("arrived", kind="stable", ignore_index=True)
    correction_ms = corrected_at(late, gap_ms or 0, windows.pane_ms, int(run.frontier.end[-1]))
    row, missed_end = windows.ends(late["pane_start"].to_numpy(), None, late["frontier"].to_numpy())
    index, late_total, known_ms = np.searchsorted(end, missed_end), late["total"].to_numpy()[row], correction_ms[row]
    accuracy = np.full(len(at_ms), np.nan)
    for i, now_ms in enumerate(at_ms):
        is_closed = closed <= now_ms
        if is_closed.any():
            is_corrected = (known_ms <= now_ms) & (gap_ms is not None)
            current = value + np.bincount(index[is_corrected], late_total[is_corrected], minlength=len(value))
            error = np.abs(current - exact) / np.where(exact == 0, 1.0, np.abs(exact))
            accuracy[i] = 1 - np.minimum(error[is_closed], 1.0).mean()
    return accuracy
