"""Profiles of the columns of a sample: properties of their values that decide their part in a query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.advice.column_names import MEASURE, MONEY, has_name
from tailrace.advice.quoting import shown
from tailrace.advice.time_forms import DateOrder, TimeForm, time_form
from tailrace.ground.arrow.number_types import is_number
from tailrace.sources.column_rules import is_text
from tailrace.sources.formats.csv_types import read_narrowest

_NUMBER = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True)
class ColumnProfile:
    """The values of a column of a sample.

    Attributes
    ----------
    dtype : DataType
        Its type; for texts the narrowest type that has all values.
    rows, nulls, distinct : int
        The number of records, of records without a value, and of distinct values.
    numbers : float
        The share of its values that are numbers.
    time : TimeForm or None
        The form of its times; None if it has none.
    is_counting : bool
        Whether it holds consecutive integers.
    is_named : bool
        Whether it can be a tuple's id or key, as its values are texts or integers.
    example : str
        Its first value.
    money : int or None
        For amounts of money, the digits after the point; None for other numbers, or exact ones.
    """

    name: str
    dtype: pa.DataType
    rows: int
    nulls: int
    distinct: int
    numbers: float
    time: TimeForm | None
    is_counting: bool
    is_named: bool
    example: str
    money: int | None = None

    @property
    def values(self) -> int:
        """The number of its values that are not null."""
        return self.rows - self.nulls

    @property
    def uniqueness(self) -> float:
        """The share of records with a unique value."""
        return self.distinct / self.rows if self.rows else 0.0

    def line(self) -> str:
        """Return the profile in a line."""
        dtype = self.dtype if self.time is None else f"{self.time.words} ({self.time.share:.0%} of them)"
        nulls = f", {self.nulls:,} empty" if self.nulls else ""
        return f"{shown(self.name, 40)}: {dtype}, {self.distinct:,} different{nulls}, as {self.example}"


def profiles_of(table: pa.Table, order: DateOrder | None = None) -> dict[str, ColumnProfile]:
    """Profile the columns of a table; `order` is as for `time_form`."""
    return {name: _profile(name, table.column(name), order) for name in table.column_names}


def _profile(name: str, column: pa.ChunkedArray, order: DateOrder | None) -> ColumnProfile:
    present = column.drop_null()
    is_of_texts = is_text(column.type)
    if is_of_texts:
        column = column.cast(pa.string())
    narrow = read_narrowest(pc.fill_null(column, "")) if is_of_texts else column
    return ColumnProfile(
        name=name,
        dtype=narrow.type,
        rows=len(column),
        nulls=column.null_count,
        distinct=pc.count_distinct(present).as_py(),
        numbers=_share_of_numbers(present),
        time=time_form(column, order),
        is_counting=_is_counting(narrow),
        is_named=is_of_texts or (pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type)),
        example=shown(str(present[0].as_py()), 40) if len(present) else "nothing",
        money=money_scale(name, present),
    )


def _share_of_numbers(values: pa.ChunkedArray) -> float:
    if is_number(values.type):
        return 1.0
    if not len(values) or not is_text(values.type):
        return 0.0
    return float(pc.mean(pc.match_substring_regex(values, _NUMBER).cast(pa.float64())).as_py())


def _is_counting(column: pa.ChunkedArray) -> bool:
    if not pa.types.is_integer(column.type) or column.null_count or len(column) < 2:  # noqa: PLR2004 (a difference)
        return False
    return bool((np.diff(np.asarray(column.combine_chunks())) == 1).all())


_CENTS = 2
_MOST = 4
_DIGITS = r"^\s*-?\d+(?:\.(?P<digits>\d*))?\s*$"


def money_scale(name: str, values: pa.ChunkedArray) -> int | None:
    """Return the digits after the point of a column of money; None for other numbers.

    A column is money if all its texts have two digits and its name is of no measurement; or if it is named like money,
    and none has more than four. Texts that are no numbers are ignored. A column of integers or decimals is already
    exact.
    """
    digits = _digits(values)
    if digits is None:
        return None
    least, most = digits
    is_named = has_name(name, MONEY) and most <= _MOST
    has_cents = is_text(values.type) and least == most == _CENTS and not has_name(name, MEASURE)
    return max(most, _CENTS) if is_named or has_cents else None


def _digits(values: pa.ChunkedArray) -> tuple[int, int] | None:
    """Return the fewest and the most digits after the point; None without numbers."""
    if is_text(values.type):
        texts = values.cast(pa.string())
    elif is_number(values.type) and pa.types.is_floating(values.type):
        texts = values.cast(pa.float64()).cast(pa.string())
    else:
        return None
    digits = pc.struct_field(pc.extract_regex(texts.drop_null(), _DIGITS), "digits").drop_null()
    if not len(digits):
        return None
    least_and_most = pc.min_max(pc.binary_length(digits)).as_py()
    return least_and_most["min"], least_and_most["max"]
