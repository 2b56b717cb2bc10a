"""The table `quality`: the error of the streamed answers against the latest versions, and the promised one.

A row is a bucket of answers, those whose horizon (a window's end, a pair's later time) lies in (bucket_start,
bucket_end]. They are measured against their latest versions, so a row is as true as the corrections have come: an
answer that was not corrected counts as right.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.answers.versions import without_retracted
from tailrace.ground.columns import group
from tailrace.ground.matching import select
from tailrace.ground.ranges import merge_ranges
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.ground.times import in_ms, with_times
from tailrace.kind.protocol import Kind, windowed
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage.checkpoint import require_begun
from tailrace.storage.layout import Layout
from tailrace.storage.results import AnswerTables
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables
from tailrace.storage.warehouses import Warehouse

OFF = 0.05
"""The error from which on an answer is off, where the query's policy promises none."""

PROMISES = ("error", "risk", "accuracy")
"""Names of the settings in which policies state their promises."""

_DAY = 86_400_000
_LENGTHS = (10_000, 60_000, 600_000, 3_600_000, _DAY)
_SLIDES = 100  # make a bucket, at least: a share of fewer windows says little
_AT_ONCE = 1_000_000  # answers, about, are read together

Ints = NDArray[np.int64]


def bucket_ms(slide_ms: int) -> int:
    """The length of a bucket in ms: 10 s, 1 min, 10 min, 1 h, or some days."""
    least = _SLIDES * slide_ms
    return next((length for length in _LENGTHS if length >= least), -(-least // _DAY) * _DAY)


def put_quality(query: Query, kind: Kind, answers: AnswerTables, horizons: Ints, frontier: int) -> None:
    """Measure buckets, and put them in the place of what the table has of them.

    They are those with answers of the given horizons, which were corrected, and all from the newest one in the table
    on, up to F: answers may have come to it, and after it. F is the frontier at the correction's cut-off: what closed
    later is not corrected yet, and would count as right. The cost goes by the answers in them, however far apart they
    lie.
    """
    length, tables = bucket_ms(windowed(kind).windows.slide_ms), answers.tables
    known = pc.max(tables.read("quality", ["bucket_start"]).column("bucket_start")).as_py()
    corrected = np.unique((horizons - 1) // length)
    if known is None and not len(corrected):
        return
    since = int(corrected[0]) if known is None else known // length
    last = max(since, (frontier - 1) // length, *corrected[-1:].tolist())
    older = corrected[corrected < since]
    low, high = np.append(older, since) * length, np.append(older, last) * length + length
    bucket = (answers.ends(merge_ranges(low, high)) - 1) // length
    wanted = np.isin(bucket, older) | ((bucket >= since) & (bucket <= last))
    buckets, many = np.unique(bucket[wanted], return_counts=True)
    part_of = (np.cumsum(many) - many) // _AT_ONCE
    promise = {name: getattr(query.policy, name, None) for name in PROMISES}
    measured = []
    for number in np.unique(part_of):
        part = buckets[part_of == number]
        versions = answers.versions(merge_ranges(part * length, (part + 1) * length))
        mine = np.isin((kind.answers.horizon(versions) - 1) // length, part)
        measured.append(measure(kind, select(versions, mine), length, promise))
    if measured:
        rows = with_times(pa.concat_tables(measured), schemas(kind)["quality"])
        tables.put("quality", rows, "bucket_start")


def measure(kind: Kind, versions: pa.Table, length_ms: int, promise: dict[str, float | None]) -> pa.Table:
    """The rows of the table for the buckets of some answers.

    Parameters
    ----------
    versions : Table
        All their versions.
    length_ms : int
        Of a bucket.
    promise : dict
        `error` and `risk`: P(error ≥ `error`) ≤ `risk`; or `accuracy`: 1 − the mean error is at least so much. None for
        what is not promised.
    """
    model, least = kind.answers, OFF if promise["error"] is None else promise["error"]
    streamed, latest = select(versions, ~versions["corrected"].to_numpy()), model.identity.latest(versions)
    exact = without_retracted(latest)
    errors = kind.errors(*(rows.select(kind.answer.names) for rows in (streamed, exact)))
    answers = model.identity.first_rows(latest)
    place = model.identity.find(answers, streamed)
    is_streamed, is_retracted = place >= 0, answers["retracted"].to_numpy()
    counted = is_streamed | ~is_retracted  # the others came with a correction and went with another
    answers, place, is_streamed = select(answers, counted), place[counted], is_streamed[counted]
    # `errors` has no row of an answer that was taken back; nothing of it is right, so its error is 1.
    error = np.append(np.asarray(errors.column("error")), 1.0)[model.identity.find(answers, errors)]
    k_ms = np.append(streamed["k_ms"].to_numpy().astype(float), np.nan)[place]  # −1 takes what was appended
    is_corrected = is_streamed & answers["corrected"].to_numpy()
    has_k = ~np.isnan(k_ms)
    counts = (is_streamed, is_corrected, ~is_streamed, error >= least, has_k)
    bucket, (count, corrected, missing, off, with_k, error_sum, k_sum, worst) = group(
        (model.horizon(answers) - 1) // length_ms,
        *((column.astype(np.int64), "sum") for column in counts),
        (np.minimum(error, 1.0), "sum"),
        (np.where(has_k, k_ms, 0.0), "sum"),
        (error, "max"),
    )
    start = bucket * length_ms
    with np.errstate(invalid="ignore"):
        mean_k_ms = pa.array(k_sum / with_k, mask=with_k == 0)
    columns = {
        # Printable, as buckets may be centuries long.
        "bucket_start": np.clip(start, EARLIEST_MS, LATEST_MS),
        "bucket_end": np.clip(start + length_ms, EARLIEST_MS, LATEST_MS),
        "answers": count,
        "corrected": corrected,
        "missing": missing,
        "off": off,
        "share": off / (count + missing),
        "mean_error": error_sum / (count + missing),
        "worst_error": worst,
        "mean_k_ms": mean_k_ms,
    }
    return pa.table(
        columns | {name: pa.repeat(pa.scalar(value, pa.float64()), len(start)) for name, value in promise.items()}
    )


def read_quality(query: Query, warehouse: Warehouse) -> tuple[pa.Table, list[str]]:
    """The table in order of time, and its columns; empty where nothing was ever corrected."""
    layout = Layout.of(warehouse, query.name)
    schema, tables = schemas(build(query))["quality"], Tables(layout)
    require_begun(layout, query)
    rows = tables.read("quality") if tables.has("quality") else in_ms(schema.empty_table())
    return rows.sort_by("bucket_start"), schema.names
