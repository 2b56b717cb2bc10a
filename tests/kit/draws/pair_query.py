"""A join of two streams that only reads them: where a test needs several streams, but no kind's answers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import Field

from tailrace.engine import compiled_query
from tailrace.kind.inputs import Input
from tailrace.query.joins import JoinQuery
from tailrace.windows.sliding import Sliding

STREAMS = ("left", "right")


class PairQuery(JoinQuery):
    """A join without settings, under the name of a kind that there is not."""

    kind: Literal["pairs"] = Field(description="the kind of query: pairs")


def pair_query(directory: Path, formats: dict[str, str] | None = None, **more: object) -> PairQuery:
    """A query over the directories `left` and `right`, of Parquet unless `formats` says another one."""
    streams = {
        name: {
            "source": {"format": (formats or {}).get(name, "parquet"), "path": str(directory / name)},
            **{column: column for column in ("event_time", "arrival_time", "id")},
        }
        for name in STREAMS
    }
    return PairQuery.model_validate({"name": "pairs", "kind": "pairs", "streams": streams} | more)


def use_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the columns of a `PairQuery` be known."""
    kind = SimpleNamespace(inputs=(Input(),) * 2, windows=Sliding(1_000, 1_000))
    monkeypatch.setattr(compiled_query, "build", lambda query: kind)


def write_rows(directory: Path, *ids: list[str]) -> None:
    """Write a file for each list of ids, named by its number."""
    directory.mkdir(exist_ok=True)
    for number, names in enumerate(ids):
        times = pa.array(range(len(names)), pa.timestamp("ms", "UTC"))
        table = pa.table({"event_time": times, "arrival_time": times, "id": pa.array(names, pa.string())})
        pq.write_table(table, directory / f"{number}.parquet")
