"""Streams stored as CSV: in UTF-8, with a header in each file, and commas or another delimiter between fields."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from tailrace.ground.errors import Refused, refuse
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.csv_dialect import COMMAS, SEPARATORS, CsvDialect, named, other_delimiter
from tailrace.sources.formats.csv_records import BOM, CR_ALONE, LF_NEEDED, LONGEST_BYTES, blocks, records
from tailrace.sources.formats.csv_types import read_column, shown_types, text_among_numbers, unfit_texts, wrong_value
from tailrace.sources.formats.file_format import ALONE, OtherFiles, SegmentReader
from tailrace.sources.formats.required_columns import require
from tailrace.sources.formats.utf_8 import is_utf_8
from tailrace.sources.segments import (
    NULL,
    MalformedRecord,
    RawSegment,
    Segment,
    SourceFile,
    Types,
    open_source,
    require_taken,
)

BYTES_PER_SEGMENT = 16 << 20  # block size: several readers share a large file, and each holds one block in memory
SAMPLE_BYTES = 1 << 20
_MOST_SAMPLES = 64


class Header(NamedTuple):
    """The names of a file's columns, the byte at which its records begin, and the line itself."""

    names: list[str]
    end: int
    line: str


@dataclass(frozen=True)
class CsvFiles:
    """CSV files; a record with a wrong number of fields, or a wrong value, goes to quarantine alone."""

    connection: str | None = None
    exact: frozenset[str] = frozenset()
    dialect: CsvDialect = COMMAS
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    states_types: ClassVar[bool] = False
    is_log: ClassVar[bool] = False

    def at(self, connection: str | None, exact: frozenset[str] = frozenset()) -> SegmentReader:
        return replace(self, connection=connection, exact=exact)

    def whole(self, path: SourceFile, still: bool) -> bool:
        return still and _ends_with_a_newline(path)

    def types(self, path: SourceFile, columns: SourceMapping, others: OtherFiles = ALONE) -> Types | None:
        """Infer column types from the first records and from earlier files, see `shown_types`."""
        for part, dtype in columns.value_types.items():
            if pa.types.is_list(dtype):
                raise refuse(f"{path}: column {columns.values[part]}", "CSV has no lists", "format: parquet or json")
        with open_source(path) as file:
            header = read_header(path, file, self.dialect)
            if header is None:
                return None
            self._require_delimiter(path, columns, header)
            require(path, columns, header.names)
            names, delimiter = list(dict.fromkeys(columns.named().values())), self.dialect.delimiter
            sample, types = [pa.table({name: pa.array([], pa.string()) for name in names})], None
            for _, block in zip(range(_MOST_SAMPLES), blocks(file, header.end, SAMPLE_BYTES, delimiter), strict=False):
                after = file.tell()
                file.seek(block.start)
                texts = _split(file.read(block.end - block.start), header.names, names, delimiter)
                file.seek(after)
                sample.append(texts.table)
                types = shown_types(pa.concat_tables(sample), columns, others.before, self.dialect)
                if types is not None and NULL not in types.values():
                    break
        return types

    def names(self, path: SourceFile, columns: SourceMapping) -> set[str] | None:
        return None

    def unfit(self, path: SourceFile, columns: SourceMapping) -> dict[str, Any]:
        parts = columns.needed()
        texts = self._sample(path, parts.values())
        return {} if texts is None else unfit_texts(texts.table, parts, columns, self.dialect)

    def texts_among_numbers(self, path: SourceFile, names: Iterable[str]) -> Iterator[tuple[str, int, str]]:
        """Yield columns whose first values are mostly numbers, with the record and text of one that is not a number."""
        texts = self._sample(path, names)
        if texts is None:
            return
        for name, column in zip(texts.table.column_names, texts.table.columns, strict=True):
            if (place := text_among_numbers(column, self.dialect)) is not None:
                yield name, int(texts.row[place]), column[place].as_py()

    def _sample(self, path: SourceFile, names: Iterable[str]) -> _Texts | None:
        """Return the texts of a file's first records; None where it has none."""
        with open_source(path) as file:
            header, delimiter = read_header(path, file, self.dialect), self.dialect.delimiter
            block = None if header is None else next(blocks(file, header.end, SAMPLE_BYTES, delimiter), None)
            if header is None or block is None:
                return None
            file.seek(block.start)
            return _split(file.read(block.end - block.start), header.names, [*dict.fromkeys(names)], delimiter)

    def split(self, path: SourceFile) -> list[Segment]:
        with open_source(path) as file:
            header, delimiter = read_header(path, file, self.dialect), self.dialect.delimiter
            cut = [] if header is None else list(blocks(file, header.end, BYTES_PER_SEGMENT, delimiter))
        of_rows = sum(block.records for block in cut)
        first = [0, *accumulate(block.records for block in cut)]
        return [
            Segment(
                str(path),
                row,
                block.records,
                of_rows=of_rows,
                block_start=block.start,
                block_end=block.end,
                block_row=row,
            )
            for row, block in zip(first, cut, strict=False)
        ]

    def read(self, segment: Segment, types: Types) -> RawSegment:
        header, text = self._content(segment)
        texts = _split(text, header.names, list(types), self.dialect.delimiter)
        first = segment.first_row - segment.block_row
        columns, any_wrong = {}, np.zeros(texts.table.num_rows, bool)
        for name, dtype in types.items():
            columns[name], is_wrong = read_column(texts.table.column(name), dtype, name in self.exact, self.dialect)
            any_wrong |= is_wrong
        malformed = dict(texts.malformed)
        for row, record in zip(
            texts.row[any_wrong].tolist(), texts.table.filter(pa.array(any_wrong)).to_pylist(), strict=True
        ):
            malformed[row] = wrong_value(record, types, self.exact, self.dialect) or "no record that could be read"
        is_taken = ~any_wrong & (texts.row >= first) & (texts.row < first + segment.rows)
        rows = [row for row in sorted(malformed) if first <= row < first + segment.rows]
        faults = [
            MalformedRecord(row - first, malformed[row], record)
            for row, record in zip(rows, self.records(segment, [row - first for row in rows]), strict=True)
        ]
        return RawSegment(pa.table(columns).filter(pa.array(is_taken)), texts.row[is_taken] - first, faults)

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        if not rows:
            return []
        _, text = self._content(segment)
        bounds = list(records(text, delimiter=self.dialect.delimiter))
        first = segment.first_row - segment.block_row
        ends = [bounds[first + row] for row in rows]
        return [text[one.start : one.end].rstrip(b"\r\n").decode(errors="replace") for one in ends]

    def _content(self, segment: Segment) -> tuple[Header, bytes]:
        """Return the header of a segment's file, and the records of its block."""
        path = require_taken(segment, self.connection)
        with open_source(path) as file:
            header = read_header(path, file, self.dialect)
            assert header is not None
            file.seek(segment.block_start or header.end)
            return header, file.read(segment.block_end - segment.block_start if segment.block_end else -1)

    def _require_delimiter(self, path: SourceFile, columns: SourceMapping, header: Header) -> None:
        """Refuse a file whose header has the query's columns with another delimiter than the declared one."""
        wanted = set(columns.named().values())
        other = other_delimiter(header.line, self.dialect, lambda names: len(wanted - set(names)))
        if other is not None:
            raise _other_delimiter(path, other, self.dialect)


class _Texts(NamedTuple):
    """The fields of well-formed records as texts, their rows in the block, and the reasons to reject the others."""

    table: pa.Table
    row: np.ndarray[tuple[int], np.dtype[np.int64]]
    malformed: dict[int, str]


def _split(text: bytes, header: Sequence[str], names: Sequence[str], delimiter: str) -> _Texts:
    """Split records into the fields of the named columns."""
    malformed: dict[int, str] = {}
    good, rows = [], []
    is_all_utf_8 = is_utf_8(text)
    for row, (start, end, is_well_formed) in enumerate(records(text, delimiter=delimiter)):
        record = text[start:end].rstrip(b"\r\n")
        if not is_well_formed:
            malformed[row] = "broken CSV: a quote that is not closed, or text behind one, or a carriage return"
        elif not is_all_utf_8 and not is_utf_8(record):
            malformed[row] = "no UTF-8"
        elif not record and len(header) > 1:  # Arrow would read a record of nulls
            malformed[row] = "an empty line"
        else:
            good.append(record)
            rows.append(row)
    odd: list[tuple[int, int]] = []

    def skip(row: pa.csv.InvalidRow) -> str:
        odd.append((row.number - 1, row.actual_columns))
        return "skip"

    body = b"\n".join(good) + b"\n"
    if not good:
        return _Texts(pa.table({name: pa.array([], pa.string()) for name in names}), np.zeros(0, np.int64), malformed)
    table = pa.csv.read_csv(
        io.BytesIO(body),
        pa.csv.ReadOptions(
            use_threads=False, block_size=len(body) + 2, column_names=[f"{n}" for n in range(len(header))]
        ),
        pa.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=skip
        ),
        pa.csv.ConvertOptions(
            column_types={f"{n}": pa.string() for n in range(len(header))},
            include_columns=[f"{header.index(name)}" for name in names],
            strings_can_be_null=False,
        ),
    )
    for number, fields in odd:
        malformed[rows[number]] = f"{fields} fields, and the header has {len(header)}"
    kept = np.delete(np.asarray(rows, np.int64), [number for number, _ in odd])
    return _Texts(table.rename_columns(list(names)), kept, malformed)


def read_header(path: SourceFile, file: BinaryIO, dialect: CsvDialect = COMMAS) -> Header | None:
    """Return the header of a file; None for an empty file.

    Raises
    ------
    Refused
        When it is empty, not well-formed or not UTF-8; or when lines end in carriage returns alone.
    """
    text = file.read(SAMPLE_BYTES)
    while text and b"\n" not in text and len(text) < LONGEST_BYTES and (more := file.read(SAMPLE_BYTES)):
        text += more
    skipped = len(BOM) if text.startswith(BOM) else 0
    if b"\r" in text and b"\n" not in text:
        raise refuse(str(path), CR_ALONE, LF_NEEDED)
    first = next(records(text[skipped:], delimiter=dialect.delimiter), None)
    if first is None:
        return None
    line = text[skipped : skipped + first.end]
    if not first.is_well_formed and is_utf_8(line):
        _require_delimiter_of_quotes(path, line, dialect)
    if not first.is_well_formed or not is_utf_8(line):
        raise refuse(str(path), "its header can't be read", "a first line with the names of the columns, in UTF-8")
    header = line.decode().rstrip("\r\n")
    names = dialect.split(header) if line.strip(b"\r\n ") else []
    if not names:
        raise refuse(str(path), "its first line is empty", "a first line with the names of the columns")
    return Header(names, skipped + first.end, header)


def _require_delimiter_of_quotes(path: SourceFile, line: bytes, dialect: CsvDialect) -> None:
    """Refuse a header whose quoted names are separated by another delimiter than the declared one."""
    for separator in SEPARATORS:
        is_well_formed = next(records(line, delimiter=separator)).is_well_formed
        if is_well_formed and len(CsvDialect(separator).split(line.decode())) > 1:
            raise _other_delimiter(path, separator, dialect)


def _other_delimiter(path: SourceFile, other: str, dialect: CsvDialect) -> Refused:
    fault = f"its fields are separated by {named(other)}, and not by {named(dialect.delimiter)}"
    sign = named(other).partition(" ")[0]
    return refuse(str(path), fault, f"delimiter: {sign} in the source; or a file with {named(dialect.delimiter)}")


def _ends_with_a_newline(path: SourceFile) -> bool:
    """Test whether the last byte ends a line, or the file is empty.

    A carriage return ends a line only if no line ends in a newline; `read_header` refuses such a file.
    """
    with open_source(path) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(size - 1, 0))
        last = file.read(1)
        file.seek(0)
        return last in (b"\n", b"") or (last == b"\r" and b"\n" not in file.read(SAMPLE_BYTES))
