"""A projection derives columns, keeps records, and says of each record that fails why it does."""

from __future__ import annotations

import math
import os
import pickle
import threading
from datetime import datetime
from decimal import Decimal, localcontext

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.expressions import connection as connections
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse
from tailrace.expressions.projection import Projection
from tailrace.expressions.statement import RecordsStatement
from tailrace.expressions.types import column_type

ORDERS = pa.table(
    {
        "amount": pa.array([11.9, 0.0, None, -1.0, 23.8]),
        "quantity": pa.array([2, 0, 1, 4, 0], pa.int32()),
        "platform": pa.array(["IOS", None, "web", "", "x\0y"]),
        "status": pa.array(["paid", "paid", "open", "paid", None]),
    }
)


def projection(columns, where=None, table=ORDERS):
    types = {field.name: column_type(field.type) for field in table.schema}
    needed = Projection.parse(columns, where).inputs
    return Projection.parse(columns, where, {name: types[name] for name in needed if name in types})


def run(columns, where=None, table=ORDERS):
    return projection(columns, where, table).run(table)


def reasons(projected):
    return {(row, failure.reason) for failure in projected.failures for row in np.flatnonzero(failure.mask).tolist()}


def test_a_derived_column_stands_for_the_source_s_from_there_on():
    columns = {
        "platform": "lower(coalesce(platform, 'unknown'))",
        "where": "platform || '!'",
        "amount": "amount / 1.19",
    }
    projected = run(columns)
    assert projected.table.column_names == ["amount", "quantity", "platform", "status", "where"]
    assert projected.table.column("where").to_pylist() == ["ios!", "unknown!", "web!", "!", "x\0y!"]
    assert projected.table.column("amount").to_pylist() == [10.0, 0.0, None, -1.0 / 1.19, 20.0]
    assert projected.kept.all()


def test_where_false_or_null_filters():
    projected = run({}, "status = 'paid' and amount > 0")
    assert projected.kept.tolist() == [True, False, False, False, False]
    assert projected.filtered.tolist() == [False, True, True, True, True]
    assert projected.failures == []
    assert projected.table == ORDERS


def test_a_record_that_fails_has_the_expression_and_the_reason():
    projected = run(
        {"each": "amount / quantity", "code": "cast(platform as int)"}, "amount is not null or quantity > 1"
    )
    texts = {(row, "expression code: a text that is no int") for row in (0, 3, 4)}
    zeros = {(row, "expression each: division by zero") for row in (1, 4)}
    assert reasons(projected) == texts | zeros
    assert projected.filtered.tolist() == [False, False, True, False, False]


def test_a_filtered_record_has_not_failed():
    projected = run({"each": "amount / quantity"}, "quantity <> 0")
    assert reasons(projected) == set()
    assert projected.kept.tolist() == [True, False, True, True, False]


def test_a_condition_that_fails_filters_nothing():
    projected = run({}, "1 / quantity > 0.3")
    assert reasons(projected) == {(1, "expression where: division by zero"), (4, "expression where: division by zero")}
    assert projected.filtered.tolist() == [False, False, False, True, False]


def test_what_is_not_evaluated_does_not_fail():
    guarded = {
        "a": "case when quantity <> 0 then amount / quantity else 0 end",
        "b": "quantity <> 0 and amount / quantity > 0",
        "c": "if(quantity = 0, null, 7 div quantity)",
        "d": "coalesce(amount, quantity / 0)",
        "e": "quantity = 0 or 1 % quantity = 0",
    }
    assert reasons(run(guarded)) == {(2, "expression d: division by zero")}


def test_names_of_any_sort_are_columns():
    table = pa.table({'a"b': [1], "A": [2], "a": [3], "select": [4], "x y": [5], "é.z": [6]})
    projected = run({"sum": '`a"b` + A + a + `select` + `x y` + `é.z`', "drop table": "a"}, None, table)
    assert projected.table.column("sum").to_pylist() == [21]
    assert projected.table.column("drop table").to_pylist() == [3]


@pytest.mark.parametrize(
    ("columns", "where", "name", "fault", "remedy"),
    [
        ({"a": "b + 1", "b": "a + 1"}, None, "a", "it is recursive: it reads b, which stands below it", "above it"),
        ({"a": "a + 1"}, None, "a", "it is recursive: it reads itself", "above it"),
        ({"a": "amuont + 1"}, None, "a", "there is no column amuont", "amount"),
        ({"a": "status > 5"}, None, "a", "string and int don't go together", "cast(… as int)"),
        ({"a": "lower(amount)"}, None, "a", "an argument is double, and has to be string", "cast(… as string)"),
        ({"a": "not quantity"}, None, "a", "an argument is int, and has to be boolean", "cast(… as boolean)"),
        ({"a": "null"}, None, "a", "of no type", "cast(null as string)"),
        ({"a": "cast(amount as string)"}, None, "a", "double can't be cast to string", "decimal"),
        ({"a": "cast(amount as strng)"}, None, "a", "no expression", "string"),
        ({"a": "cast(0 as decimal(38,38)) * cast(0 as decimal(38,38))"}, None, "a", "computed exactly", "double"),
        ({"a": "QUANTITY + 1"}, None, "a", "there is no column QUANTITY", "quantity"),
        ({"a": "status.x"}, None, "a", "string has no fields", "struct"),
        ({"a": "status[0]"}, None, "a", "no elements", "array"),
        ({"a": "date_trunc('dya', '2020-01-01')"}, None, "a", "'dya' is no unit", "day"),
        ({"a": "regexp_replace(status, 'x*', '-')"}, None, "a", "matches the empty text", "+ in place of *"),
        ({"a": "platform like status"}, None, "a", "the pattern is no literal", "literal"),
        ({}, "quantity", "where", "the condition is int", "boolean"),
        ({}, "status = 5", "where", "don't go together", "cast"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_types_is_refused_by_name(columns, where, name, fault, remedy):
    extra = ORDERS.append_column("amount2", ORDERS.column("amount"))
    types = {field.name: column_type(field.type) for field in extra.schema}
    with pytest.raises(ExpressionError) as refused:
        _ = Projection.parse(columns, where, types).derived_types
    assert refused.value.name == name
    assert fault in refused.value.fault
    assert remedy in refused.value.remedy


def test_an_expression_binds_to_a_type_of_spark():
    bound = parse("amount / 1.19 > 3 and d * 2 = 1").bind({"amount": pa.float64(), "d": pa.decimal128(18, 2)})
    assert bound.type_name == "boolean"
    assert parse("d * 2").bind({"d": pa.decimal128(18, 2)}).type_name == "decimal(20,2)"


@pytest.mark.needs("process")
def test_it_is_sent_to_workers_and_runs_in_any_thread_and_process():
    sent = pickle.loads(pickle.dumps(projection({"net": "amount / 1.19", "name": "upper('ß' || status)"})))
    expected = sent.run(ORDERS).table
    assert pickle.loads(pickle.dumps(sent)) == sent  # after it has run, too
    results = []
    thread = threading.Thread(target=lambda: results.append(sent.run(ORDERS).table))
    thread.start()
    thread.join()
    assert results == [expected]
    pid = os.fork()
    if not pid:
        os._exit(0 if sent.run(ORDERS).table == expected else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_table_without_records_has_the_derived_columns():
    projected = run({"each": "amount / quantity", "day": "to_date(status)"}, "amount > 0", ORDERS.slice(0, 0))
    assert projected.table.schema.field("day").type == pa.date32()
    assert (projected.kept.tolist(), projected.failures) == ([], [])


def test_times_of_every_unit_are_utc_and_floored():
    nanos = pa.table(
        {
            "n": pa.array([-1, 1999, None], pa.int64()).cast(pa.timestamp("ns")),
            "s": pa.array([-1, 0, 1], pa.timestamp("s")),
            "z": pa.array([0, 1, 2], pa.timestamp("ms", "Europe/Berlin")),
        }
    )
    projected = run({"micros": "unix_micros(n)", "ms": "unix_millis(s)", "same": "z", "hour": "hour(z)"}, None, nanos)
    assert projected.table.column("micros").to_pylist() == [-1, 1, None]
    assert projected.table.column("ms").to_pylist() == [-1000, 0, 1000]
    assert projected.table.schema.field("same").type == pa.timestamp("us", "UTC")
    assert projected.table.column("hour").to_pylist() == [0, 0, 0]


def test_a_time_that_microseconds_can_t_hold_is_null_and_no_other_one():
    far = pa.table({"s": pa.array([0, 1 << 62, None, -(1 << 50)], pa.timestamp("s"))})
    assert run({"n": "unix_seconds(s)"}, None, far).table.column("n").to_pylist() == [0, None, None, None]


def test_a_time_of_a_source_beyond_the_years_fails_as_a_derived_column_alone():
    far = {
        "t": pa.array([0, 600_000_000_000_000_000, None, -62_135_596_800_000_001], pa.timestamp("us")),
        "d": pa.array([0, 9_000_000, -719_162, -719_163], pa.date32()),
    }
    projected = run({"hour": "date_trunc('hour', t)", "same": "d", "year": "year(t)"}, "d is not null", pa.table(far))
    beyond = "a time beyond the years 1 to 9999"
    assert reasons(projected) == {(row, f"expression {name}: {beyond}") for name in ("hour", "same") for row in (1, 3)}
    assert projected.table.column("year").to_pylist() == [1970, 20983, None, 0]
    weeks = run({"week": "date_trunc('week', t)"}, None, pa.table({"t": [datetime(1, 1, 1), datetime(1, 1, 2)]}))
    assert weeks.table.column("week").null_count == 0, "the first day of the year 1 is a Monday"


def test_a_column_that_is_null_throughout_is_one_of_nulls():
    empty = pa.table({"x": pa.nulls(2), "v": [1.0, 2.0]})
    projected = run({"a": "coalesce(x, 'none')", "b": "x + 1", "c": "lower(x)"}, "x is null", empty)
    assert projected.table.select(["a", "b", "c"]).to_pylist() == [{"a": "none", "b": None, "c": None}] * 2


@pytest.mark.parametrize("text", ["repeat(status, n)", "lpad(status, n, 'x')", "rpad(status, n)"])
def test_a_number_in_a_record_asks_for_no_text_of_any_length(text):
    table = pa.table({"status": ["ab", "ab", "ab"], "n": pa.array([3, 2**31 - 1, -1], pa.int32())})
    projected = run({"a": text}, None, table)
    assert reasons(projected) == {(1, "expression a: a text of more than 1 MB")}
    assert projected.table.column("a").to_pylist()[1] is None


def test_a_column_may_be_named_as_the_condition_is():
    with pytest.raises(ExpressionError) as refused:
        Projection.parse({"where": "lwer(a)"}, "true")
    assert refused.value.field == "columns.where"


def test_texts_that_stay_coded_are_computed_with():
    coded = pa.table({"s": ORDERS.column("status").dictionary_encode()})
    assert run({"t": "upper(s)"}, "s <> 'open'", coded).table.column("t").to_pylist() == [
        "PAID",
        "PAID",
        "OPEN",
        "PAID",
        None,
    ]


@pytest.mark.parametrize(
    ("declared", "narrower", "value"),
    [
        (pa.int64(), pa.int32(), 100_000),
        (pa.int16(), pa.int8(), -128),
        (pa.uint32(), pa.uint8(), 255),
        (pa.float64(), pa.float32(), 0.1),
        (pa.decimal128(10, 2), pa.decimal128(8, 1), Decimal("12.5")),
        (pa.decimal128(30, 4), pa.decimal128(4, 0), Decimal("999")),
        (pa.int64(), pa.null(), None),
    ],
    ids=str,
)
def test_a_file_of_a_narrower_type_is_computed_with_as_the_first_one_is(declared, narrower, value):
    columns = {
        "square": "x * x",
        "third": "x / 3",
        "negative": "-x",
        "text": "cast(cast(x as decimal(20,4)) as string)",
    }
    later = pa.table({"x": pa.array([value], narrower)})
    bound = projection(columns, "x <> 0", pa.table({"x": pa.array([], declared)}))
    expected, found = (bound.run(each) for each in (later.cast(pa.schema({"x": declared})), later))
    assert found.table.drop_columns("x").equals(expected.table.drop_columns("x"))
    assert (found.kept.all(), found.failures) == (value is not None, [])


def test_records_by_which_a_statement_raises_are_found_by_halves(monkeypatch):
    plan = projection({"each": "quantity + 1"})._bound[0]
    rows = RecordsStatement("SELECT CAST(platform AS INTEGER) AS n FROM records", plan)
    texts = ["1", "x", *["2"] * 100, "y", "3"]
    computed, broken = rows.compute(pa.table({"platform": texts}))
    assert computed.column("n").to_pylist() == [1, None, *[2] * 100, None, 3]
    assert sorted(np.flatnonzero(mask).tolist() for mask in broken.values()) == [[1], [102]]
    assert all("Could not convert" in reason for reason in broken)
    with pytest.raises(duckdb.BinderException):  # a fault of the statement is none of its records
        RecordsStatement("SELECT nothing FROM records", plan).compute(pa.table({"platform": texts}))


def test_a_connection_computes_one_statement_after_another_in_one_thread():
    with connections.connection() as one:
        assert one.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
    with connections.connection() as again:
        assert again is one


@given(st.lists(st.floats(), min_size=1), st.integers(0, 6))
def test_doubles_are_rounded_as_their_shortest_digits_are(values, digits):
    table = pa.table({"x": values})
    (column,) = [run({"r": f"round(x, {digits})"}, None, table).table.column("r").to_pylist()]
    unit = Decimal(1).scaleb(-digits)
    for value, rounded in zip(values, column, strict=True):
        if not math.isfinite(value) or abs(value) >= 2**52:
            assert repr(rounded) == repr(value)
        else:
            assert rounded == float(Decimal(repr(value)).quantize(unit, "ROUND_HALF_UP"))


@given(st.decimals(-(10**16) + 1, 10**16 - 1, places=2), st.decimals(-999, 999, places=2))
def test_decimals_are_divided_exactly(one, other):
    table = pa.table({"d": pa.array([one], pa.decimal128(18, 2)), "e": pa.array([other], pa.decimal128(5, 2))})
    projected = run({"q": "d / e", "r": "d % e", "p": "d * e", "s": "d - e"}, None, table)
    row = projected.table.to_pylist()[0]
    assert (row["p"], row["s"]) == (one * other, one - other)
    if other == 0:
        assert reasons(projected) == {(0, "expression q: division by zero"), (0, "expression r: division by zero")}
    else:
        with localcontext() as context:
            context.prec = 60
            assert row["q"] == (one / other).quantize(Decimal("1e-8"), "ROUND_HALF_UP")
            assert row["r"] == one % other
