"""Long decimals: Spark's result types, and values that exact fractions give, rounded half up."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.projection import NamedError, Projection

EXACT = Context(prec=100)
FEW = drawn(150)


def sparks_type(sign: str, p1: int, s1: int, p2: int, s2: int) -> tuple[int, int]:
    """The rule of Spark SQL with `spark.sql.decimalOperations.allowPrecisionLoss`, its default."""
    match sign:
        case "*":
            precision, scale = p1 + p2 + 1, s1 + s2
        case "/":
            scale = max(6, s1 + p2 + 1)
            precision = p1 - s1 + s2 + scale
        case "%":
            scale = max(s1, s2)
            precision = min(p1 - s1, p2 - s2) + scale
        case _:
            scale = max(s1, s2)
            precision = max(p1 - s1, p2 - s2) + scale + 1
    return (precision, scale) if precision <= 38 else (38, max(38 - (precision - scale), min(scale, 6)))


def exact(sign: str, one: Fraction, other: Fraction) -> Fraction:
    if sign == "%":
        quotient = abs(one) // abs(other)
        rest = abs(one) - quotient * abs(other)
        return rest if one >= 0 else -rest
    return {"+": one + other, "-": one - other, "*": one * other, "/": one / (other or 1)}[sign]


def rounded(value: Fraction, scale: int) -> int:
    """Units in a scale, half away from zero."""
    units = (2 * abs(value) * 10**scale + 1) // 2
    return int(units if value >= 0 else -units)


@st.composite
def types(draw: st.DrawFn) -> tuple[int, int]:
    precision = draw(st.sampled_from([1, 5, 10, 18, 20, 28, 37, 38]))
    return precision, draw(
        st.one_of(st.sampled_from(sorted({0, min(2, precision), precision})), st.integers(0, precision))
    )


def numbers(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    units = st.one_of(st.integers(-most, most), st.integers(-999, 999), st.sampled_from([0, 1, -1, most, -most]))
    some = st.integers(0, precision).flatmap(lambda digits: st.integers(-(10**digits), 10**digits))
    return st.one_of(units, some).map(lambda unit: Decimal(max(min(unit, most), -most)).scaleb(-scale, EXACT))


@FEW
@given(st.data(), st.sampled_from("+-*/%"), types(), types())
def test_a_result_is_the_exact_one_in_sparks_type(
    data, sign: str, one: tuple[int, int], other: tuple[int, int]
) -> None:
    pairs = data.draw(st.lists(st.tuples(numbers(*one), numbers(*other)), min_size=1, max_size=8))
    table = pa.table(
        {
            "a": pa.array([pair[0] for pair in pairs], pa.decimal128(*one)),
            "b": pa.array([pair[1] for pair in pairs], pa.decimal128(*other)),
        }
    )
    precision, scale = sparks_type(sign, *one, *other)
    projection = Projection.parse({"out": f"a {sign} b"}, None, dict(zip("ab", table.schema.types, strict=True)))
    if is_beyond(sign, one, other, precision, scale):
        with pytest.raises(ExpressionError, match="right would be: cast"):
            _ = projection.derived_types
        return
    assert projection.derived_types["out"] == pa.decimal128(precision, scale)
    projected = projection.run(table)
    failed = {row for failure in projected.failures for row in failure.mask.nonzero()[0].tolist()}
    for row, (a, b) in enumerate(pairs):
        value = projected.table.column("out")[row].as_py()
        if sign in "/%" and b == 0:
            assert (row in failed, value) == (True, None)
            continue
        units = rounded(exact(sign, Fraction(a), Fraction(b)), scale)
        if abs(units) >= 10**precision:
            assert (row in failed, value) == (True, None)
        else:
            assert row not in failed
            assert value == Decimal(units).scaleb(-scale, EXACT), (a, sign, b)


def is_beyond(sign: str, one: tuple[int, int], other: tuple[int, int], precision: int, scale: int) -> bool:
    """Whether 38 digits don't hold what is computed on the way."""
    (p1, s1), (p2, s2) = one, other
    whole = max(p1 - s1, p2 - s2)
    match sign:
        case "*":
            return s1 + s2 - scale > 38
        case "%":
            return whole + max(s1, s2) > 38
        case "/":
            more = scale - s1 + s2
            return more < 0 or min(p1, p2) + more > 38
        case _:
            return whole + scale > 38 and precision == 38


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("money * count", pa.decimal128(38, 2), Decimal("246913578.02")),
        ("money / count", pa.decimal128(38, 12), Decimal("61728394.505000000000")),
        ("money + count", pa.decimal128(29, 2), Decimal("123456791.01")),
        ("money % count", pa.decimal128(22, 2), Decimal("1.01")),
        ("large / count", pa.decimal128(38, 6), Decimal("0.500000")),
        ("large * money", pa.decimal128(38, 4), Decimal("123456789.0100")),
        ("large - money", pa.decimal128(38, 2), Decimal("-123456788.01")),
    ],
)
def test_sums_of_money_go_with_counts(text: str, dtype: pa.DataType, value: Decimal) -> None:
    table = pa.table(
        {
            "money": pa.array([Decimal("123456789.01")], pa.decimal128(28, 2)),
            "large": pa.array([Decimal("1.00")], pa.decimal128(38, 2)),
            "count": pa.array([2], pa.int64()),
        }
    )
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    projection = Projection.parse({"out": text}, None)
    projection = projection.over({name: types[name] for name in projection.inputs})
    out = projection.run(table).table.column("out")
    assert (out.type, out.to_pylist()) == (dtype, [value])


@pytest.mark.parametrize("sign", "+-*/%")
def test_null_beside_zero_is_null_and_no_failure(sign: str) -> None:
    dtype = pa.decimal128(28, 2)
    table = pa.table({"a": pa.array([None], dtype), "b": pa.array([Decimal("0.00")], dtype)})
    projected = Projection.parse({"out": f"a {sign} b"}, None, {"a": dtype, "b": dtype}).run(table)
    assert projected.failures == []
    assert projected.table.column("out").to_pylist() == [None]


@pytest.mark.parametrize(
    ("one", "sign", "other", "right"),
    [
        (("1.0000025", 38, 20), "*", ("0.2", 38, 20), "0.200001"),
        (("-1.0000025", 38, 20), "*", ("0.2", 38, 20), "-0.200001"),
        (("1.0000024999", 38, 20), "*", ("0.2", 38, 20), "0.200000"),
        (("9" * 18 + "." + "9" * 20, 38, 20), "*", ("1.5", 38, 20), "1500000000000000000.000000"),
        (("-1", 38, 10), "+", ("0.0000000005", 38, 30), "-1.000000000"),
        (("1", 38, 10), "+", ("-0.0000000005", 38, 30), "1.000000000"),
        (("-1", 38, 10), "-", ("-0.00000000051", 38, 30), "-0.999999999"),
        (("0.0000000005", 38, 30), "-", ("1", 38, 10), "-1.000000000"),
        (("7", 38, 2), "/", ("3000000", 20, 0), "0.000002"),
        (("-5", 38, 2), "/", ("2000000", 20, 0), "-0.000003"),
    ],
)
def test_halves_are_rounded_away_from_zero(one: tuple, sign: str, other: tuple, right: str) -> None:
    columns = {}
    for name, (text, precision, scale) in (("a", one), ("b", other)):
        columns[name] = pa.array([Decimal(text)], pa.decimal128(precision, scale))
    types = {name: column.type for name, column in columns.items()}
    projected = Projection.parse({"out": f"a {sign} b"}, None, types).run(pa.table(columns))
    assert [str(each) for each in projected.table.column("out").to_pylist()] == [right]


@pytest.mark.parametrize("sign", ["+", "*"])
def test_a_result_of_more_digits_than_its_type_has_fails(sign: str) -> None:
    large = pa.array([Decimal("9" * 38), Decimal(1)], pa.decimal128(38, 0))
    projected = Projection.parse({"out": f"a {sign} a"}, None, {"a": large.type}).run(pa.table({"a": large}))
    assert projected.table.column("out").to_pylist() == [None, Decimal(2 if sign == "+" else 1)]
    (failure,) = projected.failures
    assert failure.mask.tolist() == [True, False]
    assert "overflow" in failure.reason


def test_a_common_type_that_holds_not_all_digits_is_refused() -> None:
    types = {"a": pa.decimal128(38, 0), "b": pa.decimal128(38, 10)}
    with pytest.raises(NamedError, match=r"has 48 digits, and a decimal 38: Spark would round it"):
        assert Projection.parse({"out": "coalesce(a, b)"}, None, types).derived_types
