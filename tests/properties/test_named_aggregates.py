"""Named aggregates of any types: streamed and corrected, each is plain Python's answer, whatever came in any order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.aggregates import fields_of
from kit.draws.streams import cuts, disordered
from kit.oracles import oracle
from kit.oracles.named_oracle import CONDITIONS, JOINT, LISTS, TYPES, Values, answer, moment
from kit.oracles.oracle import Truth, batch, latest, stream
from kit.runs import harness, memory_tables
from kit.runs.harness import run, windows_of
from kit.runs.memory_tables import MemoryTables
from kit.suite.examples import drawn
from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.named_section import NAMED, NamedAggregatesSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.functions.registry import FUNCTIONS
from tailrace.kind.inputs import ColumnTypes

SOME = drawn(100)

AMENDED = [name for name, each in FUNCTIONS.items() if each.amended_as is not None]
NUMERIC = ["money", "large", "count", "speed"]

Section = dict[str, Any]


@pytest.fixture(autouse=True, scope="module")
def typed_values() -> Iterator[None]:
    """The oracle's tuples have `Values`, and it answers every aggregate of the query at once."""

    def aggregate(sections: Any, values: list[Values], q: float | None = None) -> Truth:
        answers = {name: answer(*parts, values) for name, *parts in sections}
        return Truth(answers, len(values), {name: size(part, values) for name, *part in sections})

    def raw_table(tuples: list[oracle.Tuple], *types: Any) -> pa.Table:
        rows = plain([each._replace(value=0.0) for each in tuples], *types).drop_columns(["value"])
        for name, dtype in TYPES.items():
            rows = rows.append_column(name, pa.array([getattr(each.value, name) for each in tuples], dtype))
        return rows

    plain = harness.raw_table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle, "aggregate", aggregate)
        patch.setattr(harness, "raw_table", raw_table)
        patch.setattr(memory_tables, "raw_table", raw_table)
        yield


def size(part: list[Any], values: list[Values]) -> float:
    """The sum of the magnitudes of the values: rounding of sums is relative to it."""
    column = part[1]
    if column not in NUMERIC:
        return 0.0
    if part[0] in JOINT:
        return size_of_pairs(part, values)
    return math.fsum(abs(float(getattr(each, column) or 0)) for each in values)


def size_of_pairs(part: list[Any], values: list[Values]) -> float:
    """The magnitude of products, for covariances; for a correlation how far its rounding may lead."""
    pairs = [(float(getattr(each, part[1]) or 0), float(getattr(each, part[4]) or 0)) for each in values]
    sizes = [math.fsum(abs(pair[place]) for pair in pairs) for place in (0, 1)]
    if part[0] != "corr":
        return sizes[0] * sizes[1]
    tolerance = 0.0
    for name in (part[1], part[4]):
        some = [each for each in values if CONDITIONS[part[3]](each)] if part[3] else values
        there = [each for each in some if None not in (getattr(each, part[1]), getattr(each, part[4]))]
        column = [Fraction(float(getattr(each, name))) for each in there]
        spread = math.sqrt(moment(column, column)) if column else 0.0
        tolerance += (
            1e-13 * max(map(abs, column)) / spread if spread > 1e-100 else math.inf if len({*column}) > 1 else 0
        )
    return tolerance


def money(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**digits - 1
    unscaled = st.one_of(st.integers(-1000, 1000), st.integers(-most, most), st.sampled_from([most, -most]))
    return unscaled.map(lambda number: Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale)))


counts = st.one_of(
    st.integers(-5, 5),
    st.integers(2**53, 2**53 + 3),
    st.sampled_from([2**63 - 1, -(2**63), 2**62]),
)
speeds = st.one_of(st.integers(-9, 9).map(float), st.floats(-1e6, 1e6, allow_subnormal=False), st.just(-0.0))
users = st.sampled_from(["a", "b", "", "ä", "a\0", "x" * 300])
days = st.sampled_from([date(2000, 2, 29), date(1969, 12, 31), date(2024, 1, 1), date(1, 1, 1), date(9999, 12, 31)])


@st.composite
def sections(draw: st.DrawFn, functions: list[str] | None = None) -> dict[str, Section]:
    named: dict[str, Section] = {}
    for place in range(draw(st.integers(1, 5))):
        function = draw(st.sampled_from(functions or [*FUNCTIONS]))
        columns = {"numbers": NUMERIC, "booleans": ["is_paid"], "any": [*TYPES]}[FUNCTIONS[function].takes]
        section: Section = {"function": function, "column": draw(st.sampled_from(columns))}
        if function in ("min_by", "max_by"):
            section["by"] = draw(st.sampled_from([*TYPES]))
        if function in JOINT:
            section["other"] = draw(st.sampled_from(NUMERIC))
        if draw(st.integers(0, 2)) == 0:
            section["where"] = draw(st.sampled_from([*CONDITIONS]))
        if function in LISTS:
            section["limit"] = draw(st.sampled_from([1, 2, 1000]))
        if function.startswith("quantile"):
            section["q"] = draw(st.sampled_from([0.9, 0.5, 0.001]))
        if function == "count_distinct" and draw(st.booleans()):
            section["approximate"] = True
        if function == "count" and draw(st.booleans()):
            del section["column"]
        named[f"answer_{place}"] = section
    return named


@st.composite
def case(draw: st.DrawFn, functions: list[str] | None = None, duplicates: bool = False):
    """A stream of typed values, a query over it, and its kind."""
    tuples, query = draw(disordered(min_tuples=1, max_tuples=25, duplicates=duplicates))
    parts = [money(18, 2), money(38, 4), counts, speeds, users, days, st.booleans()]
    null_share = draw(st.sampled_from([0, 1, 4]))
    rows: list[oracle.Tuple] = []
    for each in tuples:
        values = [None if null_share and draw(st.integers(0, 4)) < null_share else draw(strategy) for strategy in parts]
        rows.append(each._replace(value=Values((each.event_time, each.arrival_time, each.id), *values)))
    named = draw(sections(functions))
    asked = tuple(
        (
            name,
            each["function"],
            each.get("column"),
            each.get("q", each.get("limit")),
            each.get("where"),
            each.get("by", each.get("other")),
        )
        for name, each in named.items()
    )
    query = replace(query, function=asked, q=None, policy=draw(st.sampled_from(["none", ("k_slack", 50)])))
    return rows, query, kind_of(named, query)


def kind_of(named: dict[str, Section], query: oracle.Settings) -> Aggregate:
    section = NamedAggregatesSection.model_validate({"function": NAMED, "each": named})
    carried = {f"value_{name}": dtype for name, dtype in TYPES.items()}
    types = ColumnTypes(carried=carried | {f"condition_{name}": pa.bool_() for name in named})
    return aggregate_of(windows_of(query), section, types)


def assert_right(found: dict[str, Any], truth: dict[str, Any], sizes: dict[str, float], asked: Any) -> None:
    """Each answer is plain Python's: to the last digit but for doubles."""
    for name, function, column, *_ in asked:
        right, value = truth[name], found[name]
        if function == "corr" and sizes[name] > 0.1:
            assert value is None or -1 <= value <= 1
            continue
        if not isinstance(right, float) or value is None:
            assert (value, type(value)) == (right, type(right)), (name, function, column, truth)
            continue
        if function in ("min", "max", "first", "last", "any_value", "min_by", "max_by", "quantile_disc"):
            assert value == right
        if function in JOINT:
            assert value == pytest.approx(right, rel=1e-9, abs=(1 if function == "corr" else 1e-12) * sizes[name])
            continue
        # Of squares the rounding is relative to the square of the largest value, and below 1e-150 they are no doubles.
        scale = sizes[name] ** (2 if function.startswith("var") else 1)
        assert value == pytest.approx(right, rel=1e-9, abs=max(1e-150, 1e-12 * scale, 1e-7 * sizes[name] * 1e-2)), (
            name,
            function,
        )


@SOME
@given(st.data(), case(), st.integers(1, 3))
def test_streamed_answers_are_plain_pythons_however_the_log_is_cut(data, case, tasks):
    tuples, query, kind = case
    at = data.draw(cuts(len(tuples)), label="cuts")
    rows, outcome = run(tuples, query, cuts=at, tasks=tasks, kind=kind), stream(tuples, query)
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in rows.get("results", [])}
    assert found.keys() == outcome.answers.keys()
    for window, right in outcome.answers.items():
        assert found[window]["tuples"] == right.tuples
        assert_right(found[window], right.value, right.sum_abs, query.function)
    assert sum(row["tuples"] for row in rows.get("late", [])) == sum(outcome.late.values())


@SOME
@given(st.data(), st.one_of(case(duplicates=True), case(AMENDED), case(AMENDED, duplicates=True)))
def test_corrections_of_any_intervals_are_plain_pythons(data, case):
    tuples, query, kind = case
    outcome = stream(tuples, query)
    ends = [tick.end for tick in outcome.trace]
    points = st.sampled_from([min(ends) - max(query.tick, 1), *ends])
    pair = st.tuples(points, points).map(sorted).map(tuple).filter(lambda two: two[0] < two[1])
    chosen = data.draw(st.lists(pair, min_size=1, max_size=4), label="intervals")
    tables = MemoryTables(tuples, query, data.draw(cuts(len(tuples)), label="cuts"), kind=kind)
    for a, b in chosen:
        tables.correct(a, b)
    expected, found = latest(outcome, tuples, query, chosen), tables.latest()
    assert found.keys() == expected.keys()
    for window, version in expected.items():
        assert (found[window]["tuples"], found[window]["as_of"]) == (version.tuples, version.as_of), window
        assert_right(found[window], version.value, version.sum_abs, query.function)


class Reread(Aggregate):
    """A kind that can amend nothing."""

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        return super().amend(answers, late).slice(0, 0)


@SOME
@given(case(AMENDED))
def test_what_is_amended_is_what_would_be_read_again(case):
    tuples, query, kind = case
    ends = [tick.end for tick in stream(tuples, query).trace]
    interval = min(ends) - max(query.tick, 1), max(ends)
    amended = MemoryTables(tuples, query, [], kind=kind)
    read_again = copy(amended)
    read_again.pipeline = replace(amended.pipeline, kind=Reread(**fields_of(kind)))
    one, other = (tables.correct(*interval).to_pylist() for tables in (amended, read_again))
    truth = batch(tuples, query, interval[1])
    by_window = {(row["key"], row["window_start"], row["window_end"]): row for row in other}
    assert len(one) == len(other)
    for row in one:
        window = row["key"], row["window_start"], row["window_end"]
        assert row["tuples"] == by_window[window]["tuples"]
        if not row["retracted"]:
            assert_right(row, truth[window].value, truth[window].sum_abs, query.function)
