"""The correction of late tuples: closed windows are evaluated anew over history, as later versions of their answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pyarrow as pa
from deltalake import DeltaTable

from tailrace.duration import format_duration, format_time
from tailrace.errors import refuse
from tailrace.query import Query
from tailrace.spark.batch import Evaluation, Log, buckets_for
from tailrace.spark.commits import Committed
from tailrace.spark.layout import Layout
from tailrace.spark.results import WINDOW, Answers
from tailrace.spark.session import session
from tailrace.spark.tables import CORRECTION_TABLES, Tables, schemas, with_times, within
from tailrace.spark.touched import Closed, Missed, Span, Touched
from tailrace.stage import Stage
from tailrace.streams.segments import Segment


@dataclass(frozen=True)
class Report:
    """What a correction did: its cut-off, the late tuples it is about, the answers it gave and those it took back."""

    interval: str
    as_of: int
    late: int
    answers: int
    retracted: int


def correct(query: Query, warehouse: Path, span: Span = Span()) -> Report:  # noqa: B008 (frozen)
    """Give closed windows their next version; run again, it replaces what it gave.

    A range of event time covers every closed window that overlaps it, as of all that is committed. An interval of
    arrival covers the windows that the late tuples in it missed, as of its end.

    Raises
    ------
    Refused
        When the query never ran here, another correction is running, an interval does not fit the ticks, or the
        stream has not committed up to its end.
    """
    layout = Layout.of(warehouse, query.name)
    origin = layout.origin()
    if origin is None:
        raise refuse(str(layout.home), "the query has never run in this warehouse", "tailrace run, first")
    layout.agree(origin, query.structure())
    started = datetime.now(UTC)
    stage, tables = Stage.of(query, origin.types, layout.table("history")), Tables(layout)
    wanted = schemas(stage.kind.answer)
    committed = _committed(layout)
    late = _late(tables, committed.until, span)
    as_of, touched = _plan(span, query, stage, committed, late)
    with layout.lock("correction"):
        tables.create(wanted, CORRECTION_TABLES)
        found = _evaluate(query, stage, tables, as_of, touched)
        rows = _versions(found, Answers(tables, stage.kind.windows), touched, str(span))
        rows = rows.assign(as_of=as_of, interval=str(span), emitted_at=started)
        table = with_times(pa.Table.from_pandas(rows, preserve_index=False), wanted["corrections"])
        tables.replace("corrections", table, "interval", str(span))
        retracted = int(rows["retracted"].sum())
        report = Report(str(span), as_of, int(late["tuples"].sum()), len(rows) - retracted, retracted)
        ledger = pa.Table.from_pylist([asdict(report) | {"started_at": started}])
        tables.add("correction_runs", with_times(ledger, wanted["correction_runs"]))
        tables.compact(CORRECTION_TABLES)
        return report


def _committed(layout: Layout) -> Committed:
    found = Committed.read(layout)
    if found is None:
        raise refuse(str(layout.home), "the stream has committed nothing yet", "tailrace run, first")
    return found


def _late(tables: Tables, until: int, span: Span) -> pd.DataFrame:
    """The tuples registered late up to a point of arrival time; those of an interval of arrival, if it is one."""
    low, high = (span.bounds[0], min(span.bounds[1], until)) if span.arrival else (0, until)
    return tables.read("late", where=within("arrived", low, high)).to_pandas()


def _plan(span: Span, query: Query, stage: Stage, committed: Committed, late: pd.DataFrame) -> tuple[int, Touched]:
    """The cut-off, and the windows to be covered; `late` are the tuples that the span is about."""
    if span.bounds[0] >= span.bounds[1]:
        raise refuse(str(span), "its end is not after its start", "an end after the start")
    if not span.arrival:
        return committed.until, Closed(span, stage.kind.windows, committed.frontier)
    if span.start is None or span.end is None:
        raise refuse("interval of arrival", f"{span} is open", "a start and an end")
    for point in (span.start, span.end):
        if query.tick_ms and point % query.tick_ms:
            before, tick = point // query.tick_ms * query.tick_ms, format_duration(query.tick_ms)
            right = f"{format_time(before)} or {format_time(before + query.tick_ms)}"
            raise refuse("interval of arrival", f"{format_time(point)} is no multiple of the tick, {tick}", right)
    if span.end > committed.until and not committed.ended:
        wrong = f"the stream has committed up to {format_time(committed.until)} only"
        raise refuse("interval of arrival", wrong, "an end up to there; or to let the stream go on, and try again")
    return min(span.end, committed.until), Missed.by(late, stage.kind.windows)


def _evaluate(query: Query, stage: Stage, tables: Tables, as_of: int, touched: Touched) -> pd.DataFrame:
    """The answers of these windows over all that arrived before the cut-off."""
    log, events, empty = _log(stage, tables), touched.events(), stage.kind.answer.empty_table().to_pandas()
    if not log.rows or events is None:
        return empty
    buckets = buckets_for(log, query.parallelism)
    with session(f"tailrace correct {query.name}", buckets) as spark:
        parts = Evaluation(stage, log, as_of, events, touched).run(spark, buckets)
    return pa.Table.from_batches(parts, stage.kind.answer).to_pandas()


def _log(stage: Stage, tables: Tables) -> Log:
    read = tables.read("segments").to_pandas().sort_values("ordinal")
    segments = [
        Segment(
            row.path,
            row.first_row,
            row.rows,
            row.ordinal,
            row.position,
            None if pd.isna(row.ingested_ms) else int(row.ingested_ms),
        )
        for row in read.itertuples()
    ]
    files = [] if stage.history is None else [unquote(uri) for uri in DeltaTable(stage.history).file_uris()]
    position, before_tick, before_end = (read[name].to_numpy() for name in ("position", "before_tick", "before_end"))
    return Log(segments, position, before_tick, before_end, files)


def _versions(found: pd.DataFrame, answers: Answers, touched: Touched, interval: str) -> pd.DataFrame:
    """The new answers, K and facts as the stream had them, and the retraction of those that nothing is left of.

    What is retracted is looked for among all versions but those of the same interval, which these replace.
    """
    versions = answers.versions(touched.events() or (0, 0))
    streamed = versions[~versions["corrected"]]
    rows = found.merge(streamed[[*WINDOW, "k_ms", "facts_version"]], how="left", on=WINDOW).assign(retracted=False)
    others = versions[(versions.get("interval") != interval) & ~versions["retracted"].astype(bool)]
    earlier = others[touched.among(others)].drop_duplicates(WINDOW, keep="last")
    gone = earlier.merge(found[WINDOW], how="left", on=WINDOW, indicator=True)
    gone = gone[gone["_merge"] == "left_only"].assign(retracted=True, tuples=0)
    kept = [part for part in (rows, gone[rows.columns]) if len(part)] or [rows]
    return pd.concat(kept, ignore_index=True).astype({"k_ms": "Int64", "facts_version": "Int64"})
