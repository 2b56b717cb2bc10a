"""A query is compiled once: one kind as declared, and one by the types of its sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tailrace.engine import compiled_query
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions

TYPES = {"s": {"at": "int64", "came": "int64", "id": "string", "v": "double"}}


def query_of(directory: Path) -> Query:
    stream = {"source": {"format": "csv", "path": str(directory / "in.csv")}}
    stream |= {"event_time": "at", "arrival_time": "came", "id": "id"}
    declared = {"name": "q", "kind": "aggregate", "window": "1 s", "streams": {"s": stream}}
    return declared_query(declared | {"aggregate": {"total": {"function": "sum", "column": "v"}}})


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each kind that is built has the types of its sources."""
    builds: list[bool] = []

    def counted(query: Query, types: Sequence[ColumnTypes] | None = None) -> Kind:
        builds.append(types is not None)
        return build(query, types)

    monkeypatch.setattr(compiled_query, "build", counted)
    return builds


def test_a_new_bounded_run_builds_its_columns_and_its_kind_once(tmp_path: Path, built: list[bool]) -> None:
    rows = "".join(f"{second}000,{second}000,{second},1.5\n" for second in range(1, 9))
    (tmp_path / "in.csv").write_text("at,came,id,v\n" + rows)
    assert local_stream.run(query_of(tmp_path), tmp_path / "wh", RunOptions()) > 0
    assert built == [False, True]


def test_other_types_give_another_kind_of_the_same_columns(tmp_path: Path, built: list[bool]) -> None:
    declared = CompiledQuery.declare(query_of(tmp_path))
    compiled = declared.bind(TYPES)
    assert compiled.sources is declared.sources
    assert compiled.kind is compiled.bind({"s": {**TYPES["s"]}}).kind
    later = compiled.bind({"s": TYPES["s"] | {"v": "int64"}})
    assert later.kind != compiled.kind
    assert built == [False, True, True]
