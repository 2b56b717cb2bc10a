"""Converts rows in memory, in any of the accepted forms, to an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from numbers import Number
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.errors import refuse
from tailrace.sources.column_rules import is_text
from tailrace.sources.time_zones import has_zone

_FORMS = "an Arrow table, a pandas or Polars data frame, a DuckDB relation, a list of dicts, or a dict of columns"

_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError)  # errors for values of several types
_TIME = r"^\s*\d{4}-\d{2}-\d{2}"


def as_table(rows: Any) -> pa.Table:
    """Return rows of any of the accepted forms as an Arrow table.

    Raises
    ------
    Refused
        When they have another form, or a column has values of several types.
    """
    try:
        return _plain(_converted(rows))
    except _ERRORS as error:
        raise refuse("rows", f"they are no table of columns of one type each: {error}", _FORMS) from None


def _converted(rows: Any) -> pa.Table:
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
        return _from_pandas(rows)
    if isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(name for row in rows for name in row)  # a row may lack a column
        rows = {name: [row.get(name) for row in rows] for name in names}
    if isinstance(rows, Mapping):
        return pa.table({name: _column(values) for name, values in rows.items()})
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.table(rows)
    raise refuse("rows", f"{type(rows).__name__} is no table", _FORMS)


def _from_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except _ERRORS:
        names = [name for name in frame if frame[name].dtype == object]
        mixed = {name: texts for name in names if (texts := _texts_of(frame[name])) is not None}
        return pa.Table.from_pandas(frame.assign(**mixed), preserve_index=False)


def _column(values: Any) -> pa.Array | pa.ChunkedArray:
    try:
        return pa.array(values)
    except _ERRORS:
        if (texts := _texts_of(values)) is None:
            raise
        return pa.array(texts)


def _texts_of(values: Iterable[Any]) -> list[str | None] | None:
    """Convert values to texts if some are texts and the others numbers or times; else return None.

    So a wrong text among numbers makes a column of texts, as in a CSV file.
    """
    kinds = {type(value) for value in values}
    if str not in kinds or not all(issubclass(kind, (str, Number, date, NoneType)) for kind in kinds):
        return None
    return [None if value is None or value != value else _text(value) for value in values]  # noqa: PLR0124 (NaN)


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def with_times(table: pa.Table, names: Iterable[str | None]) -> pa.Table:
    """Parse the named columns from texts to timestamps.

    A column with some texts that are no times stays unchanged: the records with these are rejected.

    Raises
    ------
    Refused
        When no text is a time, or some texts of a column have a zone and others have none.
    """
    for name in names:
        index = -1 if name is None else table.schema.get_field_index(name)
        if index >= 0 and is_text(table.schema.field(index).type):
            table = table.set_column(index, name, _times(name, table.column(index)))
    return table


def _times(name: str | None, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return texts.cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:
        pass
    try:
        return texts.cast(pa.timestamp("us"))
    except pa.ArrowInvalid as error:
        times = texts.filter(pc.match_substring_regex(texts, _TIME)).combine_chunks()
        if len(times) and len(np.unique(has_zone(times))) == 1:
            return texts
        remedy = "ISO 8601 texts, all with a zone or none; timestamps; or integers in epoch milliseconds"
        raise refuse(f"rows: column {name}", f"a text is no time: {error}", remedy) from None


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without dictionary-encoded columns, and without views of strings and bytes."""
    for index, name in enumerate(table.column_names):
        column = table.column(index)
        if pa.types.is_dictionary(column.type):
            column = pa.chunked_array(map(_decoded, column.chunks), _plain_type(column.type.value_type))
        table = table.set_column(index, name, column.cast(_plain_type(column.type)))
    return table.replace_schema_metadata(None)


def _plain_type(dtype: pa.DataType) -> pa.DataType:
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(dtype, dtype)


def _decoded(codes: pa.DictionaryArray) -> pa.Array:
    """Decode a dictionary-encoded array; Arrow can't decode a dictionary of views itself."""
    values = codes.dictionary.cast(_plain_type(codes.dictionary.type))
    return pa.DictionaryArray.from_arrays(codes.indices, values).dictionary_decode()
