"""Bounds from the statistics in a Delta table's log, by which a condition skips files."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable

_NULL_BOUND = re.compile(r" [<>]= null\[")  # a field in the text of an expression


def bounded_dataset(table: DeltaTable, where: Any) -> ds.FileSystemDataset:
    """Return the files of an opened table, with bounds only for the columns that a condition names.

    A bound takes time to build, for each column of each file, and again for each scan.
    """
    schema, condition = pa.schema(table.schema().to_arrow()), _text(where)
    partitions = table.metadata().partition_columns  # partition columns are not in files: a bound gives their value
    bounded = [field for field in schema if condition is None or field.name in partitions or field.name in condition]
    dataset = table.to_pyarrow_dataset(schema=pa.schema(bounded))
    fragments = [_without_null_bounds(dataset, fragment) for fragment in dataset.get_fragments()]
    return ds.FileSystemDataset(fragments, schema, dataset.format, dataset.filesystem)


def _text(where: Any) -> str | None:
    """Return a condition as text; None if Arrow cuts a long text within a character."""
    try:
        return "" if where is None else str(where)
    except UnicodeDecodeError:
        return None


def _without_null_bounds(dataset: ds.FileSystemDataset, fragment: ds.ParquetFileFragment) -> ds.ParquetFileFragment:
    """Drop the bounds of a file whose statistics lack a column of the condition, as Delta's library bounds it by null.

    The condition would silently skip all rows of such a file.
    """
    if not _NULL_BOUND.search(str(fragment.partition_expression)):
        return fragment
    return dataset.format.make_fragment(fragment.path, dataset.filesystem)
