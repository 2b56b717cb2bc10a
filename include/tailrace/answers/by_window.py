"""Answers by key and window: the windows that a late tuple missed, and the version of an answer that counts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tailrace.windows.sliding import Sliding

WINDOW = ["key", "window_start", "window_end"]
"""The columns that identify an answer."""


def missed_by_window(late: pd.DataFrame, windows: Sliding) -> pd.DataFrame:
    """Repeat each row of the table `late` for every window that it missed, with `window_start` and `window_end`.

    These are the windows over its pane that end at or before its `frontier` (the watermark before its tick).
    """
    row, end = windows.ends(late["pane_start"].to_numpy(np.int64), None, late["frontier"].to_numpy(np.int64))
    return late.iloc[row].assign(window_start=end - windows.size_ms, window_end=end).reset_index(drop=True)


def latest_versions(versions: pd.DataFrame) -> pd.DataFrame:
    """Select the version of each window with the greatest as_of, on a tie a correction's; retracted ones too.

    A version may consist of several rows; all of them are selected.
    """
    ordered = versions.sort_values(["as_of", "corrected"], kind="stable", ignore_index=True)
    version = [name for name in (*WINDOW, "as_of", "corrected", "interval") if name in ordered]
    version_id = ordered.groupby(version, dropna=False, sort=False).ngroup()
    return ordered[version_id.isin(version_id[~ordered.duplicated(WINDOW, keep="last")])]
