"""Functions over arrays, words, parts of times and tens give what Spark 4.2 gave for them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from kit.draws.expression_values import FAILS, value_over
from tailrace.expressions.errors import ExpressionError

ROW = pa.table(
    {
        "d": pa.array([date(2024, 2, 29)]),
        "ts": pa.array(["2024-02-29 10:20:30.123456"]),
        "a": pa.array([[1, None, 3]], pa.list_(pa.int32())),
        "whole": pa.array([[1, 3]], pa.list_(pa.int32())),
        "none": pa.array([None], pa.list_(pa.int32())),
        "n": pa.array([None], pa.int32()),
        "zero": pa.array([0], pa.int32()),
        "prices": pa.array([[Decimal("1.50")]], pa.list_(pa.decimal128(10, 2))),
        "days": pa.array([[date(2024, 2, 29)]]),
        "w": pa.array([Decimal("12345678901234567890.123456789012345678")], pa.decimal128(38, 18)),
    }
)

VALUES = {
    **{"get(a, 0)": 1, "get(a, 1)": None, "get(a, 3)": None, "get(a, -1)": None, "get(none, 0)": None},
    "get(a, n)": None,
    **{"array(1, null, 2.50)": [Decimal("1.00"), None, Decimal("2.50")], "array(a, none)": [[1, None, 3], None]},
    **{"array(n, 7)[1]": 7, "ARRAY(7)[0] + 1": 8, "array(1 div zero, null)": FAILS, "array(7)[1]": FAILS},
    **{"array_contains(a, 3)": True, "array_contains(a, 2)": None, "array_contains(whole, 2)": False},
    **{"array_contains(prices, 1.5)": True, "array_contains(prices, 1.51)": False, "array_contains(days, d)": True},
    **{"array_contains(a, n)": None, "array_contains(none, 1)": None},
    **{"initcap('hello wORLD')": "Hello World", "initcap('')": "", "initcap('ǆ straße ß')": "ǅ Straße Ss"},
    "initcap('aé élan  x-y o\\'neil\ttab a1b')": "Aé Élan  X-y O'neil\ttab A1b",
    "split('a,b,,c,,', ',')": ["a", "b", "", "c", "", ""],
    "split('', ',')": [""],
    "split('a.b', '.')": ["", "", "", ""],
    "split('a, b ,c', ' *, *')": ["a", "b", "c"],
    "split(',a', ',')[1]": "a",
    "split(cast(n as string), ',')": None,
    **{f"extract({part} from d)": 5 for part in ("dow", "dayofweek")},
    **{f"extract({part} from d)": 9 for part in ("week", "w", "weeks")},
    **{"extract(dow_iso from d)": 4, "extract(yearofweek from date '2024-12-30')": 2025, "extract(doy from d)": 60},
    **{"extract(qtr from d)": 1, "extract(mons from d)": 2, "extract(yrs from d)": 2024, "extract(hour from d)": 0},
    **{"extract(m from ts)": 20, "extract(hrs from ts)": 10, "date_part('day', ts)": 29},
    "date_part('seconds', ts)": Decimal("30.123456"),
    **{"d + 1": date(2024, 3, 1), "d - 1": date(2024, 2, 28), "1 + d": date(2024, 3, 1), "d + n": None},
    **{"date '9999-12-31' + 1": FAILS, "cast(1 div zero as int) + d": FAILS, "d + cast(1 div zero as int)": FAILS},
    **{"n + date_add(d, cast(1 div zero as int))": FAILS, "cast(1 div zero as int) + date_add(d, n)": None},
    **{"round(15, -1)": 20, "round(-15, -1)": -20, "round(14, -1)": 10, "round(5, -1)": 10, "round(15, -10)": 0},
    **{"round(127Y, -1)": FAILS, "round(2147483647, -1)": FAILS, "round(15L, -20)": 0, "round(n, -1)": None},
    **{"round(1234.567, -2)": 1200, "round(99.5, -2)": 100, "round(99.5, -3)": 0, "round(99.5, -40)": 0},
    **{"round(w, -1)": 12345678901234567890, "round(w, -25)": 0, "round(-14.999, -1)": -10},
    **{"nullifzero(zero)": None, "nullifzero(7)": 7, "zeroifnull(n)": 0, "zeroifnull(7)": 7},
}


@pytest.mark.parametrize("text", VALUES)
def test_a_value_is_spark_s(text):
    assert value_over(ROW, text) == VALUES[text]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("split('a', '|')", "the pattern matches the empty text"),
        ("split('a', 'b', 2)", "split has 3 arguments"),
        ("extract(epoch from ts)", "extract has no epoch here"),
        ("1 - d", "date has no - here"),
        ("d + 1.5", "date has no + here"),
        ("d + 1L", "an argument is bigint, and has to be int"),
        ("round(1.5D, -1)", "round of a double to tens"),
        ("array()", "array has 0 arguments"),
        ("array(null)", "an array of nulls has no type"),
        ("array(7, 'a')", "int and string don't go together"),
        ("get(d, 1)", "an argument is date, and has to be an array"),
        ("array_contains(a, 1L)", "an argument is bigint, and has to be int"),
        ("array_contains(days, cast(ts as timestamp))", "an argument is timestamp, and has to be date"),
        ("array_contains(prices, 1.555)", "an argument is decimal(4,3), and has to be decimal(10,2)"),
    ],
)
def test_what_is_left_out_is_refused(text, fault):
    with pytest.raises(ExpressionError) as refused:
        value_over(ROW, text)
    assert fault in refused.value.fault
