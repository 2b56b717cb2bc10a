"""The table `quality`: how far the streamed answers were from what is known by now, against what was promised.

A row is a bucket of windows, those that end in (bucket_start, bucket_end]. They are measured against their latest
versions, so a row is as true as the corrections have come: an answer that was not corrected counts as right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.answers.by_window import WINDOW, latest_versions
from tailrace.ground.frames import frame
from tailrace.ground.ranges import merge_ranges
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.kinds import Kind, build
from tailrace.query.query import Query
from tailrace.storage.checkpoint import readable
from tailrace.storage.layout import Layout
from tailrace.storage.results import AnswerTables
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables, with_times

OFF = 0.05
"""The error from which on an answer is off, where the query's policy promises none."""

PROMISES = ("error", "risk", "accuracy")
"""What policies promise, by the names of their settings."""

_DAY = 86_400_000
_LENGTHS = (10_000, 60_000, 600_000, 3_600_000, _DAY)
_SLIDES = 100  # make a bucket, at least: a share of fewer windows tells little
_AT_ONCE = 1_000_000  # answers, about, are read together

Ints = NDArray[np.int64]


def bucket_ms(slide_ms: int) -> int:
    """How long a bucket is: 10 s, 1 min, 10 min, 1 h, or some days."""
    least = _SLIDES * slide_ms
    return next((length for length in _LENGTHS if length >= least), -(-least // _DAY) * _DAY)


def put_quality(query: Query, kind: Kind, answers: AnswerTables, ends: Ints, frontier: int) -> None:
    """Measure buckets, and put them in the place of what the table has of them.

    They are those with windows of the given ends, which were corrected, and all from the newest one in the table on, up
    to F: answers may have come to it, and after it. The cost goes by the answers in them, however far apart they lie.
    """
    length, tables = bucket_ms(kind.windows.slide_ms), answers.tables
    known = pc.max(tables.read("quality", ["bucket_start"]).column("bucket_start")).as_py()
    corrected = np.unique((ends - 1) // length)
    if known is None and not len(corrected):
        return
    since = int(corrected[0]) if known is None else known // length
    last = max(since, (frontier - 1) // length)
    older = corrected[corrected < since]
    low, high = np.append(older, since) * length, np.append(older, last) * length + length
    bucket = (answers.ends(merge_ranges(low, high)) - 1) // length
    wanted = np.isin(bucket, older) | ((bucket >= since) & (bucket <= last))
    buckets, many = np.unique(bucket[wanted], return_counts=True)
    part_of = (np.cumsum(many) - many) // _AT_ONCE
    promise = {name: getattr(query.policy, name, None) for name in PROMISES}
    found = []
    for number in np.unique(part_of):
        part = buckets[part_of == number]
        versions = answers.versions(merge_ranges(part * length, (part + 1) * length))
        mine = np.isin((versions["window_end"].to_numpy(np.int64) - 1) // length, part)
        found.append(measure(kind, versions[mine], length, promise))
    if found:
        rows = pa.Table.from_pandas(pd.concat(found), preserve_index=False)
        tables.put("quality", with_times(rows, schemas(kind.answer)["quality"]), "bucket_start")


def measure(kind: Kind, versions: pd.DataFrame, length_ms: int, promise: dict[str, float | None]) -> pd.DataFrame:
    """The rows of the table for the buckets of some windows.

    Parameters
    ----------
    versions : DataFrame
        All versions of their answers.
    length_ms : int
        Of a bucket.
    promise : dict
        `error` and `risk`: P(error ≥ `error`) ≤ `risk`; or `accuracy`: 1 − the mean error is at least so much. None for
        what is not promised.
    """
    least = OFF if promise["error"] is None else promise["error"]
    streamed, newest = versions[~versions["corrected"]], latest_versions(versions)
    latest = newest[~newest["retracted"].astype(bool)]
    measured = frame(kind.errors(_answers(kind, streamed), _answers(kind, latest)))
    there = streamed[[*WINDOW, "k_ms"]].drop_duplicates(WINDOW).assign(streamed=True)
    windows = newest[[*WINDOW, "corrected", "retracted"]].drop_duplicates(WINDOW).merge(there, how="left", on=WINDOW)
    windows = windows.merge(measured.rename(columns={"error": "wrong"}), how="left", on=WINDOW)
    there = windows["streamed"].notna()
    wrong = windows["wrong"].fillna(1.0)  # an answer that was taken back: nothing of it is right
    rows = pd.DataFrame(
        {
            "bucket": (windows["window_end"] - 1) // length_ms,
            "answers": there,
            "corrected": there & windows["corrected"].astype(bool),
            "missing": ~there,
            "off": wrong >= least,
            "mean_error": wrong.clip(upper=1.0),
            "worst_error": wrong,
            "mean_k_ms": windows["k_ms"].astype(float),
        }
    )
    rows = rows[there | ~windows["retracted"].astype(bool)]  # what the stream did not answer, and is not
    means, counts = ("mean_error", "mean_k_ms"), ("answers", "corrected", "missing", "off")
    how = dict.fromkeys(counts, "sum") | dict.fromkeys(means, "mean") | {"worst_error": "max"}
    found = rows.groupby("bucket").agg(how).reset_index()
    start = found.pop("bucket") * length_ms
    share = found["off"] / (found["answers"] + found["missing"])
    ends = {"bucket_start": start, "bucket_end": start + length_ms}
    printed = {name: time.clip(EARLIEST_MS, LATEST_MS) for name, time in ends.items()}  # buckets may be centuries long
    return found.assign(**printed, share=share, **promise)


def read_quality(query: Query, warehouse: Path) -> tuple[pd.DataFrame, list[str]]:
    """The table in order of time, and its columns; empty where nothing was ever corrected."""
    layout = Layout.of(warehouse, query.name)
    kind, tables = build(query), Tables(layout)
    readable(layout, query)
    columns = schemas(kind.answer)["quality"].names
    if not tables.has("quality"):
        return pd.DataFrame(columns=columns), columns
    return tables.read("quality").to_pandas().sort_values("bucket_start", ignore_index=True), columns


def _answers(kind: Kind, rows: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(rows[kind.answer.names], kind.answer, preserve_index=False)
