"""An aggregate function as one object, from which sections, SQL, promises, corrections and reference are derived."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.functions.accumulators import Accumulator, Count
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.number_types import is_number
from tailrace.ground.arrow.value_column import ValueColumn, restored, stored_type
from tailrace.windows.panes import Arrays


class SecondColumn(NamedTuple):
    """A further column of the tuples that a function takes, and its type; its values may be null."""

    source: str
    dtype: pa.DataType


class Values(NamedTuple):
    """The values to which a function is bound.

    Attributes
    ----------
    source : str or None
        The column of the tuples. None means the condition itself, which is null if not true.
    dtype : DataType
        Its type.
    id_type : DataType
        The type of the tuples' ids.
    condition : str or None
        A boolean column of the tuples; if it is not true, the value is null.
    second : SecondColumn or None
        The second column of a function with two.
    """

    source: str | None
    dtype: pa.DataType
    id_type: pa.DataType = pa.string()
    condition: str | None = None
    second: SecondColumn | None = None

    @property
    def column(self) -> str:
        """The name of these values, unique within the query."""
        return (self.source or "") if self.condition is None else f"{self.condition}:{self.source or ''}"

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns of the tuples that are read, by name."""
        own = {} if self.source is None else {self.source: self.dtype}
        return own if self.second is None else own | {self.second.source: self.second.dtype}

    def read(self, tuples: pa.RecordBatch) -> ValueColumn:
        """Return the values of tuples."""
        if self.condition is None:
            return ValueColumn(tuples.column(self.source))
        holds = tuples.column(self.condition)
        values = holds if self.source is None else tuples.column(self.source)
        return ValueColumn(pc.if_else(holds.fill_null(False), values, pa.scalar(None, values.type)))


@dataclass(frozen=True)
class BoundFunction:
    """A function bound to a column; a frozen value that is sent to every worker.

    Attributes
    ----------
    result : DataType
        The type of its answers.
    accumulators : tuple of Accumulator
        The accumulators that it needs of a window's tuples.
    finish : callable
        Returns the answers of m windows from the columns of the accumulators and of `measure`.
    measure : callable or None
        Returns further columns of m windows from the rows of each; only for functions that keep values.
    count : Count or None
        Set if the result type can overflow. Then a null, infinite or NaN answer of a window with values is an overflow,
        as values are finite.
    """

    result: pa.DataType
    accumulators: tuple[Accumulator, ...]
    finish: Callable[[Arrays], pa.Array]
    measure: Callable[[GroupedRows, Arrays], Arrays] | None = None
    count: Count | None = None


Bind = Callable[[Values, Mapping[str, Any]], BoundFunction]
"""Binds a function to the values of a column, given its parameters."""

_ACCEPTS: dict[str, Callable[[pa.DataType], bool]] = {
    "numbers": is_number,
    "booleans": pa.types.is_boolean,
    "any": lambda dtype: True,
}


@dataclass(frozen=True)
class Function:
    """An aggregate function.

    Attributes
    ----------
    name : str
        Its name in query files.
    bind : callable
        Binds it to a column of a known type; returns result type, accumulators and the computation of answers.
    gives : str
        Its answers in words, for the reference.
    takes : str
        The values that it takes: `numbers`, `booleans`, or `any`.
    sql : tuple of str
        Its calls in SQL text, with fields of a query file as arguments; the first one is used for writing. If empty,
        its own name is called.
    columns : tuple of str
        The fields of a query file with the columns that it takes. A null in the first one leaves a tuple out.
    needs_name : bool
        Whether it must have a name in the answers, as it takes two columns, or its answer is no number.
    parameters : tuple of str
        Further fields of a query file beside the function.
    options : dict
        Boolean fields of a query file beside the function, each with the SQL call that sets it.
    of_distinct : str or None
        The function over distinct values, which the refusal of DISTINCT suggests; its own name if it is such a
        function.
    amended_as : str or None
        The function that merges answers over parts of a window. None: windows with late tuples are evaluated from
        history.
    needs_column : bool
        Whether a query must name a column.
    in_order : bool
        Whether its answers depend on the order of tuples.
    in_own_type : bool
        Whether it reads a column in its own type even without a name, as large integers would be equal as doubles.
    keeps_values : bool
        Whether it needs all values of a window at once, unless it is approximate.
    threshold : callable or None
        Returns the coverage threshold λ_thr from error, risk, population and parameters, see `promise.threshold`; None
        if it is unknown.
    threshold_of_part : callable or None
        λ_thr if tuples with a null value, or a condition that is not true, count as 0. None if it is unknown, because
        the number of missing values does not follow from the missing tuples.
    """

    name: str
    bind: Bind
    gives: str
    takes: Literal["numbers", "booleans", "any"] = "numbers"
    sql: tuple[str, ...] = ()
    columns: tuple[str, ...] = ("column",)
    needs_name: bool = False
    parameters: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    of_distinct: str | None = None
    amended_as: str | None = None
    needs_column: bool = True
    in_order: bool = False
    in_own_type: bool = False
    keeps_values: bool = False
    threshold: Callable[..., float] | None = None
    threshold_of_part: Callable[..., float] | None = None

    @property
    def calls(self) -> tuple[str, ...]:
        """Its calls in SQL text; the first one is used for writing."""
        others = (name for name in self.columns if name != "column")
        own = f"{self.name}({', '.join(['column', *others, *self.parameters])})"
        return self.sql or (own,)

    def accepts(self, dtype: pa.DataType) -> bool:
        """Test whether it takes values of a type."""
        return _ACCEPTS[self.takes](dtype)


def to_integers(name: str, columns: Arrays) -> pa.Array:
    """Return a column of accumulators as integers, without nulls."""
    return pa.array(columns[name], pa.int64())


def to_doubles(count: str, name: str, columns: Arrays) -> pa.Array:
    """Return a column of accumulators as doubles, with null for no value."""
    return pa.array(columns[name], pa.float64(), mask=columns[count] == 0)


def to_type(count: str, name: str, dtype: pa.DataType, columns: Arrays) -> pa.Array:
    """Return a column of stored values in their type, with null for no value."""
    return restored(pa.array(columns[name], stored_type(dtype)), columns[count] == 0, dtype)
