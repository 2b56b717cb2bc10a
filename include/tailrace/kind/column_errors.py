"""Errors of answers by column, for kinds that measure each column of values separately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from tailrace.ground.arrow.columns import Floats
from tailrace.ground.arrow.number_types import is_number
from tailrace.kind.protocol import Kind


@runtime_checkable
class MeasuredByColumn(Protocol):
    """A kind whose answers have named columns of values, each of which is measured separately."""

    names: tuple[str, ...]

    def errors_by_column(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Return the identity of every exact answer, and the error of each column of values under its name.

        An error is as in `Kind.errors`.
        """


class ColumnErrors(NamedTuple):
    """The errors of n answers.

    Attributes
    ----------
    identity : RecordBatch
        The identity of the answers, and further columns.
    by_column : dict of ndarray, shape (n,)
        The errors by column of answers; the name None stands for the whole answer, if a kind measures no columns.
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
    """Return the columns of answers that a promise covers, in the order of answers.

    `of` names them; None means the numeric ones, or all if none is numeric. The result is (None,) if a kind measures no
    columns: then the promise is about whole answers.
    """
    if not isinstance(kind, MeasuredByColumn):
        return (None,)
    if of is not None:
        return tuple(name for name in kind.names if name in of)
    types = {name: kind.answer.field(name).type for name in kind.names}
    numeric = tuple(name for name, dtype in types.items() if is_number(dtype))
    return numeric or kind.names
