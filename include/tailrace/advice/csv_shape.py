"""Refuses CSV that no source reads, with a command that mends it: another separator or encoding, or no header."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from tailrace.advice.sample_format import encoding_refusal
from tailrace.ground.errors import Refused, refuse
from tailrace.sources.csv_records import BOM
from tailrace.sources.segments import SourceFile, open_source
from tailrace.sources.utf_8 import is_utf_8

_LOOKED_AT = 1 << 20
_LINES = 100
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_DATUM = re.compile(r"\s*[-+]?[\d.,:/TZ +-]*\d[\d.,:/TZ +-]*\s*")
"""A number, or a time: what names no column."""


def require_readable(file: SourceFile) -> None:
    """Refuse a CSV file that is empty, no UTF-8, without a header, or with another separator than a comma.

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
    for separator, name in _SEPARATORS.items():
        if _separates(separator, readable):
            raise _other_separator(file, separator, name)
    first = [field.strip().strip('"') for field in readable[0].split(",")]
    if any(_DATUM.fullmatch(field) for field in first):
        names = ",".join(f"column{number}" for number in range(1, len(first) + 1))
        named = shlex.quote(f"{Path(str(file)).stem}-named.csv")
        command = f"(echo {names}; cat {shlex.quote(str(file))}) > {named}"
        fault = f"its first line names no columns: {readable[0][:60]!r}"
        raise refuse(f"{file}:1", fault, f"a first line with names, as by: {command}")
    if len(readable) == 1:
        raise refuse(str(file), "it has a header and no record", "a file with some records, as many as you have")


def _separates(separator: str, lines: list[str]) -> bool:
    """Test whether most lines have a character as often as the first line, where commas are no more frequent."""
    in_first, commas = lines[0].count(separator), lines[0].count(",")
    if not in_first or in_first < commas:
        return False
    return sum(line.count(separator) == in_first for line in lines) * 10 >= len(lines) * 8


def _other_separator(file: SourceFile, separator: str, name: str) -> Refused:
    target = f"{Path(str(file)).stem}-commas.csv"
    source, target, delimiter = (json.dumps(text, ensure_ascii=False) for text in (str(file), target, separator))
    script = (
        f'import csv; csv.writer(open({target}, "w", newline="", encoding="utf-8")).writerows('
        f'csv.reader(open({source}, newline="", encoding="utf-8-sig"), delimiter={delimiter}))'
    )
    command = f"python3 -c {shlex.quote(script)}"
    return refuse(str(file), f"its fields are separated by {name}", f"commas between the fields, as by: {command}")
