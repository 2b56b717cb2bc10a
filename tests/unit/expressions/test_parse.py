"""Expressions are refused where they are more than a scalar over a record's own columns: with a place and a remedy."""

from __future__ import annotations

import pytest

from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.expression import parse

REFUSED = {
    "(select 1)": "subquery",
    "a in (select b)": "in without a list",
    "exists(select 1)": "subquery",
    "sum(a)": "an aggregate",
    "sum(a) over (partition by b)": "window",
    "count(*)": "an aggregate",
    "count(a) filter (where b)": "aggregate",
    "rand()": "chance",
    "uuid()": "chance",
    "now()": "the clock",
    "current_timestamp()": "the clock",
    "current_date": "the clock",
    "input_file_name()": "outside of the record",
    "java_method('java.lang.System', 'getenv', 'HOME')": "outside of the record",
    "read_csv('x.csv')": "no function read_csv",
    "read_text('/etc/passwd')": "no function read_text",
    "getenv('HOME')": "no function getenv",
    "glob('*')": "no function glob",
    "query('select 1')": "no function query",
    "error('x')": "no function error",
    "explode(a)": "a function of several rows",
    "json_value_0(a)": "no function json_value_0",
    "plain_number(a)": "no function plain_number",
    "filter(a, x -> x > 1)": "filter is a function of Spark SQL that expressions lack",
    "lower(x -> x)": "->",
    ":p": "a parameter",
    "?": "a parameter",
    "@x": "a parameter",
    "${x}": "no expression",
    "*": "*",
    "a.*": "*",
    "a; b": "several statements",
    "a b": "second expression",
    "a as b": "second expression",
    "": "empty",
    "   ": "empty",
    "a +": "no expression",
    "lower(a": "no expression",
    "lower(distinct a)": "aggregate",
    "lower()": "lower has 0 arguments",
    "lower(a, b)": "lower has 2 arguments",
    "interval 1 day": "an interval",
    "a = b = c": "a comparison beside a comparison",
    "a < b = c": "a comparison beside a comparison",
    "a rlike '\\d'": "escape",
    "'a' 'b'": "two texts",
    "select a from 'x.csv'": "subquery",
    "from 'x.csv'": "subquery",
    "copy (select 1) to '/tmp/x'": "copy",
    "attach '/tmp/x.db'": "no expression",
    "install httpfs": "second expression",
    "pragma version": "pragma",
    "set threads = 2": "set",
    "a like any ('a', 'b')": "any",
    "cast(a as date format 'x')": "strtodate",
    "x'ab'": "hexstring",
    "a between symmetric 1 and 2": "symmetric",
    "a & b": "bitwiseand",
    "a[0:1]": "slice",
    "a or " * 200 + "a": "nested too deep",
    "(" * 2000 + "a" + ")" * 2000: "nested too deep",
    "a + " * 4000 + "a": "characters",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40])
def test_what_is_no_scalar_expression_is_refused(text):
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    assert REFUSED[text] in refused.value.fault
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("text", "position", "remedy"),
    [
        ("a +\n  lowr(b)", (2, 3), "lower"),
        ("a > 0 and\n\n(b = sbstring(a, 1))", (3, 6), "substring"),
        ("a = 1 and b = '\\d'", (1, 16), "\\\\d, or r'…' for a text in which \\ is a character"),
        ("coalesce(a, now())", (1, 13), "the stream's own times"),
        ("a > sum(b)", (1, 5), "an aggregate of the query: aggregate: {function: …}"),
        ("replace(a, 'x')", (1, 1), "replace(text, search, replacement)"),
    ],
)
def test_an_error_has_its_place_and_the_nearest_that_is_right(text, position, remedy):
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    assert (tuple(refused.value.position), refused.value.remedy) == (position, remedy)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a + b.c.d * `x y`", ("a", "b", "x y")),
        ("case when a is null then lower(b) else 'a' end", ("a", "b")),
        ("`a.b`.c[d] is not null and a in (1, e)", ("a.b", "d", "a", "e")),
        ("1 + 2", ()),
        ("cast(a as decimal(18, 2)) -- b", ("a",)),
    ],
)
def test_the_columns_of_an_expression_are_those_of_the_source(text, columns):
    assert sorted(parse(text).columns) == sorted(columns)


@pytest.mark.parametrize("name", ["count", "user", "first", "sum", "date", "timestamp", "rank", "year", "version"])
def test_a_column_may_be_called_as_a_function(name: str) -> None:
    assert parse(f"{name} = 1").columns == (name,)
