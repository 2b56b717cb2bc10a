"""Records of CSV: their bounds in bytes, as a quoted field may contain newlines and commas.

A malformed record, such as one with text after a closing quote or with an unclosed quote, consists of its first line
alone, so that it does not swallow the records after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import BinaryIO, NamedTuple

LONGEST_BYTES = 16 << 20
"""The longest record with a quoted field; a longer one is malformed."""

BOM = b"\xef\xbb\xbf"

CR_ALONE = "its lines end in carriage returns alone (CR)"
LF_NEEDED = "lines that end in LF or CRLF, as by: tr '\\r' '\\n'"
"""The fault of lines that end in CR alone, as old spreadsheets write them, and its remedy."""


@lru_cache
def _record_pattern(delimiter: str) -> re.Pattern[bytes]:
    """Return the pattern of a record with its line end."""
    sign = re.escape(delimiter.encode())
    field = rb'(?:"(?:[^"]++|"")*+"|[^"%b\r\n][^%b\r\n]*+|)' % (sign, sign)
    return re.compile(rb"(?>%b(?:%b%b)*+)(?:\r?\n|\Z)" % (field, sign, field))


class Record(NamedTuple):
    """A record's first byte, the end of its line, and whether it is well-formed."""

    start: int
    end: int
    is_well_formed: bool


class Block(NamedTuple):
    """A range of bytes of a file, and the number of records in it."""

    start: int
    end: int
    records: int


def records(text: bytes, is_last: bool = True, delimiter: str = ",") -> Iterator[Record]:
    """Yield the records of a text; if more text comes, without an unfinished record at the end."""
    start, pattern = 0, _record_pattern(delimiter)
    while start < len(text):
        match = pattern.match(text, start)
        ends = match is not None and (text[match.end() - 1 : match.end()] == b"\n" or is_last)
        if match is not None and ends and match.end() - start <= LONGEST_BYTES:
            yield Record(start, match.end(), True)
            start = match.end()
            continue
        if not is_last and len(text) - start <= LONGEST_BYTES:
            return  # more text may close the quote
        end = text.find(b"\n", start) + 1
        if not end and not is_last:
            return
        yield Record(start, end or len(text), False)
        start = end or len(text)


def blocks(file: BinaryIO, start: int, size: int, delimiter: str = ",") -> Iterator[Block]:
    """Cut a file, from a byte on, into blocks of whole records with about `size` bytes."""
    file.seek(start)
    text, is_last = b"", False
    while not is_last:
        data = file.read(size)
        is_last = len(data) < size
        text += data
        end, count = _measure(text, is_last, delimiter)
        if count:
            yield Block(start, start + end, count)
        start, text = start + end, text[end:]


def _measure(text: bytes, is_last: bool, delimiter: str) -> tuple[int, int]:
    """Return the end and number of a text's complete records; without quoted fields, lines are counted."""
    if b'"' not in text:
        end = len(text) if is_last else text.rfind(b"\n") + 1
        return end, text.count(b"\n") + (is_last and text[-1:] not in (b"", b"\n"))
    end = count = 0
    for record in records(text, is_last, delimiter):
        end, count = record.end, count + 1
    return end, count
