"""The next versions of windows, from the tables' rows: which answers need what was late only, which are made anew."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from tailrace.answers.by_window import WINDOW, missed_by_window
from tailrace.correction.affected_windows import AffectedWindows, MissedWindows
from tailrace.correction.history_scan import HistoryScan
from tailrace.ground.frames import frame
from tailrace.kinds import Kind
from tailrace.storage.results import AnswerTables


def revise(
    past: HistoryScan, answers: AnswerTables, touched: AffectedWindows, before: int, interval: str
) -> pd.DataFrame:
    """The rows of `corrections` for these windows, as of a cut-off: that of `past`."""
    ranges = touched.ranges()
    versions, late = answers.versions(ranges), answers.late(ranges)
    versions = versions[touched.contains(versions)]
    streamed = versions[~versions["corrected"]]
    found = next_answers(past.stage.kind, past, streamed, late, touched, before)
    return next_versions(found, versions, interval).assign(as_of=before, interval=interval)


def next_answers(
    kind: Kind, past: HistoryScan, streamed: pd.DataFrame, late: pd.DataFrame, touched: AffectedWindows, before: int
) -> pd.DataFrame:
    """The answers of these windows over all that arrived before a cut-off, without repeats.

    A sum needs no re-read to be corrected (errata on paper 002, 2nd point): where no tuple of a window is a repeat, the
    kind may amend what the stream answered by all late tuples that missed it. Other windows are evaluated anew. Nothing
    is ever subtracted: the value of a repeat may be so large that no digit of the rest is left.

    Parameters
    ----------
    streamed : DataFrame
        The stream's answers to these windows.
    late : DataFrame
        As in the table: at least the rows that missed one of these windows.
    before : int
        The cut-off, in ms; that of `past`.
    """
    missed = missed_by_window(late[late["arrived"] <= before], kind.windows)
    missed = missed[touched.contains(missed)]
    windows = pd.concat([part[WINDOW] for part in (streamed, missed) if len(part)] or [missed[WINDOW]])
    if windows.empty:
        return frame(kind.answer.empty_table())
    amended = pa.Table.from_batches([kind.amend(_table(streamed, kind.answer), _table(missed, _late(kind)))])
    if not amended.num_rows:
        return frame(past.evaluate(touched))
    given = frame(amended)
    repeats = frame(past.windows_with_repeats(MissedWindows.of(given, kind.windows)))
    sure = ~MissedWindows.of(repeats, kind.windows).contains(given)
    rest = MissedWindows.of(windows[~MissedWindows.of(given[sure], kind.windows).contains(windows)], kind.windows)
    anew = [past.evaluate(rest)] if len(rest.windows) else []
    return frame(pa.concat_tables([amended.filter(pa.array(sure)), *anew]))


def next_versions(found: pd.DataFrame, versions: pd.DataFrame, interval: str) -> pd.DataFrame:
    """The new answers, K and facts as the stream had them, and the retraction of those that nothing is left of.

    Parameters
    ----------
    found : DataFrame
        The answers of the windows that are corrected.
    versions : DataFrame
        All versions of these windows. Those of the same interval are going to be replaced, and so are not retracted.
    """
    streamed = versions[~versions["corrected"]]
    stamps = streamed[[*WINDOW, "k_ms", "facts_version"]].drop_duplicates(WINDOW)
    rows = found.merge(stamps, how="left", on=WINDOW).assign(retracted=False)
    mine = versions.get("interval", pd.Series(None, versions.index, object)) == interval
    others = versions[~mine.fillna(False).astype(bool) & ~versions["retracted"].astype(bool)]  # the stream's have none
    earlier = others.drop_duplicates(WINDOW, keep="last")
    gone = earlier.merge(found[WINDOW], how="left", on=WINDOW, indicator=True)
    gone = gone[gone["_merge"] == "left_only"].assign(retracted=True, tuples=0)
    kept = [part for part in (rows, gone[rows.columns]) if len(part)] or [rows]
    return pd.concat(kept, ignore_index=True).astype({"k_ms": "Int64", "facts_version": "Int64"})


def _late(kind: Kind) -> pa.Schema:
    numbers = [(name, pa.int64()) for name in ("window_start", "window_end", "tuples")]
    return pa.schema([kind.answer.field("key"), *numbers, ("total", pa.float64())])


def _table(rows: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pandas(rows[schema.names], schema, preserve_index=False)
