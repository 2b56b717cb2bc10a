"""A join's batch costs what it brings: over a state thirty times larger it writes, checks and allocates as much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from tailrace.disorder.policies import policy_of
from tailrace.engine import chunk_stores
from tailrace.engine.chunk_stores import ChunkFiles
from tailrace.operators import chunked_rows
from tailrace.query.declared import declared_query

SIDES = ("left", "right")
BATCH, FULL, BINS = 128, 256, 128
SMALL, TIMES = 2, 30
"""The batches of a small state, a multiple of those that fill a chunk; and how many times as many a large one has."""

NEAR = {"geometry": {side: {"x": "x", "y": "y"} for side in SIDES}, "crs": "planar", "relation": "dwithin"}
NEAR |= {"distance": 0.05, "extent": [0.0, 0.0, 99.0, 99.0], "select": ["left.note", "right.note"]}
KINDS = {
    "interval": {
        "kind": "spatial_join",
        "spatial_join": NEAR | {"join": "interval", "interval": {"lower": "-1 h", "upper": "1 h"}},
    },
    "window": {
        "kind": "spatial_join",
        "spatial_join": NEAR | {"join": "window"},
        "window": {"size": "1 h", "slide": "1 h"},
    },
    "emd_join": {
        "kind": "emd_join",
        "window": {"size": "1 h"},
        "emd_join": {"threshold": 1e-9, "histogram": "hist", "ground_distance": "line", "bins": BINS, "span": 4}
        | {"feedback": "1 h"},
    },
}


def rows(side: str, count: int) -> pa.Table:
    """Tuples a millisecond apart, some kilobyte each, of which a few match."""
    draw = np.random.default_rng(len(side))
    times = 1_600_000_200_000 + np.arange(count)
    alike = np.random.default_rng(0).dirichlet(np.full(BINS, 0.1), count)
    masses = np.where(np.arange(count)[:, None] % 64, draw.dirichlet(np.full(BINS, 0.1), count), alike)
    columns = {
        "id": [f"{side}{number}" for number in range(count)],
        "event_time": times,
        "arrival_time": times,
        "x": draw.uniform(0, 99, count),
        "y": draw.uniform(0, 99, count),
        "note": [f"{number:01000d}" for number in range(count)],
        "hist": pa.ListArray.from_arrays(np.arange(count + 1) * BINS, masses.ravel()),
    }
    return pa.table(columns)


class Costs:
    """Bytes that were written to the state, compared with their checksum, and allocated by Arrow, so far."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.written = self.checked = 0
        write, check = chunk_stores.write_atomically, chunk_stores._require_sum

        def count_written(file, content):
            self.written += len(content)
            write(file, content)

        def count_checked(content):
            self.checked += content.size
            check(content)

        patch.setattr(chunk_stores, "write_atomically", count_written)
        patch.setattr(chunk_stores, "_require_sum", count_checked)

    def read(self) -> np.ndarray:
        return np.array([self.written, self.checked, pa.default_memory_pool().total_bytes_allocated()])


def batches(kind: str, count: int, directory: Path) -> Iterator[int]:
    """Run so many batches of a join and its end, with the state in files after each; give the pairs of each."""
    columns = {name: name for name in ("event_time", "arrival_time", "id")}
    source = {"source": {"format": "parquet", "path": "x"}} | columns
    query = declared_query(
        {"name": "costs", "streams": dict.fromkeys(SIDES, source), "parallelism": 1}
        | {"disorder": {"policy": "none", "tick": "1 ms"}}
        | KINDS[kind]
    )
    formats = {side: MemoryFormat({side: rows(side, count * BATCH)}) for side in SIDES}
    engine = LocalEngine(pipeline_in_memory(query, formats))
    engine.tasks = [replace(engine.tasks[0], store=ChunkFiles(directory))]
    logs = [formats[side].segments(side, range(0, count * BATCH, BATCH)) for side in SIDES]
    for number in range(count):
        mine = [replace(log[number], ordinal=2 * number + side) for side, log in enumerate(logs)]
        yield _pairs(engine.batch(policy_of({"policy": "none"}), mine))
    yield _pairs(engine.batch(policy_of({"policy": "none"}), closes=True, ends=True))


def _pairs(found: dict[str, pa.Table]) -> int:
    return found["results"].num_rows if "results" in found else 0


@pytest.mark.needs("long")
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_over_a_large_state_costs_what_one_over_a_small_state_does(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(chunked_rows, "FULL", FULL)
    monkeypatch.setattr(chunked_rows, "FULL_BYTES", 0)
    costs, spent, chunks, pairs = Costs(monkeypatch), [], [], 0
    small, large = SMALL, TIMES * SMALL
    for found in batches(kind, large + SMALL, tmp_path):
        spent.append(costs.read())
        chunks.append(len(list(tmp_path.iterdir())))
        pairs += found
    of_small, of_large = (spent[first + SMALL - 1] - spent[first - 1] for first in (small, large))
    assert pairs
    assert chunks[large] >= 2 * large * BATCH // FULL, "the state is in many chunks"
    assert (of_small[:2] > 2 * SMALL * BATCH * 1000).all()
    assert of_large[:2] == pytest.approx(of_small[:2], rel=0.02), "what is written, and what is checked"
    assert of_large[2] < 1.5 * of_small[2], "what is allocated"
