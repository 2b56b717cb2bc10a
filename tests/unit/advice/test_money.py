"""Which columns are money: by their names, or by two digits after the point in each of their texts."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from tailrace.advice.column_profile import money_scale


@pytest.mark.parametrize(
    ("name", "values", "scale"),
    [
        ("x", ["12.30", "5.00", "n/a", "", None, "-1.25"], 2),
        ("x", ["12.30", "5.0"], None),
        ("x", ["12", "5"], None),
        ("temperature", ["12.30", "5.00"], None),
        ("amount", ["12", "5"], 2),
        ("amount", ["12.5", "1.125"], 3),
        ("amount", ["0.12345"], None),
        ("amount", ["n/a"], None),
        ("amount", [], None),
        ("Total price", [12.5, 3.0, None], 2),
        ("x", [12.25, 3.25], None),
        ("amount", [1 / 3], None),
        ("amount", [1, 2], None),
        ("amount", [Decimal("1.25")], None),
    ],
)
def test_the_digits_of_money(name, values, scale):
    column = pa.array(values) if values else pa.array([], pa.string())
    assert money_scale(name, pa.chunked_array([column])) == scale
