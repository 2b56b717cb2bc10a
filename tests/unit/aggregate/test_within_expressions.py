"""Aggregates within expressions of sections: what is computed once, what is refused where, and what a stream makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.draws.aggregate_files import query_of
from kit.runs.local_driver import NOW, Driver, correct_here
from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.named_section import NAMED, NamedAggregatesSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.ground.errors import Refused, Unfit
from tailrace.kind.capabilities import OVERFLOWED
from tailrace.kind.inputs import ColumnTypes
from tailrace.query.declared import declared_query
from tailrace.storage.results import read_answers
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions
from tailrace.windows.sliding import Sliding


def kind_of(**each: Any) -> Aggregate:
    section = NamedAggregatesSection.model_validate({"function": NAMED, "each": each})
    types = {"value_a": pa.int64(), "value_b": pa.float64(), "condition__1": pa.bool_(), "condition__2": pa.bool_()}
    return aggregate_of(Sliding(1000, 1000), section, ColumnTypes(carried=types))


def expression(text: str) -> dict[str, str]:
    return {"expression": text}


def test_equal_aggregates_are_one_and_the_named_one_where_there_is_one() -> None:
    kind = kind_of(
        total={"function": "sum", "column": "a"},
        ratio=expression("sum(a) / SUM( `a` ) + sum(b) - sum(b) / count(*)"),
        p=expression("percentile(b, 0.90) - percentile(b, 0.9) + count(*)"),
        some=expression("count_if(a > 1) - count(*) FILTER (WHERE a>1) + count(*) FILTER (WHERE a > 2)"),
    )
    assert [(each.name, each.function) for each in kind.aggregates] == [
        ("total", "sum"),
        ("_1", "sum"),
        ("_2", "count"),
        ("_3", "quantile"),
        ("_4", "count"),
        ("_5", "count"),
    ]
    assert kind.names == ("total", "ratio", "p", "some")
    assert [*kind.values] == [*kind.names]
    assert [text.strip() for text in kind.inputs[0].derives.values()] == ["a > 1", "a > 2"]
    assert kind.explanation.method.startswith("sum as total, sum in ratio, count in ratio, quantile in p, count in som")


def test_a_quantile_of_several_shares_is_one_of_each() -> None:
    several = kind_of(p=expression("percentile(b, array(0.5, 0.9))"), q=expression("percentile(b, 0.9) / 2"))
    assert [(each.name, each.function) for each in several.aggregates] == [("_1", "quantile"), ("_2", "quantile")]
    assert several.values["p"] == pa.list_(pa.float64())


def test_an_answer_over_hidden_aggregates_alone_is_read_again_and_never_amended() -> None:
    shared = kind_of(total={"function": "sum", "column": "a"}, twice=expression("sum(a) * 2"))
    assert "values" in shared.late.names, "the named one has what is late"
    hidden = kind_of(total={"function": "sum", "column": "a"}, span=expression("max(a) - min(a)"))
    assert "values" not in hidden.late.names
    assert hidden.amend(hidden.answer.empty_table(), hidden.late.empty_table()).num_rows == 0


@pytest.mark.parametrize(
    ("text", "fault", "remedy"),
    [
        ("1 + sum(avg(a))", "at 1:9: avg(a) stands within sum", "avg(a) alone"),
        ("sum(a) FILTER (WHERE max(b) > 1) / 2", "at 1:22: max(b) stands within sum", "over the answers of this one"),
        ("1 + lag(a)", "at 1:5: lag is no aggregate", "first, last"),
        ("sum(a) OVER (PARTITION BY b)", "at 1:8: a function over rows of others", "no OVER"),
        (
            "sum(a * 2) / 2",
            "at 1:5: a * 2 is no column of the stream",
            "columns: {name: a * 2} at the stream, and sum(",
        ),
        ("max_by(a) - 1", "at 1:1: max_by(a) has 1 argument", "max_by(column, column)"),
        ("max_by(a, b * 2) - 1", "at 1:11: b * 2 is no column of the stream", "and max_by(a, name)"),
        ("percentile(a, 2) - 1", "at 1:15: 2 is no share", "less than 1: 0.9"),
        ("quantile(a, 0.5) - 1", "at 1:1: quantile is no aggregate", "percentile(column, 0.9)"),
        ("count_distinct(a) - 1", "count_distinct is no aggregate", "count(DISTINCT column)"),
        ("max(a) - min(a) + c", "no answer has a column c", "max(c)"),
        ("_1 + sum(a)", "no answer has a column _1", ""),
        ("sum(a) + rnd(b)", "at 1:10: there is no function rnd", "round"),
        ("round(sum(a), 2", "at 1:6: a parenthesis is not closed", ")"),
        ("sum(a); max(a)", "at 1:9: a second statement begins", "one expression"),
        ("\nsum(a) FILTER (WHERE\n  a >) + 1", "at 3:5: ", ""),
    ],
)
def test_what_no_expression_takes_is_refused_at_its_place(text: str, fault: str, remedy: str) -> None:
    quoted = text.replace("\n", "\n      ")
    with pytest.raises(Refused) as refused:
        query_of(f"  r:\n    expression: |-\n      {quoted}\n")
    (problem,) = refused.value.problems
    assert "aggregate.r.expression" in problem.where
    assert fault in f"{problem.where}: {problem.fault}"
    assert remedy in problem.remedy


def test_a_checkpoint_is_bound_to_what_an_expression_means_and_not_to_its_spelling() -> None:
    def structure(text: str) -> Any:
        total = "  total: {function: sum, column: a}\n"
        return query_of(f"{total}  r: {{expression: '{text}'}}\n").structure()

    assert structure("sum(a) / mean(b)") == structure("total / avg( b )") != structure("total / sum(b)")
    assert structure(" total / 2 -- half")["aggregate.r.expression"] == " total / 2 -- half", "as written"


STREAM = {"event_time": "at", "arrival_time": "came", "id": "id"}
WHOLE = pa.array([NOW - 5000, NOW - 4500, NOW - 5000 + 900], pa.timestamp("ms", "UTC"))


def query_over(directory: Path, disorder: dict[str, Any] | None = None, **each: Any) -> Any:
    stream = STREAM | {"source": {"format": "parquet", "path": str(directory / "in")}}
    fields = {"name": "readings", "kind": "aggregate", "streams": {"readings": stream}, "window": {"size": "1 s"}}
    return declared_query(fields | {"aggregate": each, "disorder": disorder or {"policy": "none"}})


def write(directory: Path, **columns: Any) -> None:
    (directory / "in").mkdir()
    came = pa.array([NOW - 4000, NOW - 4000 + 1, NOW - 3000], pa.timestamp("ms", "UTC"))
    table = pa.table({"at": WHOLE, "came": came, "id": ["t0", "t1", "t2"]} | columns)
    pq.write_table(table, directory / "in" / "part-0.parquet")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1 + sum(word)", "aggregate.r.expression: 1:5: function sum takes numbers, and column word is of type string"),
        ("1 + sum(v) / sum(w)", "aggregate.r.expression: 1:14: "),
        ("count(*) FILTER (WHERE w > 1) + 1", "aggregate.r.expression.filter 1: 1:24: "),
        ("count(*) FILTER (WHERE v) + 1", "aggregate.r.expression.filter 1: the condition is of type double"),
        ("max(word) + 1", "right would be: cast(max(…) as double), or as another type"),
        ("sum(v) + upper(max(v))", "aggregate.r.expression: 1:10: an argument is double, and has to be string"),
    ],
)
def test_what_does_not_fit_the_columns_is_refused_at_its_place_before_anything_is_written(
    tmp_path: Path, text: str, fault: str
) -> None:
    write(tmp_path, v=[1.0, 2.0, 3.0], word=["a", "b", "c"])
    query = query_over(tmp_path, r=expression(text))
    with pytest.raises(Unfit) as refused:
        local_stream.run(query, tmp_path / "wh", RunOptions(live=False))
    assert fault in str(refused.value)
    assert not re.search(r"\b_\d", str(refused.value)), "a name that the file does not have"
    assert not (tmp_path / "wh").exists() or not [*(tmp_path / "wh").rglob("*.parquet")]


def test_an_overflow_within_an_expression_is_counted_of_the_stream_and_of_a_correction(tmp_path: Path) -> None:
    write(tmp_path, v=pa.array([2**62, 2**62, 1]))
    query = query_over(tmp_path, much=expression("coalesce(sum(v), -1)"))
    driver = Driver(query, tmp_path / "wh")
    driver.run(flush=True)
    answers, _ = read_answers(query, tmp_path / "wh", True)
    assert answers["much"].to_pylist() == [-1]
    counts = [dict(each or ()) for each in driver.tables.read("metrics", ["counts"])["counts"].to_pylist()]
    assert sum(each.get("overflowed", 0) for each in counts) == 1
    correct_here(query, tmp_path / "wh")
    assert driver.tables.read("correction_runs", ["overflowed"])["overflowed"].to_pylist() == [1]
    assert OVERFLOWED not in driver.tables.schema("corrections").names


def test_a_promise_is_of_answers_and_of_no_hidden_aggregate(tmp_path: Path) -> None:
    write(tmp_path, v=[1.0, 2.0, 3.0])
    promise = {"policy": "quantile", "error": 0.05, "risk": 0.05}
    query = query_over(
        tmp_path, promise, mean=expression("sum(v) / count(v)"), last={"function": "last", "column": "id"}
    )
    driver = Driver(query, tmp_path / "wh")
    driver.run(flush=True)
    assert driver.pipeline.kind.error_model.promised(None).names == ("mean",)
    answers, _ = read_answers(query, tmp_path / "wh", True)
    assert answers["mean"].to_pylist() == [2.0]
