"""The condition `where` of a join's pairs: an expression over the columns of both sides, such as left.taxi."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.identity import PAIR, SIDES
from tailrace.expressions.errors import AGGREGATE, unsaid
from tailrace.expressions.expression import Expression
from tailrace.expressions.projection import NamedError, Projection
from tailrace.ground.errors import Problem
from tailrace.ground.fields import field_error
from tailrace.kind.column_use import FILTER, IDENTITY, TRANSFORMATION, ColumnUse
from tailrace.kind.failed_pairs import counts_of
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.selection import Selected, selected
from tailrace.partition.routes import LEFT, RIGHT

_PAIR = "a condition over the columns of one pair of tuples: left.taxi <> right.taxi"


class TestedPairs(NamedTuple):
    """The result of a condition on n pairs: a mask of kept pairs, and disjoint masks of failed ones, by reason."""

    kept: NDArray[np.bool_]
    failures: Mapping[str, NDArray[np.bool_]]

    @property
    def counts(self) -> dict[str, int]:
        """The counts of the pairs for which it fails."""
        return counts_of({reason: int(np.count_nonzero(mask)) for reason, mask in self.failures.items()})

    @property
    def failed(self) -> NDArray[np.bool_]:
        """The pairs for which it fails, shape (n,)."""
        return np.asarray(np.any([np.zeros(len(self.kept), bool), *self.failures.values()], axis=0))

    @property
    def reasons(self) -> NDArray[np.object_]:
        """The reason of each pair's failure, None without one; shape (n,)."""
        reasons = np.full(len(self.kept), None, object)
        for reason, mask in self.failures.items():
            reasons[mask] = reason
        return reasons


def check_condition(text: str | None, computed: Mapping[str, str]) -> None:
    """Refuse a condition that is not an expression over columns of left and right; its types are checked later.

    `computed` has the remedies for columns computed from a pair, such as distance.
    """
    try:
        _ = None if text is None else _projection(text)
    except NamedError as error:
        remedies = {unsaid(name, SIDES): remedy for name, remedy in computed.items()}
        remedy = remedies.get(error.fault, _PAIR if error.remedy == AGGREGATE else error.remedy)
        raise field_error(f"{error.position}: {error.fault}", remedy, "where") from None


@dataclass(frozen=True)
class PairCondition:
    """A condition over pairs, with the types of its columns: a frozen value, sent to every worker.

    A pair is dropped if the condition is false or null, or fails.

    Attributes
    ----------
    field : str
        Its place in the query file.
    """

    projection: Projection
    field: str

    @staticmethod
    def parse(text: str | None, types: Sequence[ColumnTypes], field: str) -> PairCondition | None:
        """Build the condition, given the types of each side's columns; None without a text."""
        if text is None:
            return None
        condition = PairCondition(_projection(text), field)
        seen = {
            name: types[LEFT if side == LEFT else RIGHT].of_carried([own])[own]
            for name, (own, side, _) in condition.columns.items()
        }
        return PairCondition(condition.projection.over(seen), field)

    @property
    def columns(self) -> dict[str, Selected]:
        """The columns that it reads, by their names in it, which differ from the names of the identity."""
        columns = {name: selected(name) for name in self.projection.inputs}
        return {
            name: each._replace(name=f"where_{each.name}") if each.name.lower() in PAIR.columns else each
            for name, each in columns.items()
        }

    def test(self, values: Mapping[str, pa.Array | pa.ChunkedArray], count: int) -> TestedPairs:
        """Test pairs, given the values of the columns by their names in the condition."""
        pairs = pa.table({**values, "pair": np.zeros(count, np.int8)})  # the length, if it reads no column
        projected = self.projection.run(pairs)
        failed, failures = np.zeros(count, bool), dict[str, NDArray[np.bool_]]()
        for failure in projected.failures:
            reason = failure.reason.partition(": ")[2]
            failures[reason] = failures.get(reason, ~failed & failed) | (failure.mask & ~failed)
            failed |= failure.mask
        return TestedPairs(projected.kept & ~failed, failures)

    def problems(self) -> list[Problem]:
        """Return the problems that follow from the types of its columns."""
        try:
            _ = self.projection.derived_types
        except NamedError as error:
            return [Problem(f"{self.field}: {error.position}", error.fault, error.remedy)]
        return []


def selection_uses(
    selection: Iterable[Selected], field: str, compared: Iterable[ColumnUse] = ()
) -> Iterator[ColumnUse]:
    """Yield the columns that `select` uses; a column computed from a pair uses the compared columns."""
    for name, side, column in selection:
        if side is None:
            yield from (use._replace(way=TRANSFORMATION, answers=(name,), part="") for use in compared)
        else:
            yield ColumnUse(column, IDENTITY, (name,), name, field, side)


def condition_uses(text: str | None, field: str) -> Iterator[ColumnUse]:
    """Yield the uses of columns by `where`, in the order of its text."""
    if (condition := PairCondition.parse(text, (ColumnTypes(), ColumnTypes()), field)) is not None:
        expression = Expression(str(text), SIDES)
        for qualified, (name, side, column) in condition.columns.items():
            place = f"{field}: {expression.position_of(qualified)}"
            yield ColumnUse(column, FILTER, (), name, place, LEFT if side == LEFT else RIGHT, text)


def _projection(text: str) -> Projection:
    return Projection.parse({}, text, qualifiers=SIDES)
