"""A bounded sample of a user's data as a table: CSV as texts, other formats as typed values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.advice.csv_shape import decimal_of, delimiter_of, has_decimal_commas
from tailrace.advice.sample_format import DELTA, format_of
from tailrace.ground.errors import refuse
from tailrace.ground.words import counted
from tailrace.sources.columns import SourceMapping
from tailrace.sources.declared_source import Opening
from tailrace.sources.formats.csv_dialect import COMMA, COMMAS, POINT, CsvDialect
from tailrace.sources.formats.csv_files import CsvFiles, read_header
from tailrace.sources.formats.csv_records import blocks
from tailrace.sources.formats.registry import list_files
from tailrace.sources.kafka.kafka_source import KafkaSource
from tailrace.sources.kafka.kafka_topic import APPEND_TIME, ID
from tailrace.sources.segments import Segment, SourceFile, open_source
from tailrace.storage.delta_access import DELTA_TABLES

SAMPLE_BYTES = 1 << 20
"""The most bytes of a text file that are examined; a source examines as many to infer types."""

SAMPLE_ROWS = 10_000
"""The most records of other formats that are examined."""

_JSON_TYPES: tuple[tuple[tuple[type, ...], pa.DataType], ...] = (
    ((bool,), pa.bool_()),
    ((int,), pa.int64()),
    ((int, float), pa.float64()),
    ((str,), pa.string()),
)


@dataclass(frozen=True)
class TableSample:
    """The first records of a source.

    Attributes
    ----------
    source : dict
        The fields of the source in a query file; its path is absolute.
    table : Table
        Its columns of texts, numbers, booleans, dates and timestamps, by name.
    extent : str
        The examined part, in words.
    others : tuple of str
        Columns that are left out because of other types, or because their names are empty or occur twice.
    own : frozenset of str
        The parts of a tuple that the source itself adds: `id`, `arrival_time`.
    """

    source: Mapping[str, str]
    table: pa.Table
    extent: str
    others: tuple[str, ...] = ()
    own: frozenset[str] = field(default_factory=frozenset)

    @property
    def place(self) -> str:
        """The path, or the topic."""
        return self.source.get("path") or self.source["topic"]


def sample_of(path: Path) -> TableSample:
    """Read the first records of a file, of the first file with records in a directory, or of a Delta table.

    Raises
    ------
    Refused
        When there is nothing, or no record, or no source can read it.
    """
    name = format_of(path)
    files = DELTA_TABLES.files(path) if name == DELTA else list_files(path, name)
    for file in files:
        further, table, left = (_csv if name == "csv" else _json if name == "json" else _parquet)(file)
        if table.num_rows:
            among = f" ({counted(len(files), 'file')} in all)" if len(files) > 1 else ""
            extent = f"the first {counted(table.num_rows, 'record')} of {Path(str(file)).name}{among}"
            return _sample({"format": name, "path": str(path.absolute())} | further, table, extent, left=left)
    raise refuse(str(path), "it has no record", "a sample with some records, as many as you have")


def json_table(lines: Iterable[bytes]) -> pa.Table:
    """Return the columns of JSON records; a column with several types keeps its texts, with null for other values."""
    columns: dict[str, list[Any]] = {}
    for number, record in enumerate(_objects(lines)):
        for name in [name for name in record if name not in columns]:
            columns[name] = [None] * number
        for name, values in columns.items():
            values.append(record.get(name))
    return pa.table({name: _json_column(values) for name, values in columns.items()})


def topic_sample(declared: Mapping[str, str]) -> TableSample:
    """Read the first records of a Kafka topic; `declared` has the fields of its source in a query file.

    Raises
    ------
    Refused
        When the topic does not exist, has no record, or its records are no JSON objects.
    """
    source = KafkaSource.model_validate(declared)
    columns = SourceMapping(
        event_time=APPEND_TIME, arrival_time=APPEND_TIME, id=ID, key=None, earliest_ms=0, ahead_ms=0
    )
    segments = source.open(Opening(columns, DELTA_TABLES, 1.0, types={ID: "string"})).fresh()
    if not segments:
        raise refuse(source.uri(), "it has no record", "a topic with some records, as many as you have")
    rows = range(min(segments[0].rows, SAMPLE_ROWS))
    table = json_table(text.encode() for text in source.reader(columns).records(segments[0], rows))
    if not table.num_rows:
        raise refuse(
            source.uri(), "none of its first records is a JSON object", "records whose values are JSON objects"
        )
    return _sample(declared, table, f"the first {counted(len(rows), 'record')} of {source.uri()}", source.own_columns)


def _sample(
    source: Mapping[str, str], table: pa.Table, extent: str, own: Iterable[str] = (), left: Iterable[str] = ()
) -> TableSample:
    """Return a sample of a table; `left` are the columns of the source that the table lacks."""
    is_read = {name: bool(name) and _is_simple(table.schema.field(name).type) for name in table.column_names}
    others = [name for name, is_simple in is_read.items() if not is_simple]
    return TableSample(source, table.drop_columns(others), extent, (*others, *dict.fromkeys(left)), frozenset(own))


def _is_simple(dtype: pa.DataType) -> bool:
    return not (pa.types.is_nested(dtype) or pa.types.is_binary(dtype) or pa.types.is_large_binary(dtype))


_Read = tuple[dict[str, str], pa.Table, list[str]]
"""Fields of the source, the columns, and the names of columns that are left out."""


def _csv(file: SourceFile) -> _Read:
    """Return the fields of a source for its dialect, and the texts of the columns, with decimal points."""
    dialect = CsvDialect(delimiter_of(file))
    with open_source(file) as opened:
        header = read_header(file, opened, dialect)
        block = None if header is None else next(blocks(opened, header.end, SAMPLE_BYTES, dialect.delimiter), None)
    if header is None or block is None:
        return {}, pa.table({}), []
    segment = Segment(str(file), 0, block.records, block_start=block.start, block_end=block.end)
    names = [name for name in header.names if header.names.count(name) == 1]
    left = [name for name in header.names if name not in names]
    table = CsvFiles(dialect=dialect).read(segment, dict.fromkeys(names, "string")).table
    if dialect.delimiter != COMMA:
        dialect = replace(dialect, decimal=decimal_of(table))
    further = {field: sign for field, sign in asdict(dialect).items() if sign != asdict(COMMAS)[field]}
    if dialect.decimal == POINT:
        return further, table, left
    columns = {name: table[name] for name in names}
    table = pa.table(
        {name: dialect.with_points(each) if has_decimal_commas(each) else each for name, each in columns.items()}
    )
    return further, table, left


def _json(file: SourceFile) -> _Read:
    with open_source(file) as opened:
        text = opened.read(SAMPLE_BYTES)
    lines = text.split(b"\n")
    return {}, json_table(islice(lines if len(text) < SAMPLE_BYTES else lines[:-1], SAMPLE_ROWS)), []


def _parquet(file: SourceFile) -> _Read:
    with open_source(file) as opened:
        try:
            content = pq.ParquetFile(opened)
            names = content.schema_arrow.names
            simple = [
                name
                for name in names
                if names.count(name) == 1 and not pa.types.is_nested(content.schema_arrow.field(name).type)
            ]
            batch = next(content.iter_batches(SAMPLE_ROWS, columns=simple), None)
        except pa.ArrowException as error:
            raise refuse(str(file), f"it can't be read as Parquet: {error}", "a file that is whole") from None
    table = pa.table({}) if batch is None else pa.Table.from_batches([batch])
    for index, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(index, column.name, table.column(index).cast(column.type.value_type))
    return {}, table, [name for name in names if name not in simple]


def _objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects among lines, without those that have a text that is not UTF-8."""
    for line in lines:
        with suppress(ValueError, RecursionError):  # a UnicodeEncodeError is a ValueError
            record = json.loads(line.decode("utf-8-sig"))
            if isinstance(record, dict):
                json.dumps(record, ensure_ascii=False).encode()
                yield record


def _json_column(values: list[Any]) -> pa.Array:
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    for types, dtype in _JSON_TYPES:
        if kinds and kinds <= {*types}:
            with suppress(OverflowError):  # for an integer beyond 64 bits
                return pa.array(values, dtype)
    if kinds & {dict, list} or not kinds:
        return pa.array([None] * len(values), pa.null() if not kinds else pa.list_(pa.null()))
    return pa.array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values])
