"""Arrow's numeric types."""

from __future__ import annotations

import pyarrow as pa


def is_number(dtype: pa.DataType) -> bool:
    """Test whether a type holds integers, decimals or floats."""
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype))
