"""The types that a source can bring, some values of each, and what they mean to DuckDB."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class SourceType:
    """A type of a source's column, some of its values, and what they mean to DuckDB.

    Attributes
    ----------
    literal : str
        A value among those, in Spark's SQL and in DuckDB's.
    meaning : DataType
        Its type in DuckDB's table.
    finer : bool
        Whether the file has nanoseconds more than the values.
    """

    dtype: pa.DataType
    values: list[Any]
    literal: str
    meaning: pa.DataType
    finer: bool = False

    def column(self, values: list[Any]) -> pa.Array:
        if self.finer:
            whole = pa.array(values, pa.timestamp("us")).cast(pa.int64())
            nanoseconds = pc.add(pc.multiply(whole, 1000), pa.array([999] * len(values)))
            return nanoseconds.cast(pa.timestamp("ns")).cast(self.dtype)
        if pa.types.is_timestamp(self.dtype) and self.dtype.tz:
            return pa.array(values, pa.timestamp(self.dtype.unit)).cast(pa.int64()).cast(self.dtype)
        if pa.types.is_dictionary(self.dtype):
            return pa.array(values, self.dtype.value_type).dictionary_encode()
        return pa.array(values, self.dtype)

    @property
    def is_number(self) -> bool:
        """Whether it is one of Spark's numbers: a decimal has up to 38 digits."""
        return any(is_one(self.dtype) for is_one in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal128))

    @property
    def is_text(self) -> bool:
        return self.meaning == pa.string()

    @property
    def is_plain(self) -> bool:
        """Whether it has an order in Spark, and answers can have it."""
        is_other = pa.types.is_boolean(self.dtype) or pa.types.is_date32(self.dtype) or self.meaning == MICROS
        return self.is_number or self.is_text or is_other


MICROS = pa.timestamp("us")
SECONDS = [dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2024, 5, 1), dt.datetime(2024, 5, 1, 0, 0, 1)]
MOMENTS = [*SECONDS, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2024, 5, 1, 0, 0, 0, 1)]
THOUSANDTHS = [*SECONDS, dt.datetime(2024, 5, 1, 0, 0, 0, 1000)]
OF_UNIT = {"s": SECONDS, "ms": THOUSANDTHS, "us": MOMENTS, "ns": MOMENTS}
MOMENT = "timestamp '2024-05-01 00:00:00'"


def _integers() -> dict[str, SourceType]:
    found = {}
    for bits in (8, 16, 32, 64):
        for sign, least, most in (("", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1), ("u", 0, 2**bits - 1)):
            dtype = getattr(pa, f"{sign}int{bits}")()
            found[str(dtype)] = SourceType(dtype, sorted({least, 0, 1, 2, most - 1, most}), "1", dtype)
    return found


def _decimals() -> dict[str, SourceType]:
    numbers = [Decimal(text) for text in ("-99.99", "0.00", "0.01", "0.07", "99.99")]
    large = [*numbers, Decimal(f"{10**26}.01"), Decimal(10**26)]
    types = {pa.decimal128(4, 2): numbers, pa.decimal128(38, 10): large, pa.decimal256(50, 2): numbers}
    meanings = {dtype: pa.decimal128(min(dtype.precision, 38), dtype.scale) for dtype in types}
    return {str(dtype): SourceType(dtype, values, "0.01", meanings[dtype]) for dtype, values in types.items()}


def _timestamps() -> dict[str, SourceType]:
    found = {}
    for unit, values in OF_UNIT.items():
        for zone in (None, "UTC", "Europe/Berlin"):
            dtype = pa.timestamp(unit, zone)
            found[str(dtype)] = SourceType(dtype, values, MOMENT, MICROS, unit == "ns")
    return found


DAYS = [dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(2024, 3, 1)]
TEXTS = ["", "B", "a", "é", "z\U0001f600"]
TYPES = {
    **_integers(),
    **_decimals(),
    **_timestamps(),
    "bool": SourceType(pa.bool_(), [True, False], "true", pa.bool_()),
    "float": SourceType(pa.float32(), [-2.5, 0.0, 0.5, 2.0**100], "0.5", pa.float64()),
    "double": SourceType(pa.float64(), [-2.5, 0.0, 0.1, 5e-324, 1e300], "0.1", pa.float64()),
    "string": SourceType(pa.string(), TEXTS, "'a'", pa.string()),
    "large_string": SourceType(pa.large_string(), TEXTS, "'a'", pa.string()),
    "dictionary": SourceType(pa.dictionary(pa.int32(), pa.string()), TEXTS, "'a'", pa.string()),
    "date": SourceType(pa.date32(), DAYS, "date '2024-02-29'", pa.date32()),
    "binary": SourceType(pa.binary(), [b"", b"a"], "'a'", pa.binary()),
    "time": SourceType(pa.time64("us"), [dt.time(0, 0, 1), dt.time(0, 0, 2)], "'00:00:01'", pa.time64("us")),
    "list": SourceType(pa.list_(pa.int64()), [[1], [2, 3]], "'a'", pa.list_(pa.int64())),
    "struct": SourceType(pa.struct({"a": pa.int64()}), [{"a": 1}, {"a": 2}], "1", pa.struct({"a": pa.int64()})),
}
