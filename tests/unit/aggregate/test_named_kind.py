"""The kind with named aggregates: expressions over them, what is amended, and the types that functions take."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kit.oracles.named_oracle import SPARK
from tailrace.aggregate.amend import AMOUNTS
from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.named_section import NAMED, NamedAggregatesSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US
from tailrace.kind.capabilities import OVERFLOWED
from tailrace.kind.inputs import ColumnTypes
from tailrace.sql.translate import translate
from tailrace.sql.write import write
from tailrace.windows.sliding import Sliding

TYPES = {"whole": pa.int64(), "money": pa.decimal128(18, 2), "text": pa.string(), "real": pa.float64()}
WINDOWS = Sliding(1000, 1000)

Each = dict[str, dict[str, Any]]


def kind_of(each: Each, types: dict[str, pa.DataType] = TYPES) -> Aggregate:
    section = NamedAggregatesSection.model_validate({"function": NAMED, "each": each})
    return aggregate_of(WINDOWS, section, ColumnTypes(carried={f"value_{n}": t for n, t in types.items()}))


def tuples(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Tuples of the first window, in their order."""
    times = pa.array(range(len(rows)), pa.int64())
    columns = {"event_time": times, "tick": times, "key": pa.array(["a"] * len(rows)), "arrival_time": times}
    columns |= dict.fromkeys((EVENT_US, ARRIVAL_US), pa.array([0] * len(rows)))
    columns["id"] = pa.array([f"t{number}" for number in range(len(rows))])
    values = {f"value_{name}": pa.array([row.get(name) for row in rows], dtype) for name, dtype in TYPES.items()}
    return pa.RecordBatch.from_pydict(columns | values)


def answer(kind: Aggregate, rows: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = kind.evaluate(tuples(rows)).to_pylist()
    return {name: found[name] for name in kind.names}


RATE: Each = {
    "failed": {"function": "count", "column": "text"},
    "rate": {"expression": "failed / wholes"},
    "wholes": {"function": "count", "column": "whole"},
    "cents": {"expression": "cast(total * 100 as bigint)"},
    "total": {"function": "sum", "column": "money"},
}


def test_an_expression_is_computed_of_answers_in_any_order_and_null_where_it_fails() -> None:
    kind = kind_of(RATE)
    assert [*kind.values] == [*RATE]
    money = Decimal("1.25")
    right = {"failed": 1, "rate": 0.5, "wholes": 2, "cents": 250, "total": 2 * money}
    assert answer(kind, [{"whole": 1, "text": "", "money": money}, {"whole": 2, "money": money}]) == right
    nothing = {"failed": 1, "rate": None, "wholes": 0, "cents": None, "total": None}
    assert answer(kind, [{"text": "x"}]) == nothing, "a division by zero"
    assert pickle.loads(pickle.dumps(kind)) == kind


def test_expressions_are_computed_again_where_answers_are_amended() -> None:
    kind = kind_of(RATE)
    identity = {"key": "a", "window_start": 0, "window_end": 1000}
    given = {"failed": 1, "rate": 0.5, "wholes": 2, "cents": 100, "total": Decimal("1.00"), "tuples": 2}
    streamed = pa.Table.from_pylist([identity | given], kind.answer)
    parts = {"failed": 2, "wholes": 1, "total": Decimal("0.01")}
    fields = [kind.answer.field(name) for name in (*identity, "tuples")]
    late = pa.Table.from_pylist(
        [identity | {"tuples": 3, AMOUNTS: parts}], pa.schema([*fields, *kind.answers.amounts.items()])
    )
    (found,) = kind.amend(streamed, late).to_pylist()
    assert found == identity | {"failed": 3, "rate": 1.0, "wholes": 3, "cents": 101, "total": Decimal("1.01")} | {
        "tuples": 5
    }


@pytest.mark.parametrize(
    ("function", "column", "streamed", "late", "right"),
    [
        ("sum", "whole", 2**63 - 2, Decimal(1), 2**63 - 1),
        ("sum", "whole", 2**63 - 2, Decimal(2), None),
        ("sum", "whole", -(2**62), Decimal(-(2**80)), None),
        ("sum", "whole", 5, None, 5),
        ("sum", "whole", None, Decimal(7), None),
        ("count", "text", 2**53, 1, 2**53 + 1),
        ("min", "text", "b", "a", "a"),
        ("max", "text", "b", None, "b"),
        ("min", "real", 0.5, 1.5, 0.5),
        ("sum", "real", 1.7e308, 1.7e308, None),
    ],
)
def test_an_answer_is_amended_exactly_or_left_to_history(function, column, streamed, late, right) -> None:
    kind = kind_of({"it": {"function": function, "column": column}})
    identity = {"key": "a", "window_start": 0, "window_end": 1000, "tuples": 1}
    answers = pa.Table.from_pylist([identity | {"it": streamed}], kind.answer)
    fields = [kind.answer.field(name) for name in identity]
    rows = pa.Table.from_pylist(
        [identity | {AMOUNTS: {"it": late}}], pa.schema([*fields, *kind.answers.amounts.items()])
    )
    found = kind.amend(answers, rows).to_pylist()
    assert [row["it"] for row in found] == ([] if right is None else [right])


@pytest.mark.parametrize("function", ["avg", "median", "stddev", "count_distinct", "first"])
def test_one_function_that_cannot_be_amended_leaves_all_to_history(function: str) -> None:
    kind = kind_of({"total": {"function": "sum", "column": "whole"}, "other": {"function": function, "column": "real"}})
    assert kind.answers.amounts == {}
    assert "values" not in kind.late.names


def test_a_sum_that_leaves_its_type_is_null_and_counted() -> None:
    kind = kind_of({"total": {"function": "sum", "column": "whole"}})
    assert answer(kind, [{"whole": 2**63 - 1}, {"whole": 1}]) == {"total": None}
    assert answer(kind, [{"whole": 2**63 - 1}, {"whole": 1}, {"whole": -1}]) == {"total": 2**63 - 1}, (
        "on the way is no end"
    )
    assert answer(kind, [{}]) == {"total": None}
    windows = pa.RecordBatch.from_pydict({"value_whole:count": [2, 0, 1]})
    assert kind.summary.overflows(windows, {"total": pa.array([None, None, 5])}).tolist() == [1, 0, 0]


def test_a_kind_that_counts_overflows_has_a_further_column_and_goes_to_every_worker() -> None:
    kind = kind_of({"total": {"function": "sum", "column": "whole"}, "real": {"function": "sum", "column": "real"}})
    counting = kind.counting()
    assert pickle.loads(pickle.dumps(counting)) == counting != kind
    (found,) = counting.evaluate(tuples([{"whole": 2**63 - 1}, {"whole": 1}])).to_pylist()
    assert (found["total"], found[OVERFLOWED]) == (None, 1), "a double without values is null, and no overflow"
    counts = kind_of({"number": {"function": "count", "column": "real"}})
    assert counts.counting() is counts


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(
    ("reals", "overflowed"),
    [
        ([1e308, 1e308, -1e308], 2),
        ([-1e308, -1e308], 2),
        ([1e308, -1e308, 1e308], 0),
        ([1.0], 0),
        ([None], 0),
    ],
)
def test_a_sum_of_doubles_that_overflows_on_the_way_is_counted(reals, overflowed):
    each: Each = {name: {"function": name, "column": "real"} for name in ("sum", "avg", "max", "count")}
    (found,) = kind_of(each).counting().evaluate(tuples([{"real": real} for real in reals])).to_pylist()
    assert found[OVERFLOWED] == overflowed


def test_a_group_without_a_value_holds_nothing_of_another_group() -> None:
    """Of texts and long decimals each group has one value; else one large text would be in the partials of all."""
    kind = kind_of({"largest": {"function": "max", "column": "text"}, "newest": {"function": "last", "column": "text"}})
    rows = tuples([{"text": "x" * 1000}, *({} for _ in range(50))])
    keys = pa.array([f"k{number}" for number in range(51)])
    partials = kind.combine(rows.set_column(rows.schema.get_field_index("key"), "key", keys))
    for name in ("value_text:max", "value_text:last"):
        assert partials.column(name).null_count == 50
    found = kind.evaluate(rows.set_column(rows.schema.get_field_index("key"), "key", keys)).to_pylist()
    assert {row["largest"] for row in found} == {None, "x" * 1000}
    assert [row["newest"] for row in found if row["key"] != "k0"] == [None] * 50


def test_values_under_a_condition_are_none_of_a_column_that_is_called_so() -> None:
    types = {"n": pa.int64(), "n if condition_y": pa.int64()}
    each: Each = {
        "x": {"function": "sum", "column": "n if condition_y"},
        "y": {"function": "sum", "column": "n", "where": "n > 0"},
    }
    kind = kind_of(each, types)
    rows = tuples([{}])
    columns = {"value_n": pa.array([7]), "value_n if condition_y": pa.array([100]), "condition_y": pa.array([False])}
    for name, column in columns.items():
        rows = rows.append_column(name, column)
    (found,) = kind.evaluate(rows).to_pylist()
    assert (found["x"], found["y"]) == (100, None)


def test_of_equal_values_the_first_or_the_last_tuple_is_chosen_and_what_is_answered_may_be_null() -> None:
    named: Each = {name: {"function": name, "column": "text", "by": "real"} for name in ("min_by", "max_by")}
    kind = kind_of(named)
    rows = [{"text": "x", "real": 1.0}, {"real": 2.0}, {"text": "y", "real": 1.0}, {"text": "z", "real": 2.0}]
    assert answer(kind, rows) == {"min_by": "x", "max_by": "z"}
    assert answer(kind, rows[:3]) == {"min_by": "x", "max_by": None}
    assert answer(kind, [*rows[:3], {"text": "no real"}]) == {"min_by": "x", "max_by": None}
    assert answer(kind, [{"text": "no real"}]) == {"min_by": None, "max_by": None}
    assert answer(kind_of({"it": {"function": "max_by", "column": "whole", "by": "real"}}), rows[1:2]) == {"it": None}


def test_distinct_values_are_summed_exactly_and_once() -> None:
    each: Each = {name: {"function": "sum_distinct", "column": name} for name in ("whole", "money", "real")}
    cent = Decimal("0.01")
    rows = [{"whole": 2**63 - 1, "money": cent, "real": 0.1}, {"whole": 2**63 - 1, "money": cent, "real": 0.1}]
    rows += [{"whole": -1, "money": 2 * cent, "real": 0.0}, {"real": -0.0}, {}]
    kind = kind_of(each)
    assert answer(kind, rows) == {"whole": 2**63 - 2, "money": 3 * cent, "real": 0.1}
    assert answer(kind, [{}]) == dict.fromkeys(each)
    (found,) = kind.counting().evaluate(tuples([*rows, {"whole": 5}])).to_pylist()
    assert (found["whole"], found[OVERFLOWED]) == (None, 1), "a sum that leaves its type is null, and counted"
    mean = kind_of({"it": {"function": "avg_distinct", "column": "money"}})
    assert answer(mean, rows) == {"it": 0.015}
    assert answer(mean, [{}]) == {"it": None}


@pytest.mark.parametrize(
    ("q", "number", "place"), [(0.07, 100, 7), (0.5, 4, 2), (0.5, 5, 3), (0.001, 3, 1), (0.9, 1, 1)]
)
def test_a_discrete_quantile_is_at_its_share_rounded_up_exactly(q, number, place) -> None:
    each: Each = {name: {"function": "quantile_disc", "column": name, "q": q} for name in ("whole", "text", "money")}
    rows = [{"whole": one, "text": f"{one:03}", "money": Decimal(one)} for one in range(number, 0, -1)]
    assert answer(kind_of(each), [{}, *rows]) == {"whole": place, "text": f"{place:03}", "money": Decimal(place)}
    assert answer(kind_of(each), [{}]) == dict.fromkeys(each)


def test_a_list_beyond_its_limit_is_null_and_counted_and_never_cut() -> None:
    each: Each = {name: {"function": name, "column": "money", "limit": 2} for name in ("collect_list", "collect_set")}
    kind, (one, two) = kind_of(each), (Decimal("0.01"), Decimal("0.02"))
    rows = [{"money": two}, {}, {"money": one}]
    assert answer(kind, rows) == {"collect_list": [two, one], "collect_set": [one, two]}
    assert answer(kind, [{}]) == {"collect_list": [], "collect_set": []}
    (found,) = kind.counting().evaluate(tuples([*rows, {"money": two}])).to_pylist()
    assert (found["collect_list"], found["collect_set"], found[OVERFLOWED]) == (None, [one, two], 1)


def test_a_correlation_is_right_where_means_are_far_greater_than_deviations() -> None:
    functions = ("corr", "covar_samp", "covar_pop")
    each: Each = {name: {"function": name, "column": "real", "other": "whole"} for name in functions}
    kind = kind_of(each)
    pairs = [(1e9 + number % 3, 10**9 + number % 3) for number in range(30)]
    rows = [{"real": real, "whole": whole} for real, whole in pairs]
    found = answer(kind, [{"real": 5.0}, *rows, {"whole": 7}, {}])
    assert (found["corr"], found["covar_pop"]) == (pytest.approx(1, abs=1e-15), pytest.approx(2 / 3))
    assert answer(kind, [{"real": 0.0, "whole": 0}, {"real": 3.0, "whole": 9}])["corr"] == 1, "not by its rounding more"
    assert answer(kind, rows[:1]) == {"corr": None, "covar_samp": None, "covar_pop": 0.0}
    assert answer(kind, [{"real": 0.1, "whole": number} for number in range(3)])["corr"] is None, "one does not vary"
    assert answer(kind, [{"real": 1.0}, {"whole": 1}]) == dict.fromkeys(each), "no pair"


def test_a_correlation_of_a_column_with_itself_is_one() -> None:
    kind = kind_of({"r": {"function": "corr", "column": "whole", "other": "whole"}})
    for most in range(1, 60):
        assert answer(kind, [{"whole": n} for n in (1, 1 + most, 3 * most)])["r"] == 1.0


def test_columns_of_two_pairs_never_share_an_accumulator() -> None:
    types = {"a": pa.int64(), "b": pa.int64(), "a:value_b": pa.int64(), "b:value_b": pa.int64()}
    one, other = ({"function": "max_by", "by": by, "column": of} for by, of in [("a", "b:value_b"), ("a:value_b", "b")])
    kind = kind_of({"one": one, "other": other}, types)
    assert len(kind.summary.accumulators) == 2
    assert len(kind.summary.types) == 1 + sum(len(each.types) for each in kind.summary.accumulators)


def test_each_function_that_a_file_may_name_is_compared_with_sparks() -> None:
    assert SPARK.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_that_a_file_may_name_has_a_form_in_sql(name: str) -> None:
    function = FUNCTIONS[name]
    parameters = {parameter: {"q": "0.9", "limit": "7"}[parameter] for parameter in function.parameters}
    section = {"function": name} | {column: column for column in function.columns} | parameters
    rest = {"streams": {"events": {"event_time": "at", "id": "id"}}, "window": {"size": "5 min"}}
    written = write({"kind": "aggregate", "aggregate": {"answer": section}} | rest)
    assert written is not None, "the function's calls in SQL text"
    assert translate(*written).fields["aggregate"] == {"answer": section}


def test_functions_of_numbers_refuse_other_columns_with_what_would_be_right() -> None:
    kind = kind_of({"total": {"function": "sum", "column": "text"}, "least": {"function": "min", "column": "text"}})
    (problem,) = kind.type_problems()
    assert (problem.where, problem.fault) == (
        "aggregate.total",
        "function sum takes numbers, and column text is of type string",
    )
    assert "min" in problem.remedy
    (problem,) = kind_of({"all": {"function": "bool_and", "column": "whole"}}).type_problems()
    assert problem.fault == "function bool_and takes booleans, and column whole is of type int64"
    assert "columns: {flag: whole > 0}" in problem.remedy
    (problem,) = kind_of({"total": {"function": "sum", "column": "a b"}}, {"a b": pa.string()}).type_problems()
    assert "columns: {number: cast(`a b` as double)}" in problem.remedy
    (problem,) = kind_of({"all": {"function": "bool_and", "column": "a b"}}, {"a b": pa.int64()}).type_problems()
    assert 'columns: {flag: "`a b` > 0"}' in problem.remedy
    (problem,) = kind_of({"n": {"function": "count"}, "bad": {"expression": "n + date '2020-01-01'"}}).type_problems()
    assert problem.where.startswith("aggregate.bad.expression: 1:")
