"""The inputs of a kind: the columns, and their types, that it needs of each of its streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Reject = tuple[NDArray[np.bool_], str]
"""A mask of records, shape (n,), and the reason for which these are rejected."""

RowCheck = Callable[[Mapping[str, pa.Array]], Iterable[Reject]]
"""Checks the values of records, n of each; null where the record has none, which is rejected already."""


class ColumnTypes(NamedTuple):
    """The types of a tuple's columns that follow from its source.

    Attributes
    ----------
    key, id : DataType
        string or int64.
    carried : dict
        Of the columns that are carried along, by name in the tuple.
    keys : dict
        Of the columns of which a list of keys is made, string or int64, by the source's name.
    """

    key: pa.DataType = pa.string()
    id: pa.DataType = pa.string()
    carried: Mapping[str, pa.DataType] = {}
    keys: Mapping[str, pa.DataType] = {}

    def of_carried(self, names: Iterable[str]) -> dict[str, pa.DataType]:
        """The types of carried columns; string where a type is not known, as before the source is opened."""
        return {name: self.carried.get(name, pa.string()) for name in names}

    def of_keys(self, names: Iterable[str]) -> dict[str, pa.DataType]:
        """Return the types of the columns of a list of keys; string where a type is not known."""
        return {name: self.keys.get(name, pa.string()) for name in names}


@dataclass(frozen=True)
class Input:
    """An input of a kind: the columns that it needs of a stream beside the times, the key and the id.

    Attributes
    ----------
    columns : dict
        Name in the tuple → the source's column.
    column_types : ColumnTypes
    types : dict
        The Arrow type of each column that is not float64, by name in the tuple: list<double>, binary or string.
    nullable : bool
        Whether the doubles among `columns` may be null; else a record with a null is rejected, as of any other type.
    row_check : callable or None
        The check of the values, beyond that they are there and, if doubles, finite.
    carried : dict
        Columns that are carried along as they are, null or not, such as for answers: name in the tuple → the source's
        column. Their types follow from the source.
    finite : bool
        Whether carried doubles must be finite, as they are computed with.
    derived : dict
        Further columns that the kind needs, by the expressions that give them; the stream's own stand before them.
        Their names are the fields of the query file that have the expressions.
    readers : dict
        The fields of the query file that read carried columns, with the place in an expression, as `emd_join.where:
        1:5`, by name in the tuple.
    """

    columns: Mapping[str, str]
    column_types: ColumnTypes
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    row_check: RowCheck | None = None
    carried: Mapping[str, str] = field(default_factory=dict)
    nullable: bool = False
    finite: bool = False
    derived: Mapping[str, str] = field(default_factory=dict)
    readers: Mapping[str, str] = field(default_factory=dict)

    @property
    def tuple_columns(self) -> list[str]:
        """The columns of a tuple that a kind can need."""
        return ["event_time", "tick", "key", "id", *self.columns, *self.carried]

    @property
    def no_tuples(self) -> pa.RecordBatch:
        """An empty batch of tuples with their ticks and positions."""
        columns = dict.fromkeys(("event_time", "tick", "position"), pa.int64())
        columns |= {"key": self.column_types.key, "id": self.column_types.id}
        columns |= {name: self.types.get(name, pa.float64()) for name in self.columns}
        columns |= self.column_types.of_carried(self.carried)
        return pa.RecordBatch.from_pylist([], pa.schema(columns.items()))


class CheckedTable(NamedTuple):
    """A version of a dimension table that is fit.

    Attributes
    ----------
    types : ColumnTypes
        Of its ids and selected columns; a type is null where there is no row.
    rows : str
        How many rows it has, and which were left out, in words.
    """

    types: ColumnTypes
    rows: str


class TableInput(Protocol):
    """The dimension table that a kind joins its stream with: a file, of which each content is a version."""

    @property
    def path(self) -> Path: ...

    def check(self, content: bytes) -> CheckedTable:
        """Check a version by its content.

        Raises
        ------
        Refused
        """


def common_id_type(inputs: Iterable[Input]) -> pa.DataType:
    """The type of a column that holds ids of every input: string where their types differ."""
    types = {each.column_types.id for each in inputs}
    return pa.string() if len(types) > 1 else types.pop()
