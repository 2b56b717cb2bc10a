"""Values as cells: exact, plain, and cut."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from tailrace.panels.cells import LONGEST, cells_of, plain, text_of

INF = float("inf")


@pytest.mark.parametrize(
    ("name", "dtype", "values", "type_", "cells"),
    [
        ("n", pa.int64(), [1, None, 1 << 53], "number", [1, None, 1 << 53]),
        ("n", pa.int64(), [1, None, (1 << 53) + 1], "text", ["1", None, "9007199254740993"]),
        ("n", pa.int64(), [-(1 << 63)], "text", ["-9223372036854775808"]),
        ("window_end", pa.int64(), [5, None], "time", [5, None]),
        ("seen", pa.timestamp("us", "UTC"), [1_500_000, None], "time", [1500, None]),
        ("x", pa.float64(), [0.1, float("nan"), INF, -INF, None], "number", [0.1, None, None, None, None]),
        (
            "x",
            pa.decimal128(38, 2),
            [Decimal("123456789012345678901234567890.10"), None],
            "text",
            ["123456789012345678901234567890.10", None],
        ),
        ("x", pa.decimal128(10, 8), [Decimal("0E-8")], "text", ["0.00000000"]),
        ("key", pa.int64(), [7, None], "text", ["7", None]),
        ("left_id", pa.string(), ["<b>", None], "text", ["<b>", None]),
        ("flag", pa.bool_(), [True, None], "text", ["true", None]),
        ("day", pa.date32(), [date(2020, 1, 2)], "text", ["2020-01-02"]),
        ("bins", pa.list_(pa.float64()), [[1.0, 2.5]], "text", ["[1.0, 2.5]"]),
        ("shape", pa.binary(), [b"\x01\xff"], "text", ["01ff"]),
        ("t", pa.string(), ["é" * (LONGEST + 1)], "text", ["é" * LONGEST + "… (2,001 characters in all)"]),
        ("t", pa.string(), ["é" * LONGEST], "text", ["é" * LONGEST]),
    ],
)
def test_a_value_is_as_json_can_hold_it(name, dtype, values, type_, cells):
    (head,), (rows, none) = cells_of(
        [pa.table({name: pa.array(values, dtype)}), pa.table({name: pa.array([], dtype)})], [name]
    )
    assert (head.name, head.type) == (name, type_)
    assert [row[0] for row in rows] == cells
    assert none == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((each, each) for each in (None, True, "text", 7, -(2**53), 0.5)),
        (2**53 + 1, "9007199254740993"),
        (-(2**60), "-1152921504606846976"),
        (float("nan"), None),
        (float("-inf"), None),
        (Decimal("0.10"), "0.10"),
        (date(2020, 2, 29), "2020-02-29"),
        ({"bounds": [1, 2**60, float("inf")], "of": ("a", None)}, {"bounds": [1, str(2**60), None], "of": ["a", None]}),
    ],
)
def test_a_value_becomes_json_that_javascript_reads_without_loss(value, expected):
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


def test_a_key_or_an_id_is_text_and_a_long_one_is_cut():
    assert [text_of(each) for each in (None, 7, "k")] == [None, "7", "k"]
    long = "x" * 2_000_000
    assert text_of(long) == plain(long) == f"{'x' * LONGEST}… (2,000,000 characters in all)"
    assert text_of("x" * LONGEST) == "x" * LONGEST
