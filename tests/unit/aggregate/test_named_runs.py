"""Named aggregates over files: what is no number for a function, and what is checked before the first write."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.runs.local_driver import NOW, Driver
from tailrace.ground.errors import Unfit
from tailrace.query.declared import declared_query
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions


def query_over(directory: Path, disorder: dict[str, object] | None = None, **each: dict[str, str]):
    stream = {"source": {"format": "parquet", "path": str(directory / "in")}, "event_time": "at", "id": "id"}
    fields = {"name": "readings", "kind": "aggregate", "streams": {"readings": stream}, "window": {"size": "1 s"}}
    return declared_query(fields | {"aggregate": each, "disorder": disorder or {"policy": "none"}})


def write(directory: Path, values: list[float | None]) -> None:
    (directory / "in").mkdir()
    count = len(values)
    columns = {"at": pa.array([NOW - 5000] * count), "id": [f"t{number}" for number in range(count)]}
    pq.write_table(pa.table(columns | {"v": pa.array(values, pa.float64())}), directory / "in" / "part-0.parquet")


def test_a_null_is_skipped_and_nan_and_infinity_go_to_quarantine(tmp_path: Path) -> None:
    write(tmp_path, [1.5, None, float("nan"), float("inf"), -float("inf"), 2.5])
    query = query_over(tmp_path, total={"function": "sum", "column": "v"}, some={"function": "count", "column": "v"})
    driver = Driver(query, tmp_path / "wh")
    driver.run(flush=True)
    (answer,) = driver.tables.read("results", ["total", "some", "tuples"]).to_pylist()
    assert answer == {"total": 4.0, "some": 2, "tuples": 3}
    reasons = driver.tables.read("quarantine", ["reason"])["reason"].to_pylist()
    assert sorted(reasons) == ["v is NaN", "v is infinite", "v is infinite"]


def test_a_function_that_does_not_take_its_column_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    write(tmp_path, [1.0])
    query = query_over(tmp_path, total={"function": "sum", "column": "id"})
    with pytest.raises(Unfit, match="function sum takes numbers, and column id is of type string"):
        local_stream.run(query, tmp_path / "wh", RunOptions(live=False))
    assert not (tmp_path / "wh").exists() or not [*(tmp_path / "wh").rglob("*.parquet")]


def test_a_column_that_is_not_there_is_named_as_one_of_the_section(tmp_path: Path) -> None:
    write(tmp_path, [1.0])
    query = query_over(tmp_path, total={"function": "sum", "column": "w"})
    with pytest.raises(Unfit, match="it has no column 'w', which the query names as a column of aggregate"):
        local_stream.run(query, tmp_path / "wh", RunOptions(live=False))


PROMISE = {"policy": "quantile", "error": 0.05, "risk": 0.05}
NEWEST = {"function": "last", "column": "id"}


@pytest.mark.parametrize(
    ("of", "each", "fault", "remedy"),
    [
        (["newest"], {"newest": NEWEST, "n": {"function": "count"}}, "newest is of type string", "n"),
        (["one"], {"n": {"function": "count"}, "one": {"expression": "n > 1"}}, "one is of type bool", "n"),
        (["newest"], {"newest": NEWEST}, "newest is of type string", "an answer that is a number"),
        (None, {"newest": NEWEST}, "it promises (error, risk) of numbers, and no answer is one", "k_slack"),
    ],
)
def test_a_promise_of_an_answer_that_is_no_number_is_refused_before_anything_is_written(
    tmp_path: Path, of: list[str] | None, each: dict[str, dict[str, str]], fault: str, remedy: str
) -> None:
    write(tmp_path, [1.0])
    query = query_over(tmp_path, PROMISE | {"of": of}, **each)
    with pytest.raises(Unfit) as refused:
        local_stream.run(query, tmp_path / "wh", RunOptions(live=False))
    (problem,) = refused.value.problems
    assert problem.where == f"disorder.{'policy' if of is None else 'of'}"
    assert fault in problem.fault
    assert problem.remedy == remedy
    assert not (tmp_path / "wh").exists() or not [*(tmp_path / "wh").rglob("*.parquet")]


def test_answers_that_are_no_numbers_are_left_out_of_a_promise(tmp_path: Path) -> None:
    write(tmp_path, [1.5, None, 2.5])
    each = {"newest": NEWEST, "total": {"function": "sum", "column": "v"}, "mean": {"expression": "total / tuples"}}
    driver = Driver(query_over(tmp_path, PROMISE, **each), tmp_path / "wh")
    driver.run(flush=True)
    (answer,) = driver.tables.read("results", [*each]).to_pylist()
    assert answer == {"newest": "t2", "total": 4.0, "mean": pytest.approx(4 / 3)}


def test_a_promise_that_does_not_fit_is_refused_amid_a_stream_too_and_the_stream_goes_on(tmp_path: Path) -> None:
    """Were its settings stamped first, no batch could be run any more."""
    write(tmp_path, [1.0])
    options = RunOptions(live=False)
    before, promising = query_over(tmp_path, newest=NEWEST), query_over(tmp_path, PROMISE, newest=NEWEST)
    local_stream.run(before, tmp_path / "wh", options)
    more = {"at": pa.array([NOW]), "id": ["later"], "v": pa.array([2.0])}
    pq.write_table(pa.table(more), tmp_path / "in" / "part-1.parquet")
    with pytest.raises(Unfit, match="no answer is one"):
        local_stream.run(promising, tmp_path / "wh", options)
    assert local_stream.run(before, tmp_path / "wh", options) == 1
    answers = Driver(before, tmp_path / "wh").tables.read("results", ["newest"])
    assert "later" not in answers["newest"].to_pylist() or answers.num_rows == 2


def test_a_rebuild_checks_the_types_first(tmp_path: Path) -> None:
    write(tmp_path, [1.0])
    driver = Driver(query_over(tmp_path, n={"function": "count"}), tmp_path / "wh")
    driver.run(flush=True)
    for wrong, disorder in (({"function": "sum", "column": "id"}, None), (NEWEST, PROMISE)):
        with pytest.raises(Unfit, match=r"takes numbers|no answer is one"):
            driver.rebuild(query_over(tmp_path, disorder, c=wrong))
    assert driver.tables.read("results", ["n"]).to_pylist() == [{"n": 1}]
