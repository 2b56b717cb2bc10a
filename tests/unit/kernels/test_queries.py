"""Queries give the same messages, states and answers with compiled kernels and without, whatever their kind."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.local_engine import LocalEngine
from kit.draws.kernel_forms import compiled_form, numpy_form
from kit.draws.kind_samples import query_of
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.next_facts import DECLARED, next_facts
from tailrace.engine.pipeline import Pipeline, PreparedSegment
from tailrace.ground.arrow import wire
from tailrace.kernels import library
from tailrace.kernels.code_cache import CodeCache
from tailrace.kernels.library import Library
from tailrace.kernels.registry import KERNELS
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.segments import Segment

START_MS, ROWS, ROWS_OF_GROUP = 1_600_000_000_000, 40_000, 20_000
YEARS_20_MS = 20 * 365 * 86_400_000
SAMPLES = ("sum", "count", "min", "median", "topk")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tuples of 30 keys and of none, in disorder, in two row groups; some are wrong, and one is twenty years old."""
    draw = np.random.default_rng(1)
    arrival = START_MS + np.sort(draw.integers(0, 3000, ROWS))
    event = arrival - draw.exponential(200, ROWS).astype(np.int64)
    event[[70, 71, 30_000]] = START_MS - YEARS_20_MS, START_MS + 10 * YEARS_20_MS, START_MS - YEARS_20_MS
    value = draw.normal(size=ROWS) * 10.0 ** draw.integers(-9, 9, ROWS)
    value[[5, 6, 35_000]] = np.nan, np.inf, -np.inf
    keys = [f"k{key}" for key in draw.integers(0, 30, ROWS)]
    keys[9] = keys[33_000] = None
    table = {"event_time": event, "arrival_time": arrival, "id": [f"{i:05d}" for i in range(ROWS)], "key": keys}
    path = tmp_path_factory.mktemp("stream") / "part.parquet"
    pq.write_table(pa.table(table | {"value": value}), path, row_group_size=ROWS_OF_GROUP)
    return path


def pipeline_of(name: str, file: Path) -> tuple[Pipeline, list[Segment], BatchHeader]:
    """The pipeline of a sample over the file with the file's segments, and the header of the first batch."""
    query, files = query_of(name), FORMATS["parquet"]
    types = files.types(file, CompiledQuery.declare(query).sources["readings"])
    pipeline = replace(CompiledQuery.declare(query).bind({"readings": types}).pipeline({"readings": Path()}), tasks=2)
    segments = [
        Segment(str(file), first, ROWS_OF_GROUP, number, first, stream="readings", of_rows=ROWS)
        for number, first in enumerate(range(0, ROWS, ROWS_OF_GROUP))
    ]
    return pipeline, segments, BatchHeader(0, next_facts((), query.policy, DECLARED, None, pipeline.kind, 0))


def as_values(segment: PreparedSegment) -> dict[str, Any]:
    """A prepared segment as values; of doubles, the bits."""
    batches = segment.statistics | segment.tables | {f"rows {i}": rows for i, rows in enumerate(segment.rows)}
    return segment.record | {name: wire.unpack(wire.pack({"": batch}))[0] for name, batch in batches.items()}


def run(name: str, file: Path) -> tuple[list[Any], list[bytes], dict[str, list[Any]]]:
    """The prepared segments, the states after a batch, and the rows that it gives to the tables."""
    pipeline, segments, header = pipeline_of(name, file)
    engine = LocalEngine(pipeline)
    prepared = engine.prepare(header, segments)
    tables = engine.deliver(header, prepared)
    states = [state.pack(task.store) for state, task in zip(engine.states, engine.tasks, strict=True)]
    rows = {table: tables[table].to_pylist() for table in ("results", "late", "quarantine") if table in tables}
    return list(map(as_values, prepared)), [*states, engine.clock_state.pack()], rows


@pytest.mark.parametrize("name", SAMPLES)
def test_both_forms_give_the_same_segments_states_and_rows(name: str, file: Path) -> None:
    with numpy_form():
        prepared, states, rows = run(name, file)
    with compiled_form():
        compiled_prepared, compiled_states, compiled_rows = run(name, file)
    assert len(rows["results"]) > 100
    assert len(rows["quarantine"]) == (1 if name == "count" else 4)
    for mine, right in zip(compiled_prepared, prepared, strict=True):
        assert mine == right
    assert compiled_states == states
    assert compiled_rows == rows


def test_a_query_runs_where_numba_is_not_installed(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with numpy_form():
        expected = run("sum", file)
    for name in ("numba", "llvmlite"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "llvmlite.binding", raising=False)
    without = Library(KERNELS, CodeCache((tmp_path,)), many_rows=0, worth_compiling=0)
    monkeypatch.setattr(library, "OF_PROCESS", without)
    assert run("sum", file) == expected
    assert not list(tmp_path.iterdir())


def test_keys_that_the_file_has_as_codes_and_as_texts_give_the_same(file: Path, tmp_path: Path) -> None:
    texts = tmp_path / "part.parquet"
    pq.write_table(pq.read_table(file), texts, row_group_size=ROWS_OF_GROUP, use_dictionary=False)
    both = [run("sum", each)[2] for each in (file, texts)]
    for rows in both:
        for row in rows["quarantine"]:
            del row["position"]  # it names the file
        rows["results"].sort(key=lambda row: (row["window_start"], row["key"] or ""))
    assert both[0]["results"] == both[1]["results"]
    assert both[0]["quarantine"] == both[1]["quarantine"]
