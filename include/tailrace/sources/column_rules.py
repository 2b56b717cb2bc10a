"""The column types allowed for each part of a tuple."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from tailrace.expressions.types import column_type
from tailrace.ground.arrow.number_types import is_number
from tailrace.ground.errors import refuse
from tailrace.sources.carried_columns import CARRIABLE, carried_type, score_type
from tailrace.sources.columns import SourceMapping
from tailrace.sources.ids_and_keys import is_grouped_as_is


def value_type(dtype: pa.DataType) -> pa.DataType:
    """Return the value type of a dictionary type; any other type as it is."""
    return dtype.value_type if isinstance(dtype, pa.DictionaryType) else dtype


def _is_time(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(dtype) or pa.types.is_int64(dtype))


def _is_name(dtype: pa.DataType) -> bool:
    if pa.types.is_integer(dtype):
        return bool(not pa.types.is_uint64(dtype))
    return is_text(dtype)


def _is_list_of_numbers(dtype: pa.DataType) -> bool:
    is_list = pa.types.is_list(dtype) or pa.types.is_large_list(dtype) or pa.types.is_fixed_size_list(dtype)
    return bool(is_list and (is_number(dtype.value_type) or pa.types.is_null(dtype.value_type)))  # null: all are empty


def _is_carried(dtype: pa.DataType) -> bool:
    return carried_type(str(dtype)) is not None


def _is_binary(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_binary(dtype) or pa.types.is_large_binary(dtype))


def is_text(dtype: pa.DataType) -> bool:
    """Test whether a type is one of texts."""
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype))


Rule = tuple[Callable[[pa.DataType], bool], str]
"""By part of a tuple: the test for allowed column types, and these types in words."""

_PART_RULES: dict[str, Rule] = {
    "event_time": (_is_time, "a timestamp, or int64 in epoch milliseconds"),
    "arrival_time": (_is_time, "a timestamp, or int64 in epoch milliseconds"),
}
_TIMES = frozenset(_PART_RULES)
_NAME_RULE: Rule = (_is_name, "a string or an integer up to int64")
_KEY_RULE: Rule = (
    lambda dtype: _is_name(dtype) or is_grouped_as_is(dtype),
    "a string, an integer up to int64, a boolean, a date or a timestamp",
)
_VALUE_RULES: dict[pa.DataType, Rule] = {
    pa.float64(): (is_number, "an integer, float or decimal"),
    pa.list_(pa.float64()): (_is_list_of_numbers, "a list of integers, floats or decimals"),
    pa.binary(): (_is_binary, "binary"),
    pa.string(): (is_text, "a string"),
}


_CARRIED_RULE: Rule = (_is_carried, CARRIABLE)
_SCORE_RULE: Rule = (
    lambda dtype: score_type(str(dtype)) is not None,
    "a boolean, an integer, a float, a decimal up to 38 digits, a string, a date or a timestamp",
)
_INPUT_RULE: Rule = (
    lambda dtype: column_type(dtype) is not None,
    f"{CARRIABLE}; or a struct, a list or a map of these",
)


def require_fit(where: str, part: str, dtype: pa.DataType, columns: SourceMapping) -> None:
    """Refuse a column whose type is not allowed for its part of a tuple; type null fits each part.

    Raises
    ------
    Refused
    """
    accepts, remedy = _rule(part, columns)
    if accepts(dtype) or pa.types.is_null(dtype):
        return
    if part in _TIMES and is_text(dtype) and columns.parts()[part] in columns.derived:
        if columns.timezone is not None:
            return
        remedy = f"{remedy}; or ISO 8601 text, and a timezone in the stream that says what texts without a zone mean"
    role = f"it is the query's {part}"
    if part in columns.readers:
        index = columns.readers[part]
        role, where = f"{index.partition(':')[0]} reads it", f"{index}: {where}"
    elif part in columns.free and part not in columns.required:
        role = "answers can't have such a column" if part in columns.carried else "no expression reads such a column"
        role = "it is the key of a lookup" if part in columns.lookup_keys else role
    is_added = columns.parts().get(part) in columns.added  # then its field is `where`
    if part not in columns.readers and not is_added and (field := columns.field_of(part)) is not None:
        where = f"{field}: {where}"
    raise refuse(where, f"its type is {dtype}, but {role}", remedy)


def _rule(part: str, columns: SourceMapping) -> Rule:
    if part in columns.required:
        return _SCORE_RULE
    if part in columns.carried or part in columns.lookup_keys:
        return _CARRIED_RULE
    if part in columns.free:
        return _INPUT_RULE
    if columns.is_name(part):
        return _KEY_RULE if part in columns.key_parts else _NAME_RULE
    return _PART_RULES.get(part) or _VALUE_RULES[columns.value_types[part]]
