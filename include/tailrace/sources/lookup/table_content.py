"""Reads columns of a table from the content of a file: Parquet, or the texts of CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tailrace.ground.arrow.times import INT96_UNIT
from tailrace.ground.errors import refuse
from tailrace.ground.words import floored_of
from tailrace.kind.table_place import require_columns
from tailrace.sources.formats.csv_dialect import COMMAS, named, other_delimiter
from tailrace.sources.formats.utf_8 import not_utf_8
from tailrace.sources.time_units import is_finer

PARQUET = (".parquet", ".geoparquet")

_WHOLE_FILE = (1 << 31) - 1  # the largest block of Arrow's CSV reader, which accepts no longer row
_LINE_END = re.compile(rb"[\r\n]")


def parquet_columns(where: str, content: bytes, columns: Sequence[str], formats: str) -> pa.Table:
    """Read columns of a Parquet file; `formats` names the other formats allowed.

    Raises
    ------
    Refused
        When it is not a Parquet file, lacks a column, or has a text that is not UTF-8.
    """
    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(content), coerce_int96_timestamp_unit=INT96_UNIT)
        require_columns(where, file.schema_arrow.names, tuple(columns))
        table = file.read(columns=[*dict.fromkeys(columns)], use_threads=False)
    except UnicodeDecodeError as error:
        raise refuse(where, f"the name of a column is no UTF-8: {error.object!r}", "names in UTF-8") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise refuse(where, f"it is no Parquet file: {error}", formats) from None
    for name, column in zip(table.column_names, table.columns, strict=True):
        if (faulty := not_utf_8(column)) is not None:
            row = int(np.flatnonzero(faulty)[0]) + 1
            raise refuse(f"{where}: {name}", f"the text of row {row} is no UTF-8", "texts in UTF-8")
    return table


def with_floored(rows: str, table: str, content: bytes, suffix: str, columns: Sequence[str]) -> str:
    """Add to the words for a table's number of rows which columns have times finer than microseconds."""
    if suffix not in PARQUET:
        return rows
    schema = pa.parquet.read_schema(pa.BufferReader(content))
    nanoseconds = [name for name in dict.fromkeys(columns) if getattr(schema.field(name).type, "unit", None) == "ns"]
    finer = [name for name in nanoseconds if is_finer(parquet_columns(table, content, [name], "")[name])]
    return f"{rows}; {floored_of('the table', finer)}" if finer else rows


def csv_texts(where: str, content: bytes, columns: Sequence[str]) -> pa.Table:
    """Read the texts of columns of a CSV file; an empty one is null.

    Raises
    ------
    Refused
        When it is not a CSV file, has another delimiter than a comma, or lacks a column.
    """
    texts = dict.fromkeys(columns, pa.string())
    _require_commas(where, content, columns)
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(content),
            pa.csv.ReadOptions(use_threads=False, block_size=min(max(len(content), 1) + 1, _WHOLE_FILE)),
            pa.csv.ParseOptions(newlines_in_values=True),
            pa.csv.ConvertOptions(column_types=texts),
        )
        require_columns(where, table.column_names, tuple(columns))
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError) as error:
        remedy = "UTF-8, a header, and as many fields in each row"
        raise refuse(where, f"it is no CSV file: {error}", remedy) from None
    return pa.table(
        {name: pc.if_else(pc.equal(table[name], ""), pa.scalar(None, pa.string()), table[name]) for name in texts}
    )


def _require_commas(where: str, content: bytes, columns: Sequence[str]) -> None:
    """Refuse a table whose header has the columns with another delimiter."""
    end = _LINE_END.search(content)
    line = content[: None if end is None else end.start()].decode("utf-8-sig", errors="replace")
    other = other_delimiter(line, COMMAS, lambda names: len({*columns} - {*names}))
    if other is not None:
        fault = f"its fields are separated by {named(other)}, and those of a table by {named(COMMAS.delimiter)}"
        raise refuse(where, fault, "commas between the fields; or Parquet")
