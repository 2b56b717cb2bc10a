"""Carried columns: which types can be, and their values, which are the source's."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.ground.arrow.times import TIME
from tailrace.sources.carried_columns import carried_type, carried_values, holds_all

FIRST_US, LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999  # of the years 1 and 9999
SAME = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.string()]
SAME += [pa.date32(), pa.decimal128(38, 10), pa.decimal128(5, 0), TIME]
OTHERS = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.date64(): pa.date32(),
    pa.decimal256(20, 3): pa.decimal128(20, 3),
    pa.timestamp("s"): TIME,
    pa.timestamp("ns", "Europe/Berlin"): TIME,
}
NONE = [pa.uint64(), pa.binary(), pa.large_binary(), pa.time32("s"), pa.time64("us"), pa.duration("s"), pa.null()]
NONE += [pa.list_(pa.int64()), pa.struct({"a": pa.int64()}), pa.map_(pa.string(), pa.int64()), pa.binary(3)]
NONE += [pa.decimal256(39, 0), pa.decimal128(5, -2), pa.list_(pa.timestamp("s"))]


@pytest.mark.parametrize(("kind", "expected"), [*OTHERS.items(), *zip(SAME, SAME, strict=True)], ids=str)
def test_a_type_is_carried_as_it_is_or_as_the_next_that_tables_have(kind, expected):
    assert carried_type(str(kind)) == expected


@pytest.mark.parametrize("kind", NONE, ids=str)
def test_other_types_are_not_carried(kind):
    assert carried_type(str(kind)) is None


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.uint8(), [0, 255, None]),
        (pa.uint32(), [2**32 - 1, None]),
        (pa.int64(), [-(2**63), 2**63 - 1]),
        (pa.float16(), [np.float16(0.1), None]),
        (pa.float32(), [float("inf"), 1.5, None]),
        (pa.bool_(), [True, None]),
        (pa.string_view(), ["é\0", "", None]),
        (pa.decimal256(20, 3), [Decimal("-12345678901234567.891"), None]),
        (pa.date64(), [date(1, 1, 1), date(9999, 12, 31), None]),
    ],
    ids=str,
)
def test_values_are_those_of_the_source(kind, values):
    column = pa.array(values, kind)
    found, outside = carried_values(column, carried_type(str(kind)))
    assert found.type == carried_type(str(kind))
    assert found.to_pylist() == column.to_pylist()
    assert not outside.any()


def test_a_dictionary_is_decoded():
    column = pa.array(["a", None, "a"], pa.large_string()).dictionary_encode()
    assert carried_values(column, pa.string())[0].equals(pa.array(["a", None, "a"]))
    times = pa.array([1, None, 1], pa.timestamp("ms")).dictionary_encode()
    assert carried_values(times, TIME)[0].equals(pa.array([1000, None, 1000], TIME))


def test_nan_stays_and_is_no_null():
    found, outside = carried_values(pa.array([float("nan")]), pa.float64())
    assert (found.null_count, np.isnan(found.to_numpy()).all(), outside.any()) == (0, True, False)


PER_UNIT = {"s": 1_000_000, "ms": 1000, "us": 1}


@given(unit=st.sampled_from([*PER_UNIT, "ns"]), values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.none()))
def test_timestamps_are_floored_to_microseconds_and_stay_in_the_calendar(unit, values):
    zone = "Asia/Tokyo" if len(values) % 2 else None
    found, outside = carried_values(pa.array(values, pa.int64()).cast(pa.timestamp(unit, zone)), TIME)
    micros = [None if v is None else v // 1000 if unit == "ns" else v * PER_UNIT[unit] for v in values]
    beyond = [each is not None and not FIRST_US <= each <= LAST_US for each in micros]
    assert outside.tolist() == beyond
    expected = [None if out else each for each, out in zip(micros, beyond, strict=True)]
    assert found.cast(pa.int64()).to_pylist() == expected
    assert found.type == TIME


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_the_calendar_has_the_years_1_to_9999(unit):
    ends = [FIRST_US - 1, FIRST_US, LAST_US, LAST_US + 1]
    column = pa.array([end // PER_UNIT[unit] for end in ends], pa.timestamp(unit))
    found, outside = carried_values(column, TIME)
    assert outside.tolist() == [True, False, False, True]
    assert found[1].as_py() == datetime(1, 1, 1, tzinfo=UTC)
    assert found[2].as_py().year == 9999


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_dates_stay_in_the_calendar(kind):
    days = [-719_163, -719_162, 2_932_896, 2_932_897]
    stored = pa.array([day * 86_400_000 for day in days]) if kind == pa.date64() else pa.array(days, pa.int32())
    found, outside = carried_values(stored.cast(kind), pa.date32())
    assert outside.tolist() == [True, False, False, True]
    assert found.to_pylist() == [None, date(1, 1, 1), date(9999, 12, 31), None]


WIDER = [
    (pa.int64(), pa.int8()),
    (pa.float64(), pa.float32()),
    (pa.decimal128(12, 3), pa.decimal128(10, 2)),
    (pa.string(), pa.string()),
    (TIME, TIME),
]
APART = [
    (pa.int64(), pa.float64()),
    (pa.float64(), pa.int8()),
    (pa.string(), pa.int64()),
    (pa.bool_(), pa.int8()),
    (pa.int64(), pa.decimal128(5, 0)),
    (pa.date32(), TIME),
    (pa.decimal128(10, 2), pa.decimal128(10, 1)),
    (pa.decimal128(10, 2), pa.decimal128(9, 3)),
]


@pytest.mark.parametrize(("kind", "other"), WIDER, ids=str)
def test_a_wider_type_holds_a_narrower_one(kind, other):
    assert holds_all(kind, other)
    assert holds_all(other, kind) is (kind == other)


@pytest.mark.parametrize(("kind", "other"), APART, ids=str)
def test_types_of_two_families_do_not_hold_each_other(kind, other):
    assert not holds_all(kind, other)
    assert not holds_all(other, kind) or pa.types.is_decimal(kind)
