"""Answers by key and window: which windows a late tuple missed, and which version of an answer counts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tailrace.windows.sliding import Sliding

WINDOW = ["key", "window_start", "window_end"]
"""The columns that identify an answer."""


def missed_by_window(late: pd.DataFrame, windows: Sliding) -> pd.DataFrame:
    """The rows of the table `late`, each once for every window that it missed: over its pane, closed by `frontier`.

    Columns beside the given ones: `window_start`, `window_end`.
    """
    row, end = windows.ends(late["pane_start"].to_numpy(np.int64), None, late["frontier"].to_numpy(np.int64))
    return late.iloc[row].assign(window_start=end - windows.size_ms, window_end=end).reset_index(drop=True)


def latest_versions(versions: pd.DataFrame) -> pd.DataFrame:
    """The version of each window with the greatest as_of, on a tie a correction's; retracted ones too.

    A version may be of several rows, and is taken as a whole.
    """
    ordered = versions.sort_values(["as_of", "corrected"], kind="stable", ignore_index=True)
    version = [name for name in (*WINDOW, "as_of", "corrected", "interval") if name in ordered]
    whole = ordered.groupby(version, dropna=False, sort=False).ngroup()
    return ordered[whole.isin(whole[~ordered.duplicated(WINDOW, keep="last")])]
