"""Errors of answers by column: a kind whose answers have several columns of values measures each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from tailrace.ground.columns import Floats
from tailrace.ground.number_types import is_number
from tailrace.kind.protocol import Kind


@runtime_checkable
class MeasuredByColumn(Protocol):
    """A kind whose answers have columns of values under names, each of which is measured by itself."""

    names: tuple[str, ...]

    def errors_by_column(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Return the identity of every exact answer and, by the name of each column of values, its error.

        An error is as in `Kind.errors`.
        """


class ColumnErrors(NamedTuple):
    """The errors of n answers.

    Attributes
    ----------
    identity : RecordBatch
        Of the answers, and further columns.
    by_column : dict of ndarray, shape (n,)
        By the column of answers; None: the answer as a whole, of a kind that measures no columns.
    """

    identity: pa.RecordBatch
    by_column: dict[str | None, Floats]


def column_errors(kind: Kind, approximate: pa.Table, exact: pa.Table) -> ColumnErrors:
    """Return the errors of approximate answers against the exact ones, by column."""
    if not isinstance(kind, MeasuredByColumn):
        errors = kind.errors(approximate, exact)
        return ColumnErrors(errors, {None: np.asarray(errors.column("error"))})
    errors = kind.errors_by_column(approximate, exact)
    return ColumnErrors(errors, {name: np.asarray(errors.column(name)) for name in kind.names})


def promised_columns(kind: Kind, of: Sequence[str] | None) -> tuple[str | None, ...]:
    """Return the columns of answers for each of which a promise holds, in the order of answers.

    `of` names them; None: they are the numeric ones, or all where none is numeric. (None,): a promise holds for
    answers as wholes, of a kind that measures no columns.
    """
    if not isinstance(kind, MeasuredByColumn):
        return (None,)
    if of is not None:
        return tuple(name for name in kind.names if name in of)
    types = {name: kind.answer.field(name).type for name in kind.names}
    numeric = tuple(name for name, dtype in types.items() if is_number(dtype))
    return numeric or kind.names
