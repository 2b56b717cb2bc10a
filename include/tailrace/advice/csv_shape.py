"""Finds the delimiter and the decimal sign of CSV; refuses unreadable CSV, with a command that repairs it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.advice.sample_format import encoding_refusal
from tailrace.ground.errors import refuse
from tailrace.sources.formats.csv_dialect import COMMA, POINT, SEPARATORS, CsvDialect
from tailrace.sources.formats.csv_records import BOM
from tailrace.sources.formats.utf_8 import is_utf_8
from tailrace.sources.segments import SourceFile, open_source

_LOOKED_AT = 1 << 20
_LINES = 100
_DATUM = re.compile(r"\s*[-+]?[\d.,:/TZ +-]*\d[\d.,:/TZ +-]*\s*")
"""Matches a number or a time, which is no column name."""

_QUOTED = re.compile('"[^"]*"')
_NUMBERS = r"^(-?\d+({}\d+)?)?$"
"""Matches a field of a column of numbers with a decimal sign; an empty field is null."""

_NO_THOUSANDS = r",(\d{1,2}|\d{4,})$"
"""Matches a number with a decimal comma; a comma before three digits may separate thousands."""


def delimiter_of(file: SourceFile) -> str:
    """Find the delimiter of a CSV file; refuse one that is empty, no UTF-8, or without a header.

    Raises
    ------
    Refused
        With a command that repairs the file, if there is one.
    """
    with open_source(file) as opened:
        text = opened.read(_LOOKED_AT)
    if not text.strip():
        raise refuse(str(file), "it is empty", "a line with the names of the columns, and a record a line")
    whole = text if len(text) < _LOOKED_AT else text[: text.rfind(b"\n") + 1]
    lines = whole.removeprefix(BOM).splitlines()
    if sum(not is_utf_8(line) for line in lines) * 10 > len(lines) or not is_utf_8(lines[0]):
        raise encoding_refusal(str(file), "LATIN1", "it is no UTF-8, perhaps Latin-1 or Windows-1252")
    readable = [line.decode(errors="replace") for line in lines[:_LINES] if line.strip()]
    plain = [_QUOTED.sub("", line) for line in readable]
    delimiter = next((sign for sign in SEPARATORS if sign != COMMA and _separates(sign, plain)), COMMA)
    first = [field.strip() for field in CsvDialect(delimiter).split(readable[0])]
    if any(_DATUM.fullmatch(field) for field in first):
        names = delimiter.join(f"column{number}" for number in range(1, len(first) + 1))
        named = shlex.quote(f"{Path(str(file)).stem}-named.csv")
        command = f"(echo {shlex.quote(names)}; cat {shlex.quote(str(file))}) > {named}"
        fault = f"its first line names no columns: {readable[0][:60]!r}"
        raise refuse(f"{file}:1", fault, f"a first line with names, as by: {command}")
    if len(readable) == 1:
        raise refuse(str(file), "it has a header and no record", "a file with some records, as many as you have")
    return delimiter


def decimal_of(texts: pa.Table) -> str:
    """Return the decimal sign in a sample's columns of texts.

    It is a comma if more columns of numbers have commas than points. A column in which three digits follow each comma
    does not count, as these may be thousands.
    """
    return COMMA if sum(map(has_decimal_commas, texts.columns)) > sum(map(_has_points, texts.columns)) else POINT


def has_decimal_commas(texts: pa.ChunkedArray) -> bool:
    """Test whether all texts of a column are numbers, some with a decimal comma."""
    is_one = pc.any(pc.match_substring_regex(texts, _NO_THOUSANDS)).as_py()
    return bool(is_one and pc.all(pc.match_substring_regex(texts, _NUMBERS.format(","))).as_py())


def _has_points(texts: pa.ChunkedArray) -> bool:
    """Test whether all texts of a column are numbers, some with a decimal point."""
    is_one = pc.any(pc.match_substring(texts, POINT)).as_py()
    return bool(is_one and pc.all(pc.match_substring_regex(texts, _NUMBERS.format(r"\."))).as_py())


def _separates(separator: str, lines: list[str]) -> bool:
    """Test whether most lines have a character as often as the first line, which has no more commas than that."""
    in_first, commas = lines[0].count(separator), lines[0].count(COMMA)
    if not in_first or in_first < commas:
        return False
    return sum(line.count(separator) == in_first for line in lines) * 10 >= len(lines) * 8
