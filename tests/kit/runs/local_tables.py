"""A query's tables as a stream writes them, without Spark: pipeline and tasks in process, real files, real tables."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from bench.local_engine import LocalEngine
from kit.oracles.oracle import Settings, Tuple
from kit.runs.warehouse import make_query, write_files
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.pipeline import Pipeline
from tailrace.ground.arrow.times import TIME, with_times
from tailrace.query.query import Query
from tailrace.sources import history
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.segments import Segment
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import history_schemas, schemas, stream_tables
from tailrace.storage.tables import Tables
from tailrace.tables.stream import STREAM_TABLES, is_history


def stream_into_tables(
    directory: Path,
    settings: Settings,
    tuples: list[Tuple],
    bounds: list[int],
    flush: bool = True,
    kept: bool = False,
    **declared: object,
) -> Query:
    """The tuples between each two neighbouring bounds are a file, a segment and a batch; `kept`: history is, too."""
    write_files(tuples, directory / "in", bounds)
    key = "key" if any(t.key is not None for t in tuples) else None
    query = make_query(directory / "in", settings, key=key, **declared)
    layout = Layout.for_query(directory / "wh", query.name)
    files = sorted((directory / "in").iterdir())
    compiled, tables = CompiledQuery.declare(query), Tables(layout)
    types = {"readings": FORMATS["parquet"].types(files[0], compiled.sources["readings"])}
    layout.create_checkpoint(query.structure(), types, {})
    pipeline = compiled.bind(types).pipeline(layout.histories(query.streams))
    wanted = schemas(pipeline.kind) | {"history": history.FILES}
    if kept:
        pipeline = as_history(pipeline, layout)
        tables.create(history_schemas(pipeline.readers))
    tables.create({name: wanted[name] for name in STREAM_TABLES[1:]})
    engine = LocalEngine(pipeline)
    for batch, (file, (first, last)) in enumerate(zip(files, itertools.pairwise(bounds), strict=True)):
        closes = flush and batch == len(files) - 1
        segment = Segment(str(file), 0, last - first, batch, first, stream="readings")
        rows = engine.batch(query.policy, [segment], closes=closes, ends=closes)
        write(tables, rows, wanted, batch, datetime.now(UTC))
    return query


def write(tables: Tables, rows: dict[str, pa.Table], wanted: dict[str, pa.Schema], batch: int, now: datetime) -> None:
    """Append a batch to its tables, as the sink does."""
    for name in stream_tables(name for name in wanted if is_history(name)):
        if name in rows:
            part = rows[name]
            emitted = pa.array([now] * part.num_rows, TIME)
            part = part.append_column("emitted_at", emitted) if name == "results" else part
            tables.append(name, with_times(part, wanted[name]), "here", batch)


def as_history(pipeline: Pipeline, layout: Layout) -> Pipeline:
    """The pipeline of a source that keeps nothing itself."""
    (reader,) = pipeline.readers
    return replace(pipeline, readers=(replace(reader, history=layout.table("history")),))
