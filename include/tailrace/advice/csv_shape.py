"""Finds what separates the fields of CSV; refuses CSV that no source reads, with a command that mends it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tailrace.advice.sample_format import encoding_refusal
from tailrace.ground.errors import refuse
from tailrace.sources.csv_dialect import COMMA, SEPARATORS, CsvDialect
from tailrace.sources.csv_records import BOM
from tailrace.sources.segments import SourceFile, open_source
from tailrace.sources.utf_8 import is_utf_8

_LOOKED_AT = 1 << 20
_LINES = 100
_DATUM = re.compile(r"\s*[-+]?[\d.,:/TZ +-]*\d[\d.,:/TZ +-]*\s*")
"""A number, or a time: what names no column."""

_BY_COMMA, _BY_POINT = (re.compile(rf"[-+]?\d+{sign}\d+") for sign in (",", r"\."))


def dialect_of(file: SourceFile) -> CsvDialect:
    """Find the dialect of a CSV file; refuse one that is empty, no UTF-8, or without a header.

    Raises
    ------
    Refused
        With a command that mends the file, where there is one.
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
    dialect = _dialect(readable)
    first = [field.strip() for field in dialect.split(readable[0])]
    if any(_DATUM.fullmatch(field) for field in first):
        names = dialect.delimiter.join(f"column{number}" for number in range(1, len(first) + 1))
        named = shlex.quote(f"{Path(str(file)).stem}-named.csv")
        command = f"(echo {shlex.quote(names)}; cat {shlex.quote(str(file))}) > {named}"
        fault = f"its first line names no columns: {readable[0][:60]!r}"
        raise refuse(f"{file}:1", fault, f"a first line with names, as by: {command}")
    if len(readable) == 1:
        raise refuse(str(file), "it has a header and no record", "a file with some records, as many as you have")
    return dialect


def _dialect(lines: list[str]) -> CsvDialect:
    """Return what separates the fields of some lines, and the decimals of their numbers."""
    delimiter = next((sign for sign in SEPARATORS if sign != COMMA and _separates(sign, lines)), COMMA)
    by_points = CsvDialect(delimiter)
    if delimiter == COMMA:
        return by_points
    fields = [field.strip() for line in lines[1:] for field in by_points.split(line)]
    has_commas = any(map(_BY_COMMA.fullmatch, fields)) and not any(map(_BY_POINT.fullmatch, fields))
    return CsvDialect(delimiter, COMMA) if has_commas else by_points


def _separates(separator: str, lines: list[str]) -> bool:
    """Test whether most lines have a character as often as the first line, where commas are no more frequent."""
    in_first, commas = lines[0].count(separator), lines[0].count(COMMA)
    if not in_first or in_first < commas:
        return False
    return sum(line.count(separator) == in_first for line in lines) * 10 >= len(lines) * 8
