"""The inputs of a kind: the columns that it needs of each of its streams, and their types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US
from tailrace.kind.column_use import AGGREGATION, FILTER, IDENTITY, SORT, ColumnUse
from tailrace.kind.table_place import TablePlace

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

Reject = tuple[NDArray[np.bool_], str]
"""A mask of records, shape (n,), and the reason for their rejection."""

RowCheck = Callable[[Mapping[str, pa.Array]], Iterable[Reject]]
"""Checks the values of n records; a value is null if the record has none, and is rejected already."""


FileCheck = Callable[[str, "ParquetFile", Iterable[str]], None]
"""Refuses a Parquet file for its declarations about columns, given its place and the columns that are read."""

_TIMES = ("event_time", EVENT_US, "arrival_time", ARRIVAL_US)


class ColumnTypes(NamedTuple):
    """The types of a tuple's columns that follow from its source.

    Attributes
    ----------
    key, id : DataType
        string or int64; for a key also bool, date32 or a timestamp.
    carried : dict
        The types of the carried columns, by name in the tuple.
    keys : dict
        The types of the columns of a composite key, by the source's name.
    """

    key: pa.DataType = pa.string()
    id: pa.DataType = pa.string()
    carried: Mapping[str, pa.DataType] = {}
    keys: Mapping[str, pa.DataType] = {}

    def of_carried(self, names: Iterable[str]) -> dict[str, pa.DataType]:
        """Return the types of carried columns; string if a type is unknown, such as before the source is opened."""
        return {name: self.carried.get(name, pa.string()) for name in names}

    def of_keys(self, names: Iterable[str]) -> dict[str, pa.DataType]:
        """Return the types of the columns of a composite key; string if a type is unknown."""
        return {name: self.keys.get(name, pa.string()) for name in names}


@dataclass(frozen=True)
class UsedColumns:
    """The columns of a stream that a query's kind uses, with the checks of their values.

    Attributes
    ----------
    uses : tuple of ColumnUse
        The uses of columns in tuples.
    row_check : callable or None
        A further check of the values, which are not null and, if doubles, finite.
    file_check : callable or None
        A check of Parquet files' declarations about their columns, beyond the types.
    """

    uses: tuple[ColumnUse, ...] = ()
    row_check: RowCheck | None = None
    file_check: FileCheck | None = None

    @property
    def values(self) -> dict[str, str]:
        """The columns with types that the kind demands: name in the tuple → the source's column."""
        return {use.part: use.column for use in self.uses if use.dtype is not None}

    @property
    def value_types(self) -> dict[str, pa.DataType]:
        """The types of `values`, by name in the tuple: float64, list<double>, binary or string."""
        return {use.part: use.dtype for use in self.uses if use.dtype is not None}

    @property
    def carried(self) -> dict[str, str]:
        """The columns that are carried along unchanged, such as for answers: name in the tuple → the source's column.

        They may be null, and their types follow from the source.
        """
        return {use.part: use.column for use in self.uses if use.dtype is None}

    @property
    def required(self) -> frozenset[str]:
        """The carried columns that rank tuples, by name in the tuple.

        A record with a null, or a double that is not finite, in one of them is rejected; formats without types read
        them as numbers.
        """
        return frozenset(use.part for use in self.uses if use.way == SORT)

    @property
    def aggregated(self) -> frozenset[str]:
        """The columns whose values are aggregated, by name in the tuple. They may be null, but must be finite."""
        return frozenset(use.part for use in self.uses if use.way == AGGREGATION)

    @property
    def derives(self) -> dict[str, str]:
        """Further columns that the kind needs: name → expression. The stream's own derived columns come first."""
        return {use.column: use.derives for use in self.uses if use.derives is not None}

    @property
    def part_fields(self) -> dict[str, str]:
        """The first field of the query file that names each column, by name in the tuple: `aggregate.cost.column`."""
        return {use.part: use.field for use in reversed(self.uses) if use.field and use.way != FILTER}

    @property
    def readers(self) -> dict[str, str]:
        """The fields of the query file that select or read carried columns, by name in the tuple.

        A field that reads one has the position in an expression: `emd_join.where: 1:5`.
        """
        return {use.part: use.field for use in reversed(self.uses) if use.way in (IDENTITY, FILTER) and use.field}


@dataclass(frozen=True)
class Input(UsedColumns):
    """An input of a kind: the columns that it needs of a stream beside the times, the key and the id.

    Attributes
    ----------
    column_types : ColumnTypes
    """

    column_types: ColumnTypes = ColumnTypes()  # noqa: RUF009 (frozen)

    @property
    def tuple_columns(self) -> list[str]:
        """The columns of a tuple that kinds can use."""
        return ["event_time", "tick", "key", "id", *self.values, *self.carried]

    @property
    def no_tuples(self) -> pa.RecordBatch:
        """An empty batch of tuples with their times, ticks and positions."""
        columns = dict.fromkeys((*_TIMES, "tick", "position"), pa.int64())
        columns |= {"key": self.column_types.key, "id": self.column_types.id}
        columns |= self.value_types | self.column_types.of_carried(self.carried)
        return pa.RecordBatch.from_pylist([], pa.schema(columns.items()))


class CheckedTable(NamedTuple):
    """A version of a dimension table that passed the checks.

    Attributes
    ----------
    types : ColumnTypes
        The types of its ids and selected columns; null for an empty table.
    rows : str
        The numbers of its rows and of rows left out, in words.
    """

    types: ColumnTypes
    rows: str


class TableInput(Protocol):
    """The dimension table that a kind joins its stream with; each content of its source is a version."""

    @property
    def place(self) -> TablePlace: ...

    def check(self, content: bytes, suffix: str | None = None, first: ColumnTypes | None = None) -> CheckedTable:
        """Check a version's content. A suffix names its format; the default is the declared format.

        `first` has the types of the first version, for a later version.

        Raises
        ------
        Refused
        """


def common_id_type(inputs: Iterable[Input]) -> pa.DataType:
    """Return the type of a column for ids of all inputs: string if their types differ."""
    types = {each.column_types.id for each in inputs}
    return pa.string() if len(types) > 1 else types.pop()
