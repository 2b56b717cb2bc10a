"""Histograms as columns: from Arrow lists to a matrix of shares, and the check of a stream's histograms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.kind.inputs import Reject

Histograms = NDArray[np.float64]
"""The shares of the n bins of m histograms, shape (m, n): not negative, of sum 1."""


@dataclass(frozen=True)
class HistogramCheck:
    """The check of a stream's histograms (`kind.inputs.RowCheck`); invalid ones are quarantined.

    Attributes
    ----------
    name : str
        The column, by its name in the tuple.
    bins : int
        The number of bins that each must have.
    """

    name: str
    bins: int

    def __call__(self, values: Mapping[str, pa.Array]) -> Iterator[Reject]:
        lists = values[self.name]
        lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
        count = len(lists)
        yield lengths != self.bins, f"the histogram has not {self.bins} bins"
        flat = pc.list_flatten(lists)
        parent = np.repeat(np.arange(count), lengths)
        mass = np.asarray(flat.fill_null(np.nan), np.float64)
        yield _any(parent, ~np.isfinite(mass), count), "a bin of the histogram is null, NaN or infinite"
        yield _any(parent, mass < 0, count), "a bin of the histogram is negative"
        sums = np.bincount(parent, np.where(np.isfinite(mass), mass, 0.0), count)
        yield sums <= 0, "the histogram has no mass"
        yield ~np.isfinite(sums), "the mass of the histogram is more than doubles can add up"


def shares(lists: pa.Array, bins: int) -> Histograms:
    """Return the share of each bin: masses divided by their sum; shape (m, bins)."""
    mass = np.asarray(pc.list_flatten(lists), np.float64).reshape(-1, bins)
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _any(parent: NDArray[np.int64], is_bad: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Test which of `count` lists have a bad element."""
    has_any = np.zeros(count, bool)
    has_any[parent[is_bad]] = True
    return has_any
