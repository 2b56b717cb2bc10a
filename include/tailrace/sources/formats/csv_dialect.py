"""The dialect of CSV files: the delimiter of fields, and the decimal separator."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.fields import field_error

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""The delimiters that files commonly have, in words."""

DELIMITER, DECIMAL = (
    "delimiter of fields in CSV, a comma by default: ;",
    "decimal separator of numbers in CSV, a point by default: ','",
)
"""The descriptions of the fields in a query file."""

COMMA, POINT = ",", "."
_QUOTED = re.compile('"[^"]*"')
_NO_DELIMITERS = set('"\r\n\0+-_.')


@dataclass(frozen=True)
class CsvDialect:
    """The delimiter of fields, and the decimal separator.

    Attributes
    ----------
    delimiter : str
        One ASCII character.
    decimal : str
        A point or a comma. With a comma, a text with a point is no number: it may be a separator of thousands.
    """

    delimiter: str = COMMA
    decimal: str = POINT

    def with_points(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """Replace the decimal separator by a point; a text that already has a point becomes no number."""
        if self.decimal == POINT:
            return texts
        return pc.replace_substring(pc.replace_substring(texts, POINT, "?"), self.decimal, POINT)

    def split(self, line: str) -> list[str]:
        """Split a line without its end into fields; a line that can't be split, as a field is too long, stays whole."""
        try:
            return next(csv.reader([line], delimiter=self.delimiter), [])
        except csv.Error:
            return [line]


COMMAS = CsvDialect()
"""The default dialect."""


def named(separator: str) -> str:
    """Return a delimiter as written in a query file, with its name."""
    sign = {"\t": "\\t"}.get(separator, separator)
    return f'"{sign}" ({SEPARATORS[separator]})' if separator in SEPARATORS else repr(separator)


def other_delimiter(line: str, dialect: CsvDialect, lacks: Callable[[list[str]], int]) -> str | None:
    """Return a delimiter that yields more of the wanted names in a header than the declared one; None without one.

    Parameters
    ----------
    lacks : callable
        Returns how many of the wanted names are missing from some names.
    """
    missing = {separator: lacks(CsvDialect(separator).split(line)) for separator in SEPARATORS}
    best = min(missing, key=lambda separator: missing[separator])
    return best if missing[best] < lacks(dialect.split(line)) else None


def most_frequent_delimiter(line: str) -> str:
    """Return the most frequent delimiter of a header, outside of quotes; a comma among equals."""
    return max(SEPARATORS, key=_QUOTED.sub("", line).count)


def valid_delimiter(value: Any) -> Any:
    """Check a delimiter of a query file; a comma, the default, is the same as none.

    Raises
    ------
    PydanticCustomError
    """
    if value is None or value == COMMA:
        return None
    if (
        not isinstance(value, str)
        or len(value) != 1
        or not value.isascii()
        or value.isalnum()
        or value in _NO_DELIMITERS
    ):
        raise field_error(f"{value!r} is no delimiter", 'one ASCII character in quotes, such as ";", "\\t" or "|"')
    return value


def valid_decimal(value: Any) -> Any:
    """Check a decimal sign of a query file; a point, the default, is the same as none.

    Raises
    ------
    PydanticCustomError
    """
    if value is None or value == POINT:
        return None
    if value != COMMA:
        raise field_error(f"{value!r} is no decimal sign", '"," or ".", in quotes')
    return value
