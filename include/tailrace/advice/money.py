"""Which columns of a sample are amounts of money, and with how many digits after the point."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.advice.column_names import MEASURE, MONEY, has_name
from tailrace.ground.number_types import is_number
from tailrace.sources.column_rules import is_text

_CENTS = 2
_MOST = 4
_DIGITS = r"^\s*-?\d+(?:\.(?P<digits>\d*))?\s*$"


def money_scale(name: str, values: pa.ChunkedArray) -> int | None:
    """Return the digits after the point of a column of money; None where its numbers are others.

    All of its texts have two, and its name is of no measurement; or it is named like money, and none has more than
    four. Texts that are no numbers are not looked at. A column of integers or decimals is exact as it is.
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
