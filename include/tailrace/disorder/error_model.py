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
Arrays = Mapping[str, NDArray[Any]]

SAMPLE = pa.schema([(name, pa.int64()) for name in ("tick", "group", "pane", "tuples")])
"""Schema of the columns that every sample has: partials of some keys, whose hash is `group`."""


Promises = Sequence[tuple[str, ...] | None]
"""For each of some policies, the columns of answers that it promises; None for all numeric ones."""


class PromisedAnswers(Protocol):
    """The a columns of a kind's answers that a promise covers. Each must keep the promise by itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns in the answers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the sample from which the answers are computed."""

    @property
    def sums(self) -> tuple[str, ...]:
        """The columns of the sample whose sums over windows `threshold` needs."""

    @property
    def values(self) -> Mapping[str, str]:
        """The columns of single values in the sample, some of which `threshold` needs.

        Each is mapped to the column that is 1 if a row has a value, else 0.
        """

    def required_slack(self, error: float, window: Ints, need: Ints, columns: Arrays) -> Ints:
        """Return the slack K that each answer of m windows needs to keep the promise.

        It is the least K from which the window's answer is off by less than `error`.

        Parameters
        ----------
        window, need : ndarray, shape (n,), n ≥ 1
            For each partial: the window's number in [0, m), each of which occurs; and the least K (ms) with which the
            window would have held the partial.
        columns : dict of ndarray, shape (n,)
            The partials' `columns`.

        Returns
        -------
        ndarray, shape (a, m)
            In ms.
        """

    @property
    def is_estimated(self) -> bool:
        """Whether a promised answer is an estimate, so that its error does not always fall with K."""

    def off(
        self, error: float, window: Ints, need: Ints, columns: Arrays, age: Ints, expected: tuple[Floats, Floats]
    ) -> NDArray[np.bool_]:
        """Test which answers of m windows are off by `error` or more when the windows close at given ages.

        The first parameters are as in `required_slack`.

        Parameters
        ----------
        age : ndarray, shape (l,)
            How far t_max is beyond the windows' end when they close, in ms.
        expected : pair of ndarray, shape (l,)
            The coverage that is expected at each age, and its spread, see `CoverageCurves`.

        Returns
        -------
        ndarray, shape (a, m, l)
        """

    def threshold(self, error: float, risk: float, sums: Arrays, values: Arrays) -> float:
        """Return λ_thr, the share of a window's tuples with which each answer keeps the promise, in (0, 1].

        Parameters
        ----------
        sums : dict of ndarray, shape (m,), m ≥ 1
            The `sums` of some windows of single keys, in doubles.
        values : dict of ndarray, shape (v,)
            Some of the `values`; their number differs by column, and may be 0.
        """


class ErrorModel(Protocol):
    """The error model of a kind's answers."""

    @property
    def sample(self) -> pa.Schema:
        """Schema of the kind's sample: `SAMPLE`, and the columns that its answers need."""

    def promised(self, of: tuple[str, ...] | None) -> PromisedAnswers:
        """Return the answers that a promise names; None means all numeric ones."""

    def type_problems(self, of: tuple[str, ...] | None) -> list[Problem]:
        """Return the problems of a promise that follow from the answers' types, such as a non-numeric answer."""
