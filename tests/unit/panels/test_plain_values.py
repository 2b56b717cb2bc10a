"""Values that go to a browser as JSON."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

import pytest

from tailrace.panels.cells import LONGEST
from tailrace.panels.plain_values import plain, text_of


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
