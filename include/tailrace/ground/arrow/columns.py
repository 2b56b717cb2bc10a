"""Group-by of columns over an integer code, which all kinds use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.arrow.grouping import How, sorted_group
from tailrace.ground.arrow.number_types import EXACT

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_CODE_LIMIT = 1 << 62  # codes below it do not overflow int64


def pair(a: Ints, b: Ints) -> tuple[Ints, Callable[[Ints], tuple[Ints, Ints]]]:
    """Encode pairs of integers as single codes, ordered by `a` and then by `b`, and return the decoding function.

    Parameters
    ----------
    a, b : ndarray, shape (n,)

    Returns
    -------
    code : ndarray, shape (n,)
        Non-negative; equal for equal pairs.
    split : callable
        Takes codes; returns their two parts.
    """
    if not len(a):
        return a, lambda code: (code, code)
    low_a, low_b = int(a.min()), int(b.min())
    span = int(b.max()) - low_b + 1
    if (int(a.max()) - low_a + 1) * span < _CODE_LIMIT:

        def split(code: Ints) -> tuple[Ints, Ints]:
            first, second = np.divmod(code, span)
            return first + low_a, second + low_b

        return (a - low_a) * span + (b - low_b), split
    values_a, rank_a = np.unique(a, return_inverse=True)  # the range is too wide: pair the ranks, at most n of each
    values_b, rank_b = np.unique(b, return_inverse=True)

    def split_ranks(code: Ints) -> tuple[Ints, Ints]:
        first, second = np.divmod(code, len(values_b))
        return values_a[first], values_b[second]

    return rank_a * len(values_b) + rank_b, split_ranks


def group_sums(group_id: Ints, *weights: NDArray[Any]) -> tuple[Ints, list[NDArray[Any]]]:
    """Sum each column, of shape (n,), over the rows of each group; the result is what `group` returns."""
    return group(group_id, *((weight, "sum") for weight in weights))


def group(group_id: Ints, *columns: tuple[NDArray[Any], How]) -> tuple[Ints, list[NDArray[Any]]]:
    """Aggregate each column over the rows of each group: its sum, minimum or maximum.

    Parameters
    ----------
    group_id : ndarray, shape (n,)
    columns : pairs of ndarray, shape (n,), and how
        Integer columns are summed as integers, doubles in the order of the rows. min and max are for doubles except
        NaN, and give 0.0 for −0.0, so that the result does not depend on the order of the two.

    Returns
    -------
    group_id : ndarray, shape (m,)
        The distinct codes; ascending.
    columns : list of ndarray, shape (m,)
    """
    if not len(group_id):
        return group_id, [column for column, _ in columns]
    low, high = int(group_id.min()), int(group_id.max())
    exact = all(column.dtype.kind == "f" or _largest(column) * len(group_id) < EXACT for column, _ in columns)
    if high - low < 4 * len(group_id) + 1024 and exact:  # a dense table of all codes is cheaper than hashing
        offset = group_id - low
        present = np.flatnonzero(np.bincount(offset))
        results = [_dense_group(offset, high - low + 1, *column)[present].astype(column[0].dtype) for column in columns]
        return present + low, results
    if (compiled_group := sorted_group(group_id, low, high, columns)) is not None:
        return compiled_group
    if exact:
        codes, offset = np.unique(group_id, return_inverse=True)
        return codes, [_dense_group(offset, len(codes), *column).astype(column[0].dtype) for column in columns]
    names = list(map(str, range(len(columns))))
    table = pa.table([group_id, *(column for column, _ in columns)], names=["code", *names])
    grouped = table.group_by("code", use_threads=False).aggregate(
        [(name, how) for name, (_, how) in zip(names, columns, strict=True)]
    )
    codes = grouped["code"].to_numpy()
    order = np.argsort(codes)
    results = [grouped[f"{name}_{how}"].to_numpy()[order] for name, (_, how) in zip(names, columns, strict=True)]
    return codes[order], [column + 0.0 if column.dtype == np.float64 else column for column in results]


def _largest(column: NDArray[Any]) -> int:
    """Return the largest magnitude of a column of integers. numpy's `abs` overflows at −2⁶³, so it is not used."""
    return max(-int(column.min()), int(column.max()))


def _dense_group(offset: Ints, size: int, column: NDArray[Any], how: How) -> NDArray[Any]:
    if how == "sum":
        return np.bincount(offset, column)
    extremes = np.full(size, np.inf if how == "min" else -np.inf)
    (np.minimum if how == "min" else np.maximum).at(extremes, offset, column)
    return extremes + 0.0


def encode(column: pa.Array) -> tuple[pa.Array, NDArray[np.int32]]:
    """Dictionary-encode a column as `unify` does: return the dictionary, and the column as codes into it."""
    is_encoded = pa.types.is_dictionary(column.type)
    encoded = column if is_encoded else column.dictionary_encode(null_encoding="encode")
    return encoded.dictionary, np.asarray(encoded.indices)


def unify(columns: Sequence[pa.Array | pa.ChunkedArray]) -> tuple[pa.Array, list[Ints]]:
    """Dictionary-encode several columns with one shared dictionary; null is a value like any other.

    Returns the dictionary, and each column as codes into it. The dictionary is in the order of first occurrence, so the
    first column, where it has no repeats, gets the codes 0, 1, …. A single column may be dictionary-encoded already.
    """
    dtype = columns[0].type
    chunks = [chunk for column in columns for chunk in getattr(column, "chunks", [column])]
    encoded = pa.chunked_array(chunks, dtype).dictionary_encode(null_encoding="encode")  # copies no string
    codes = np.concatenate([np.zeros(0, np.int64), *(np.asarray(chunk.indices) for chunk in encoded.chunks)])
    value_type = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    dictionary = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], value_type)
    return dictionary, list(np.split(codes, np.cumsum([len(column) for column in columns])[:-1]))


def single_batch(table: pa.Table) -> pa.RecordBatch:
    """Return a table's rows as one batch; raise OverflowError if a column of texts or bytes exceeds 2 GiB."""
    batches = table.to_batches()
    if len(batches) > 1:
        batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise OverflowError(f"{table.num_rows:,} rows have a column of more than 2 GiB")
    if batches:
        return batches[0]
    nothing = [column.combine_chunks() for column in table.schema.empty_table().columns]
    return pa.RecordBatch.from_arrays(nothing, schema=table.schema)  # from_pylist has no dictionaries of dates


def without_nan(rows: pa.Table) -> pa.Table:
    """Replace NaN by null, such as the sum of values beyond all doubles."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            column = rows.column(index)
            rows = rows.set_column(index, field.name, pc.if_else(pc.is_nan(column), None, column))
    return rows
