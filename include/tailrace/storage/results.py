"""Reads a query's answers: the latest version of each window, with its coverage. No Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tailrace.answers.by_window import latest_versions, missed_by_window
from tailrace.ground.frames import frame
from tailrace.ground.ranges import Ints, Ranges, coarsen_ranges
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage.checkpoint import readable
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables, within_any
from tailrace.windows.sliding import Sliding

_MAX_RANGES = 16  # in one condition on a table; of more, the nearest are merged


@dataclass(frozen=True)
class AnswerTables:
    """The answers in a query's tables `results` and `corrections`; times are integer milliseconds."""

    tables: Tables
    windows: Sliding

    def streamed(self, ends: Ranges | None = None) -> pd.DataFrame:
        """The stream's answers, uncorrected: all, or those of windows that end in (low, high], and some others."""
        return self._read("results", ends).assign(corrected=False, retracted=False)

    def versions(self, ends: Ranges | None = None) -> pd.DataFrame:
        """All versions, the stream's and the corrections' (column `corrected`); ranges as in `streamed`."""
        streamed = self.streamed(ends)
        try:
            corrected = self._read("corrections", ends).assign(corrected=True)
        except FileNotFoundError:  # nothing was ever corrected
            return streamed
        return pd.concat([part for part in (streamed, corrected) if len(part)] or [streamed], ignore_index=True)

    def ends(self, ends: Ranges) -> Ints:
        """The ends of windows in ranges (low, high], and some others: one for each row of any version."""
        names = [name for name in ("results", "corrections") if self.tables.has(name)]
        where = _end_condition(ends)
        rows = [self.tables.read(name, ["window_end"], where).column("window_end").to_numpy() for name in names]
        return np.concatenate(rows)

    def _read(self, name: str, ends: Ranges | None) -> pd.DataFrame:
        return frame(self.tables.read(name, where=None if ends is None else _end_condition(ends)))

    def latest(self) -> pd.DataFrame:
        """The latest version of each window, without retracted answers."""
        newest = latest_versions(self.versions())
        return newest[~newest["retracted"].astype(bool)]

    def late(self, events: Ranges) -> pd.DataFrame:
        """Rows of the table `late`: all whose pane starts in one of the ranges of event time, and some others."""
        low, high = coarsen_ranges(events, _MAX_RANGES)
        return frame(self.tables.read("late", where=within_any("pane_start", *_as_lists((low - 1, high - 1)))))

    def with_coverage(self, answers: pd.DataFrame) -> pd.DataFrame:
        """Add coverage = tuples / (tuples + those late for the window so far), and sort by window end, key and rank."""
        late = missed_by_window(frame(self.tables.read("late")), self.windows)
        late = late[["key", "window_end", "tuples", "arrived"]].rename(columns={"tuples": "missed"})
        versions = answers[["key", "window_end", "as_of", "corrected"]].drop_duplicates(["key", "window_end"])
        late_rows = versions.merge(late, on=["key", "window_end"])
        # A stream's answer lacks all late tuples; a correction holds those that arrived by its cut-off, its as_of.
        late_rows = late_rows[~late_rows["corrected"] | (late_rows["arrived"] > late_rows["as_of"])]
        sums = late_rows.groupby(["key", "window_end"], dropna=False)["missed"].sum().reset_index()
        sums["key"] = sums["key"].astype(answers["key"].dtype)  # pandas makes numbers of keys that are all null
        answers = answers.merge(sums, how="left", on=["key", "window_end"])
        missing = answers.pop("missed").fillna(0).to_numpy(np.float64)
        answers = answers.assign(coverage=answers["tuples"] / (answers["tuples"] + missing))
        order = [name for name in ("window_end", "key", "rank") if name in answers]
        return answers.sort_values(order, kind="stable", ignore_index=True)


def read_answers(query: Query, warehouse: Path, streamed: bool) -> tuple[pd.DataFrame, list[str]]:
    """Read a query's answers with coverage, sorted by window end and key; returns them and the columns for users.

    Parameters
    ----------
    streamed : bool
        True: the answers as the stream gave them; False: the latest version of each window.
    """
    layout = Layout.of(warehouse, query.name)
    kind, tables = build(query), Tables(layout)
    readable(layout, query)
    columns = [name for name in kind.answer.names if name != "tuples"] + ["tuples", "coverage", "k_ms", "as_of"]
    try:
        answers = AnswerTables(tables, kind.windows)
        rows = answers.streamed() if streamed else answers.latest()
        return answers.with_coverage(rows).astype({"k_ms": "Int64"}), columns  # null where the stream gave no answer
    except FileNotFoundError:  # the query never ran here, so it has no answers yet
        return pd.DataFrame(columns=columns), columns


def _end_condition(ranges: Ranges) -> Any:
    """The condition that a window ends in one of some ranges (low, high], or near one."""
    return within_any("window_end", *_as_lists(coarsen_ranges(ranges, _MAX_RANGES)))


def _as_lists(ranges: Ranges) -> tuple[list[int], list[int]]:
    return ranges[0].tolist(), ranges[1].tolist()
