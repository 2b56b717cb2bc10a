"""The error model of a kind's answers, which the policies that promise (error, risk) use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.errors import Problem

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]

SAMPLE = pa.schema([(name, pa.int64()) for name in ("tick", "group", "pane", "tuples")])
"""Schema of the columns that every sample has: partials of some keys, whose hash is `group`."""


Promises = Sequence[tuple[str, ...] | None]
"""The answers that each of some policies promises; None: all that are numbers."""


class PromisedAnswers(Protocol):
    """The a columns of a kind's answers that a promise is for. Each of them keeps it by itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the answers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the sample from which the answers follow."""

    @property
    def sums(self) -> tuple[str, ...]:
        """The columns of the sample of which `threshold` needs the sum over each window."""

    @property
    def values(self) -> Mapping[str, str]:
        """The columns of the sample that have single values, of which `threshold` needs some.

        Each with the column that is 1 where a row has a value, else 0.
        """

    def required_slack(self, error: float, window: Ints, need: Ints, columns: Columns) -> Ints:
        """Return the slack K that each answer of m windows needs.

        It is the least K with which, as with any larger one, the window's answer is off by less than `error`.

        Parameters
        ----------
        window, need : ndarray, shape (n,), n ≥ 1
            Of partials: the window's number in [0, m), each of which occurs; the least K (ms) with which the window
            would have held the partial.
        columns : dict of ndarray, shape (n,)
            The partials' `columns`.

        Returns
        -------
        ndarray, shape (a, m)
            In ms.
        """

    def threshold(self, error: float, risk: float, sums: Columns, values: Columns) -> float:
        """Return λ_thr, the share of a window's tuples with which each answer keeps the promise, in (0, 1].

        Parameters
        ----------
        sums : dict of ndarray, shape (m,), m ≥ 1
            The `sums` of some windows of single keys, in doubles.
        values : dict of ndarray, shape (v,)
            Some of the `values`; the number differs from column to column, and may be 0.
        """


class ErrorModel(Protocol):
    """The error model of a kind's answers."""

    @property
    def sample(self) -> pa.Schema:
        """Schema of the kind's sample: `SAMPLE`, and the columns that its answers need."""

    def promised(self, of: tuple[str, ...] | None) -> PromisedAnswers:
        """Return the answers that a promise names; None: all that are numbers."""

    def type_problems(self, of: tuple[str, ...] | None) -> list[Problem]:
        """Return what the types of the answers show to be wrong with a promise: an answer that is no number."""
