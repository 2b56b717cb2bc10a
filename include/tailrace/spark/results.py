"""Reading answers: the latest version of each window, with its coverage. No Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from tailrace.kinds import build
from tailrace.query import Query
from tailrace.spark.layout import Layout
from tailrace.spark.tables import Tables, within
from tailrace.windows.sliding import Sliding

WINDOW = ["key", "window_start", "window_end"]


@dataclass(frozen=True)
class Answers:
    """The answers of a query, as its tables hold them; times are integer milliseconds."""

    tables: Tables
    windows: Sliding

    def streamed(self, ends: tuple[int, int] | None = None) -> pd.DataFrame:
        """As the stream gave them; those of windows that end in (low, high], if a range is given."""
        return self._read("results", ends).assign(corrected=False, retracted=False)

    def versions(self, ends: tuple[int, int] | None = None) -> pd.DataFrame:
        """All versions, the stream's and the corrections'; column `corrected` tells which."""
        streamed = self.streamed(ends)
        try:
            corrected = self._read("corrections", ends).assign(corrected=True)
        except FileNotFoundError:  # nothing was ever corrected
            return streamed
        return pd.concat([part for part in (streamed, corrected) if len(part)] or [streamed])

    def _read(self, name: str, ends: tuple[int, int] | None) -> pd.DataFrame:
        where = None if ends is None else within("window_end", *ends)
        return self.tables.read(name, where=where).to_pandas()

    def latest(self) -> pd.DataFrame:
        """The version of each window with the greatest as_of, on a tie a correction's; without retracted answers."""
        ordered = self.versions().sort_values(["as_of", "corrected"], kind="stable")
        newest = ordered.drop_duplicates(WINDOW, keep="last")
        return newest[~newest["retracted"].astype(bool)]

    def with_coverage(self, answers: pd.DataFrame) -> pd.DataFrame:
        """The answers with coverage = tuples / (tuples + those that were late for them so far), in order."""
        late = self.tables.read("late").to_pandas()
        # A late row missed the windows over its pane that had closed before it.
        row, end = self.windows.ends(late["pane_start"].to_numpy(), None, late["frontier"].to_numpy())
        missed = late.iloc[row][["key", "tuples", "arrived"]].assign(window_end=end)
        missed = missed.rename(columns={"tuples": "missed"})
        after = answers[["key", "window_end", "as_of", "corrected"]].merge(missed, on=["key", "window_end"])
        # The stream's answer missed all of it; a correction has taken in what arrived before its cut-off.
        after = after[~after["corrected"] | (after["arrived"] > after["as_of"])]
        sums = after.groupby(["key", "window_end"], dropna=False)["missed"].sum().reset_index()
        sums["key"] = sums["key"].astype(answers["key"].dtype)  # without keys pandas would make them numbers
        answers = answers.merge(sums, how="left", on=["key", "window_end"])
        missing = answers.pop("missed").fillna(0).to_numpy(np.float64)
        answers = answers.assign(coverage=answers["tuples"] / (answers["tuples"] + missing))
        return answers.sort_values(["window_end", "key"], kind="stable", ignore_index=True)


def read_answers(query: Query, warehouse: Path, streamed: bool) -> tuple[pd.DataFrame, list[str]]:
    """A query's answers with their coverage, in order of window end and key, and the columns that users are given.

    Parameters
    ----------
    streamed : bool
        As the stream gave them; else the latest version of each window.
    """
    layout = Layout.of(warehouse, query.name)
    kind, tables, origin = build(query, pa.string()), Tables(layout), layout.origin()
    if origin is not None:
        layout.agree(origin, query.structure())
    columns = [name for name in kind.answer.names if name != "tuples"] + ["tuples", "coverage", "k_ms", "as_of"]
    try:
        answers = Answers(tables, kind.windows)
        found = answers.streamed() if streamed else answers.latest()
        return answers.with_coverage(found).astype({"k_ms": "Int64"}), columns  # null where the stream gave no answer
    except FileNotFoundError:  # it never ran here: no answers yet
        return pd.DataFrame(columns=columns), columns
