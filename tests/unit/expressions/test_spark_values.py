"""Expressions give what Spark 4.2 gave for them in its ANSI mode: a value, or a failure of the record.

`tests/spark/test_expressions.py` compares the same expressions with Spark itself.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kit.draws.expression_values import FAILS, value_over

ROW = pa.table(
    {
        "n": pa.array([None], pa.int32()),
        "zero": pa.array([0], pa.int32()),
        "one": pa.array([1], pa.int32()),
        "text": pa.array([None], pa.string()),
        "x": pa.array([1.5]),
        "day": pa.array([None], pa.date32()),
        "items": pa.array([None], pa.list_(pa.int32())),
        "yes": pa.array([None], pa.bool_()),
        "s": pa.array(["abc"]),
    }
)
INT, TEXT = "cast(1 div zero as int)", "cast(1 div zero as string)"


def value_of(text: str, table: pa.Table = ROW) -> Any:
    return value_over(table, text)


STOPS_AT_NULL = [
    *(f"n {sign} {INT}" for sign in ("+", "-", "*", "=", "<>", "<", ">=")),
    *(f"{INT} {sign} n" for sign in ("/", "%", "div")),
    *(f"{name}({INT}, n)" for name in ("mod", "pmod", "try_divide", "try_mod")),
    f"try_add(n, {INT})",
    f"n in ({INT}, 5)",
    f"n between {INT} and 3",
    f"text || {TEXT}",
    f"concat(text, {TEXT})",
    f"instr(text, {TEXT})",
    f"replace('abc', text, {TEXT})",
    f"substring('abc', n, {INT})",
    f"date_add(day, {INT})",
    f"make_date(2024, n, {INT})",
    f"items[{INT}]",
    "datediff(day, s)",
    "day = s",
    "null + 1 / zero",
    "1 / zero + null",
    "null = 1 / zero",
    "(1 / zero) / null",
]
"""Spark gives null for each, as it evaluates no operand after the first that is null."""


@pytest.mark.parametrize("text", STOPS_AT_NULL)
def test_what_stands_after_a_null_is_not_evaluated(text):
    assert value_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *(f"{INT} {sign} n" for sign in ("+", "-", "*", "=", "<", "<=>")),
        *(f"n {sign} {INT}" for sign in ("/", "%", "div", "<=>", "is distinct from")),
        *(f"{name}(n, {INT})" for name in ("mod", "pmod", "try_divide", "greatest", "least", "equal_null")),
        f"concat({TEXT}, text)",
        f"concat_ws(',', text, {TEXT})",
        f"concat_ws(text, {TEXT})",
        f"one in (n, {INT})",
        f"yes and {INT} = 1",
        f"replace('abc', {TEXT}, text)",
    ],
)
def test_what_stands_before_a_null_or_beside_it_is_evaluated(text):
    assert value_of(text) is FAILS


def test_a_list_is_evaluated_up_to_the_value_that_is_equal():
    assert value_of(f"one in (1, {INT})") is True
    assert value_of(f"one in (2, {INT})") is FAILS
    assert value_of(f"case n when {INT} then 1 else 2 end") == 2


DATES = {
    **dict.fromkeys(("2024", "2024 ", " 2024-1", "+2024-01-01", "0002024-1-1", "2024-01-01T", "2024-01-01 x"), "01-01"),
    **dict.fromkeys(("2024-02", "2024-2 ", "2024-2-1", "2024-02-01 24:00:00", "2024-02-01T10"), "02-01"),
    **dict.fromkeys(("2024-", "2024-02-", "2024T", "2024-02T", "2024-02 x", "2024 x", "202", "20240203"), None),
    **dict.fromkeys(("2024-13", "2024-00", "2024-02-30", "2024-02-003", "2024/02/03", "2024Z", "0000", ""), None),
}
"""Texts, and the month and day of 2024 that they are as dates; None where they are none."""


@pytest.mark.parametrize("text", DATES)
def test_a_text_is_a_date_where_spark_s_cast_says_so(text):
    expected = FAILS if DATES[text] is None else date.fromisoformat(f"2024-{DATES[text]}")
    table = pa.table({"v": [text]})
    assert value_of("to_date(v)", table) == expected
    assert value_of("cast(v as date)", table) == expected
    assert value_of(f"date '{text}'") == expected
    assert value_of("try_cast(v as date)", table) == (None if expected is FAILS else expected)


TIMES = {
    "2024": "2024-01-01T00:00:00",
    "2024-02": "2024-02-01T00:00:00",
    "2024-02-03 ": "2024-02-03T00:00:00",
    "2024-02-03 23:59:59.9999999": "2024-02-03T23:59:59.999999",
    "2024-02-03T10": "2024-02-03T10:00:00",
    "2024-02-03 10:2": "2024-02-03T10:02:00",
    "2024-02-03 1:2:3.": "2024-02-03T01:02:03",
    "2024-02-03 1:2:3.5": "2024-02-03T01:02:03.500000",
    "2024-02-03 10:00:00+2": "2024-02-03T08:00:00",
    "2024-02-03 10:00:00-0230": "2024-02-03T12:30:00",
    "2024-02-03 10:00:00+02:00:30": "2024-02-03T07:59:30",
    "2024-02-03 10:00:00-02:3": "2024-02-03T12:03:00",
    "2024-02-03 10:00:00+020030": "2024-02-03T07:59:30",
    "2024-02-03 10:00:00  Z": "2024-02-03T10:00:00",
    "2024-02-03 10:00:00 UTC": "2024-02-03T10:00:00",
    "2024-02-03 10:00:00UT": "2024-02-03T10:00:00",
    "2024-02-03 10:00:00GMT+02:00": "2024-02-03T08:00:00",
    "2024-02-03T10:00:00+18:00": "2024-02-02T16:00:00",
    **dict.fromkeys(("2024-01-01 24:00:00", "2024-01-01 24:00", "2024-01-01 23:60:00", "2024-01-01 23:59:60"), None),
    **dict.fromkeys(("2024-01-01 24:00:00Z", "2024-02-03T10:", "2024-02-03T", "2024-02-03 x", "2024-02 10:00"), None),
    **dict.fromkeys(("2024-02-03 10:00:00z", "2024-02-03T10:00:00+18:01", "2024-02-03Z", "2024-02-03 Z"), None),
    **dict.fromkeys(("2024-02-03T10:00Z", "2024-02-03T10+02:00", "0002024-02-03"), None),
    **dict.fromkeys(("2024-02-03T00:00:00,123", "0001-01-01 00:00:00+01:00", "9999-12-31 23:59:59-01:00"), None),
}
"""Texts, and the timestamps that they are in UTC; None where they are none."""


@pytest.mark.parametrize("text", TIMES)
def test_a_text_is_a_timestamp_where_spark_s_cast_says_so(text):
    expected = FAILS if TIMES[text] is None else datetime.fromisoformat(TIMES[text]).replace(tzinfo=UTC)
    table = pa.table({"v": [text]})
    assert value_of("to_timestamp(v)", table) == expected
    assert value_of("cast(v as timestamp)", table) == expected
    assert value_of("try_cast(v as timestamp)", table) == (None if expected is FAILS else expected)


FLOATS = {
    "cast(x as float)": 1.5,
    "cast(1.50 as float)": 1.5,
    "cast(0.1D as float)": float(np.float32(0.1)),
    "cast(12345678901234567890.123456789012345678 as float)": float(np.float32(12345678901234567890.123)),
    "cast(1e300 as float)": math.inf,
    "cast(-1e300 as float)": -math.inf,
    "cast(3.4028235677973366e38D as float)": math.inf,
    "cast(-3.4028235677973362e38D as float)": -float(np.finfo(np.float32).max),
    "cast(0.7e-45D as float)": 0.0,
    "cast('1e39' as float)": math.inf,
    "cast('16777217.0000000001' as float)": 16777218.0,
    "cast(' 1.5f ' as float)": 1.5,
    "cast('-inf' as float)": -math.inf,
    "cast(true as float)": 1.0,
    "cast(timestamp '2024-02-29 10:20:30.123456' as float)": 1709202048.0,
    "cast(cast(n as double) as float)": None,
    "cast('x' as float)": FAILS,
    "try_cast('x' as float)": None,
}


@pytest.mark.parametrize("text", FLOATS)
def test_a_cast_to_float_gives_the_nearest_one(text):
    assert value_of(text) == FLOATS[text]


def test_a_double_that_is_no_number_is_no_number_as_float():
    assert math.isnan(value_of("cast(cast('nan' as double) as float)"))


CASTS = {
    "cast(true as decimal(10, 2))": "1.00",
    "cast(false as decimal(2, 2))": "0.00",
    "cast(true as decimal(2, 2))": FAILS,
    "cast(timestamp '2024-02-29 10:20:30.9' as int)": "1709202030",
    "cast(timestamp '1969-12-31 23:59:59.9' as int)": "-1",
    "cast(timestamp '2024-02-29 10:20:30' as smallint)": FAILS,
    "cast(timestamp '2024-02-29 10:20:30.123456' as decimal(20, 6))": "1709202030.123456",
    "cast(timestamp '9999-12-31 23:59:59.999999' as decimal(38, 6))": "253402300799.999999",
    "cast(timestamp '2024-02-29 10:20:30.5' as decimal(10, 0))": "1709202031",
}


@pytest.mark.parametrize("text", CASTS)
def test_booleans_and_timestamps_are_cast_to_numbers(text):
    value = value_of(text)
    assert (value if value is FAILS else str(value)) == CASTS[text]


PATHS = {
    ('{"a":1,"a":2}', "$"): '{"a":1,"a":2}',
    ('{"a": {"x":1, "x":2}}', "$"): '{"a":{"x":1,"x":2}}',
    ('{"a": {"x":1, "x":2}}', "$.a"): '{"x":1,"x":2}',
    ('[{"a":1,"a":2}]', "$[0]"): '{"a":1,"a":2}',
    ('{"a":1,"a":2}', "$.a"): "1",
    ('{"a":null,"a":2}', "$.a"): "2",
    ('{"a":2,"a":null}', "$.a"): "2",
    ('{"a":{"b":1},"a":{"c":2}}', "$.a.c"): "2",
    ('{"a":{"b":1},"a":{"b":2}}', "$.a.b"): "1",
    ('{"a":{"b":1},"a":{"b":2}}', "$.a.c"): None,
}


@pytest.mark.parametrize(("json", "path"), PATHS)
def test_members_of_one_name_are_all_kept_and_the_first_with_a_value_is_read(json, path):
    assert value_of(f"get_json_object(j, '{path}')", pa.table({"j": [json]})) == PATHS[json, path]


def test_a_struct_as_text_keeps_members_of_one_name():
    table = pa.table({"j": ['{"a": {"x":1,"x":2}}']})
    assert value_of("from_json(j, 'a string').a", table) == '{"x":1,"x":2}'


DISTINCT = {
    "n is distinct from 1": True,
    "n is distinct from null": False,
    "n is not distinct from null": True,
    "one is distinct from 1.0": False,
    "one is not distinct from 1": True,
    "s is distinct from 'a' or yes": True,
    "not s is distinct from 'a'": False,
    "x is distinct from cast('nan' as double)": True,
}


@pytest.mark.parametrize("text", DISTINCT)
def test_distinct_from_knows_no_null(text):
    assert value_of(text) is DISTINCT[text]
