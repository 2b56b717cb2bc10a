"""Each function of Spark SQL is there, or is refused as one that expressions lack, with what says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import tailrace.expressions.functions  # noqa: F401  they register themselves
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse
from tailrace.expressions.other_functions import _BY_GRAMMAR, _INSTEAD, _REFUSED
from tailrace.expressions.registry import FUNCTIONS

NAMES = (Path(__file__).parents[2] / "data/expressions/spark_functions.txt").read_text().split()
"""The functions of Spark 4.2, as SHOW SYSTEM FUNCTIONS lists them; `tests/spark` compares them."""


def refusal(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    return refused.value


@pytest.mark.parametrize("name", [name for name in NAMES if re.fullmatch(r"\w+", name) and name not in FUNCTIONS])
def test_a_function_of_spark_is_no_slip_of_the_pen(name):
    if name != "not":  # not (a)
        assert "there is no function" not in refusal(f"{name}(a)").fault


def test_no_function_is_there_and_lacking():
    assert FUNCTIONS.keys() & (_REFUSED.keys() | _BY_GRAMMAR.keys()) == set()
    assert FUNCTIONS.keys() - set(NAMES) == set()


def test_what_is_said_instead_is_there():
    called = {name for remedy in _INSTEAD.values() for name in re.findall(r"(\w+)\(", remedy)}
    assert called - FUNCTIONS.keys() <= {"decimal", "extract", *_BY_GRAMMAR}


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("from_unixtime(a)", "date_format(timestamp_seconds(n)"),
        ("convert_timezone('UTC', 'Europe/Berlin', a)", "from_utc_timestamp(ts, 'Europe/Berlin')"),
        ("Element_At(a, 1)", "a[0], which counts from 0"),
        ("int(a)", "cast(a as int)"),
        ("unix_timestamp(ts)", "unix_seconds(ts)"),
        ("like(a, 'b')", "a like '…'"),
        ("csat(a as int)", "cast"),
        ("lowr(a)", "lower"),
        ("splt(a)", "split"),
        ("floatt(a)", "one of the functions that docs/expressions.md lists"),
    ],
)
def test_a_refusal_names_what_says_the_same_and_no_other_function(text, remedy):
    assert remedy in refusal(text).remedy


def test_a_number_that_is_text_is_said_to_come_from_csv():
    types = {"user": pa.string()}
    for text in ("user + 1", "user > 5"):
        with pytest.raises(ExpressionError) as refused:
            parse(text).bind(types)
        assert "ids and keys of CSV files are texts" in refused.value.remedy
    with pytest.raises(ExpressionError, match=r"cast\(user as double\)"):
        parse("user + 1").bind(types)
