"""The table `quality`: errors of the streamed answers, compared with the latest versions, and the promised error.

A row covers a bucket of answers, whose horizon (a window's end, a pair's later time) lies in (bucket_start,
bucket_end], and one of their columns, named by `answer` (null if the kind measures answers as wholes). Answers are
compared with their latest versions, so an answer that is not corrected yet counts as right. Rows of promised columns
contain the promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.changed_answers import find_changed
from tailrace.answers.versions import without_retracted
from tailrace.disorder.policy import SlackPolicy
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import Floats, Ints, group
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import merge_ranges
from tailrace.ground.arrow.times import with_times
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.kind.column_errors import MeasuredByColumn, column_errors, promised_columns
from tailrace.kind.protocol import Kind, windowed
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage.checkpoint import require_begun
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.results import AnswerTables
from tailrace.storage.tables import Tables
from tailrace.storage.warehouses import Warehouse
from tailrace.tables.correction import QUALITY

OFF = 0.05
"""The error from which an answer is off, if the query's policy does not promise one."""

PROMISES = ("error", "risk", "accuracy")
"""Names of the settings in which policies state their promises."""

ROW = ("bucket_start", "answer")
"""The columns that identify a row."""

_DAY = 86_400_000
_LENGTHS = (10_000, 60_000, 600_000, 3_600_000, _DAY)
_SLIDES = 100  # least windows per bucket, as a share of fewer says little
AT_ONCE = 1_000_000  # approximate number of answers read together


@dataclass(frozen=True)
class Promise:
    """The promise of a policy: P(error ≥ `error`) ≤ `risk`, or 1 − the mean error is at least `accuracy`.

    None is not promised. `of` names the promised columns of answers, see `promised_columns`.
    """

    error: float | None = None
    risk: float | None = None
    accuracy: float | None = None
    of: tuple[str, ...] | None = None

    @property
    def is_given(self) -> bool:
        """True if something is promised."""
        return self.risk is not None or self.accuracy is not None

    def __str__(self) -> str:
        of = "" if self.of is None else f" of {', '.join(self.of)}"
        if self.accuracy is not None:
            return f"an accuracy{of} of at least {self.accuracy:g}"
        if self.error is not None and self.risk is not None:
            return f"that at most {self.risk:.2%} of the answers{of} are off by {self.error:g} or more"
        return "nothing" if self.error is None else f"an error{of} of less than {self.error:g}"

    @staticmethod
    def of_policy(policy: SlackPolicy) -> Promise:
        return Promise(**{name: getattr(policy, name, None) for name in (*PROMISES, "of")})


def bucket_ms(slide_ms: int) -> int:
    """Return the length of a bucket in ms: 10 s, 1 min, 10 min, 1 h, or some days."""
    least = _SLIDES * slide_ms
    return next((length for length in _LENGTHS if length >= least), -(-least // _DAY) * _DAY)


def put_quality(query: Query, kind: Kind, answers: AnswerTables, horizons: Ints, frontier: int) -> None:
    """Measure buckets, and replace their rows in the table.

    These are the buckets of the given horizons, whose answers were corrected, and all buckets from the newest one in
    the table up to F, as these may have new answers. F is the frontier at the correction's cut-off: answers that closed
    later are not corrected yet, and would count as right. The cost depends on the number of answers, not on the time
    between them.
    """
    length, tables = bucket_ms(windowed(kind).windows.slide_ms), answers.tables
    known = pc.max(tables.read("quality", ["bucket_start"])["bucket_start"]).as_py()
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
    part_of = (np.cumsum(many) - many) // AT_ONCE
    promise, measured = Promise.of_policy(query.policy), []
    for number in np.unique(part_of):
        part = buckets[part_of == number]
        versions = answers.versions(merge_ranges(part * length, (part + 1) * length))
        mine = np.isin((kind.answers.horizon(versions) - 1) // length, part)
        measured.append(measure(kind, select(versions, mine), length, promise))
    if measured:
        tables.put("quality", with_times(pa.concat_tables(measured), QUALITY.schema(), "quality"), ROW)


def measure(kind: Kind, versions: pa.Table, length_ms: int, promise: Promise) -> pa.Table:
    """Return the rows of the table for the buckets of some answers.

    Parameters
    ----------
    versions : Table
        All versions of the answers.
    length_ms : int
        The length of a bucket.
    """
    model = kind.answers
    streamed, latest = select(versions, ~versions["corrected"].to_numpy()), model.identity.latest(versions)
    exact = without_retracted(latest)
    errors = column_errors(kind, *(rows.select(kind.answer.names) for rows in (streamed, exact)))
    answers = model.identity.first_rows(latest)
    index = model.identity.find(answers, streamed)
    is_streamed, is_retracted = index >= 0, answers[RETRACTED].to_numpy()
    counted = is_streamed | ~is_retracted  # other answers were added by one correction and retracted by another
    answers, index, is_streamed = select(answers, counted), index[counted], is_streamed[counted]
    k_ms = np.append(streamed["k_ms"].to_numpy().astype(float), np.nan)[index]  # −1 reads the appended value
    is_changed = find_changed(model.identity, model.row_identity, kind.answer, exact, streamed)
    is_corrected = is_streamed & np.append(is_changed, True)[model.identity.find(answers, exact)]  # −1 means retracted
    has_k = ~np.isnan(k_ms)
    horizon_bucket = (model.horizon(answers) - 1) // length_ms
    bucket, (count, corrected, missing, with_k, k_sum) = group(
        horizon_bucket,
        *((column.astype(np.int64), "sum") for column in (is_streamed, is_corrected, ~is_streamed, has_k)),
        (np.where(has_k, k_ms, 0.0), "sum"),
    )
    start = bucket * length_ms
    with np.errstate(invalid="ignore"):
        mean_k_ms = pa.array(k_sum / with_k, mask=with_k == 0)
    counts = {
        # Limited to printable times, as buckets may be centuries long.
        "bucket_start": np.clip(start, EARLIEST_MS, LATEST_MS),
        "bucket_end": np.clip(start + length_ms, EARLIEST_MS, LATEST_MS),
        "answers": count,
        "corrected": corrected,
        "missing": missing,
        "mean_k_ms": mean_k_ms,
    }
    error_index, promised = model.identity.find(answers, errors.identity), promised_columns(kind, promise.of)
    parts = []
    for name, of_exact in errors.by_column.items():
        # `errors` has no row for a retracted answer: nothing of it is right, so its error is 1.
        error, own = np.append(of_exact, 1.0)[error_index], promise if name in promised else Promise()
        answer = {"answer": pa.repeat(pa.scalar(name, pa.string()), len(bucket))}
        parts.append(pa.table(counts | answer | _errors_by_bucket(horizon_bucket, error, count + missing, own)))
    return pa.concat_tables(parts)


def _errors_by_bucket(bucket: Ints, error: Floats, counted: Ints, promise: Promise) -> dict[str, Any]:
    """Return the columns of the table that are computed from the errors of answers, by bucket."""
    least = OFF if promise.error is None else promise.error
    _, (off, error_sum, worst) = group(
        bucket, ((error >= least).astype(np.int64), "sum"), (np.minimum(error, 1.0), "sum"), (error, "max")
    )
    measured = {"off": off, "share": off / counted, "mean_error": error_sum / counted, "worst_error": worst}
    return measured | {name: pa.repeat(pa.scalar(getattr(promise, name), pa.float64()), len(off)) for name in PROMISES}


def read_quality(query: Query, warehouse: Warehouse) -> tuple[pa.Table, list[str]]:
    """Return the table ordered by time and column of answers, and the names of its columns.

    It is empty before the first correction.
    """
    tables = OpenedTables(Layout.for_query(warehouse, query.name))
    kind = build(query)
    require_begun(tables, query)
    return _in_order(tables, kind.names if isinstance(kind, MeasuredByColumn) else None)


def read_named_quality(layout: Layout) -> tuple[pa.Table, list[str]]:
    """Return the table like `read_quality`, for a query whose declaration is not available."""
    tables = OpenedTables(layout)
    rows, names = _in_order(tables, ())
    answers = pc.unique(rows["answer"].drop_null()).to_pylist()
    if not answers:
        return rows.drop_columns(["answer"]), [name for name in names if name != "answer"]
    manifest = layout.manifest()
    declared = [] if manifest is None else manifest.structure.get("aggregate.order", [])
    return _in_order(tables, [*declared, *answers])


def _in_order(tables: Tables, answers: Sequence[str] | None) -> tuple[pa.Table, list[str]]:
    """Return the table ordered by time and by columns of answers (None if answers are measured as wholes)."""
    rows = tables.read_or_empty(QUALITY)
    if answers is None:
        columns = [name for name in QUALITY.columns if name != "answer"]
        return rows.sort_by("bucket_start").select(columns), columns
    order = rows.append_column("order", pc.index_in(rows["answer"], pa.array(answers, pa.string())))
    by_time = order.sort_by([(name, "ascending") for name in ("bucket_start", "order")])
    return by_time.select([*QUALITY.columns]), [*QUALITY.columns]
