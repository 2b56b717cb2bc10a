"""The section `topk` of a query file: the number of tuples, and the score that ranks them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field

from tailrace.ground.arrow.times import SEPARATORS
from tailrace.ground.fields import Column, Section, field_error, renamed_in_sql
from tailrace.kind.column_use import IDENTITY, SORT, ColumnUse
from tailrace.tables.every import ANSWERED

BASELINES = ("sma", "mintopk", "gstopk")
"""The methods that do not wait."""

PREFIX = "selected_"
"""The prefix of the names in tuples and rows of selected columns, which keeps them apart from other columns."""

RANKED = ("rank", "id", "score")
"""The columns of a ranking."""


class TopKSection(Section):
    """The ranking by which a top-k query selects the tuples of each key and window."""

    k: Annotated[int, Field(ge=1, le=10_000)] = Field(
        description="number of tuples in each ranking, from 1 to 10000: 5"
    )
    score: Column = Field(description="column that ranks the tuples, such as numbers, times or texts: price")
    order: Literal["descending", "ascending"] = Field(
        default="descending", description="largest scores first (descending) or smallest first (ascending): descending"
    )
    method: Literal["adaptive", "list", "sma", "mintopk", "gstopk"] = Field(
        default="adaptive",
        description="algorithm of the ranking; list is paper 001's, slower with the same answers; sma, "
        "mintopk and gstopk are the paper's baselines: adaptive",
    )
    select: tuple[Column, ...] = Field(
        default=(), description="further columns of the tuples, which answers have under the same names: [venue, price]"
    )

    def uses(self, id_: str | None = None) -> tuple[ColumnUse, ...]:
        """Return the uses of the stream's columns, including its id."""
        names = enumerate(self.select)
        selected = [ColumnUse(name, IDENTITY, (name,), PREFIX + name, f"topk.select.{index}") for index, name in names]
        rank = ColumnUse(self.score, SORT, ("rank",), "score", "topk.score")
        ids = [] if id_ is None else [ColumnUse(id_, IDENTITY, ("id",))]
        return (rank, *ids, ColumnUse(self.score, IDENTITY, ("score",)), *selected)


def check_selected(names: Collection[str], keys: Collection[str]) -> None:
    """Refuse a selected column with a name that answers can't have; `keys` are the columns of a composite key.

    Tables compare names without case.
    """
    identity = {name.lower(): name for name in (*RANKED, *keys)}
    taken = {*ANSWERED, *identity}
    for index, name in enumerate(names):
        field, in_sql = f"topk.select.{index}", renamed_in_sql(name)
        if name.lower() in taken:
            own = identity.get(name.lower())
            remedy = "each column once" if own is None else f"leave it out: answers have {own}"
            remedy += f"; another column {name} by another name, as columns: {{its_{name}: {name}}}"
            raise field_error(f"answers have a column {name} already", remedy, field, in_sql)
        if separators := set(name) & set(SEPARATORS):
            fault = f"tables have no column {name!r}, for {min(separators)!r} in its name"
            remedy = "a column by another name, which `columns` of the stream derives"
            raise field_error(fault, remedy, field, in_sql)
        taken.add(name.lower())
