"""Numbers as doubles: the nearest ones, as Python's own `float` and the cast of expressions give them."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.expressions.projection import Projection
from tailrace.ground.arrow.number_types import as_doubles, cast_values

TYPES = [(4, 2), (10, 2), (15, 0), (16, 8), (18, 2), (23, 23), (38, 10), (38, 18), (38, 37)]


@st.composite
def decimals(draw) -> pa.Array:
    digits, scale = draw(st.sampled_from(TYPES))
    units = draw(st.lists(st.none() | st.integers(1 - 10**digits, 10**digits - 1) | st.integers(-999, 999), max_size=8))
    with localcontext(prec=60):
        values = [None if unit is None else Decimal(unit).scaleb(-scale) for unit in units]
        return pa.array(values, pa.decimal128(digits, scale))


@drawn(200)
@given(decimals(), st.integers(0, 3))
def test_a_decimal_is_the_nearest_double(column, offset):
    column = column.slice(offset)
    expected = [None if value is None else float(value) for value in column.to_pylist()]
    assert as_doubles(column).to_pylist() == expected
    assert as_doubles(pa.chunked_array([column, column])).to_pylist() == expected * 2
    assert as_doubles(column.dictionary_encode()).to_pylist() == expected


@drawn(20)
@given(decimals())
def test_the_cast_of_expressions_gives_the_same(column):
    derived = Projection((("x", "cast(d as double)"),), None, (("d", column.type),))
    assert derived.run(pa.table({"d": column})).table["x"].to_pylist() == as_doubles(column).to_pylist()


@pytest.mark.parametrize("of", [pa.list_, pa.large_list, lambda dtype: pa.list_(dtype, 2)])
def test_the_numbers_of_lists_are_the_nearest_doubles(of):
    lists = pa.array([[Decimal("4.35"), Decimal("99.99")], None, [Decimal("0.07"), None]], of(pa.decimal128(10, 2)))
    for column in (lists, lists.slice(1), pa.chunked_array([lists])):
        values = cast_values(column, pa.list_(pa.float64()))
        assert values.type == pa.list_(pa.float64())
        assert values.to_pylist()[-1] == [0.07, None]
    assert cast_values(lists, pa.list_(pa.float64())).to_pylist()[0] == [4.35, 99.99]


def test_other_numbers_are_cast_as_they_are():
    assert as_doubles(pa.array([1, None, (1 << 53) + 1])).to_pylist() == [1.0, None, 2.0**53]
    assert as_doubles(pa.array([0.5], pa.float32())).to_pylist() == [0.5]
    assert as_doubles(pa.nulls(2)).to_pylist() == [None, None]
