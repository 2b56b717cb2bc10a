"""Computes derived columns of records, and which records are kept, by one DuckDB statement for a table of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.expressions.expression import Expression, parse
from tailrace.expressions.plan import Plan, Term
from tailrace.expressions.types import BOOLEAN, NULL, spark_name, to_computable

Mask = NDArray[np.bool_]

WHERE = "where"
"""The name of the condition among the names of columns."""


class FailedRecords(NamedTuple):
    """The records for which an expression fails, as a mask of n, and the reason.

    The reason begins with the expression's name.
    """

    mask: Mask
    reason: str


class Projected(NamedTuple):
    """A table with its derived columns, and the outcome for each of its n records.

    Attributes
    ----------
    table : Table
        The given columns, replaced by derived ones of the same name, and the other derived columns. A value whose
        expression failed is null.
    kept : ndarray, shape (n,)
        False where `where` is false or null, or failed.
    failures : list of Failure
        Failures of columns for kept records, and of `where`; a record can be in several.
    """

    table: pa.Table
    kept: Mask
    failures: list[FailedRecords]

    @property
    def filtered(self) -> Mask:
        """The records that `where` leaves out, without those for which it failed."""
        mask = ~self.kept
        for failure in self.failures:
            mask &= ~failure.mask
        return mask


class NamedError(ExpressionError):
    """The error of one of several expressions, with its name."""

    def __init__(self, name: str, error: ExpressionError, is_condition: bool = False) -> None:
        super().__init__(error.position, error.fault, error.remedy)
        self.name = name
        self.field = WHERE if is_condition else f"columns.{name}"


@dataclass(frozen=True)
class Projection:
    """Derived columns by name, in order, and a condition; a frozen value that is sent to every worker.

    An expression reads source columns and the derived columns above it. A derived column may take a source column's
    name: in its own expression the name means the source's column, in later ones the derived column.

    Attributes
    ----------
    columns : tuple of (str, str)
        Names and texts of expressions.
    where : str or None
        The condition that keeps records.
    types : tuple of (str, DataType)
        The types of the source columns that expressions read.
    qualifiers : tuple of str
        The names with which source columns begin, as in `Expression`.
    """

    columns: tuple[tuple[str, str], ...]
    where: str | None
    types: tuple[tuple[str, pa.DataType], ...] = ()
    qualifiers: tuple[str, ...] = ()

    @staticmethod
    def parse(
        columns: Mapping[str, str],
        where: str | None,
        types: Mapping[str, pa.DataType] | None = None,
        qualifiers: tuple[str, ...] = (),
    ) -> Projection:
        """Build the projection from texts, and check that they can be parsed.

        Raises
        ------
        ExpressionError
            With the attribute `name`: the column, or `where`.
        """
        projection = Projection(tuple(columns.items()), where, tuple((types or {}).items()), qualifiers)
        for number, (name, text) in enumerate(projection.named()):
            try:
                parse(text, qualifiers)
            except ExpressionError as error:
                raise NamedError(name, error, number == len(columns)) from None
        return projection

    def __getstate__(self) -> dict[str, Any]:
        """Drop the plan, which each process builds itself."""
        return {name: value for name, value in self.__dict__.items() if name != "_bound"}

    def over(self, types: Mapping[str, pa.DataType]) -> Projection:
        """Return the projection with the types of the source columns that it reads."""
        return replace(self, types=tuple(types.items()))

    def pruned(self, names: Iterable[str]) -> Projection | None:
        """Return the projection with only the expressions that `names` or the condition need; None if none is left."""
        needed = set(names) | set(() if self.where is None else self._expression(self.where).columns)
        kept = list[tuple[str, str]]()
        for name, text in reversed(self.columns):
            if name in needed:
                kept.append((name, text))
                needed = (needed - {name}) | set(self._expression(text).columns)
        if not kept and self.where is None:
            return None
        pruned = replace(self, columns=tuple(reversed(kept)), types=())
        return pruned.over({name: dtype for name, dtype in self.types if name in pruned.inputs})

    def _expression(self, text: str) -> Expression:
        return Expression(text, self.qualifiers)

    def named(self) -> list[tuple[str, str]]:
        """Return the names and texts of all expressions; the condition's name is `where`."""
        return [*self.columns, *([(WHERE, self.where)] if self.where is not None else [])]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The source columns that expressions read, in their order."""
        needed, above = dict[str, None](), set[str]()
        for number, (name, text) in enumerate(self.named()):
            needed |= dict.fromkeys(column for column in self._expression(text).columns if column not in above)
            if number < len(self.columns):
                above.add(name)
        return tuple(needed)

    def require_order(
        self, source: Mapping[str, object], remedy: str = "columns of the source, and derived ones above it"
    ) -> None:
        """Refuse an expression that reads a column derived after it, unless the source has that column.

        `remedy` names the columns that it may read.

        Raises
        ------
        ExpressionError
        """
        names = [name for name, _ in self.columns]
        for number, (name, text) in enumerate(self.columns):
            for column in self._expression(text).columns:
                if column in source or column not in names[number:]:
                    continue
                is_own = column == name
                fault = f"it is recursive: it reads {'itself' if is_own else column + ', which stands below it'}"
                raise NamedError(name, ExpressionError(Position(), fault, remedy))

    @cached_property
    def _bound(self) -> tuple[Plan, dict[str, Term], Term | None]:
        from tailrace.expressions.times import within_years  # loads the grammar only when it binds

        plan = Plan.over(dict(self.types))
        self.require_order(plan.columns)
        terms: dict[str, Term] = {}
        condition: Term | None = None
        for number, (name, text) in enumerate(self.named()):
            try:
                term = self._expression(text).add_to(plan)
                if number == len(self.columns) and term.dtype not in (BOOLEAN, NULL):
                    fault = f"the condition is {spark_name(term.dtype)}"
                    raise ExpressionError(Position(), fault, "a boolean: a comparison, or several with and, or, not")
            except ExpressionError as error:
                raise NamedError(name, error, number == len(self.columns)) from None
            if number == len(self.columns):
                condition = term
            else:
                terms[name] = plan.columns[name] = within_years(plan, term)
        return plan, terms, condition

    @property
    def derived_types(self) -> dict[str, pa.DataType]:
        """The types of the derived columns.

        Raises
        ------
        ExpressionError
            With the attribute `name`, if an expression can't be bound to the types of the source's columns.
        """
        return {name: term.dtype for name, term in self._bound[1].items()}

    def run(self, table: pa.Table) -> Projected:
        """Compute the derived columns of n records, and which of them are kept."""
        from tailrace.expressions.statement import RecordsStatement, fault_number  # loads DuckDB only when it computes

        plan, terms, condition = self._bound
        columns = {
            f"c{number}": to_computable(table.column(name), dtype) for number, (name, dtype) in enumerate(self.types)
        }
        columns["row"] = pa.chunked_array([np.zeros(table.num_rows, np.int8)])  # for the length of constants
        outputs = {f"d{number}": term for number, term in enumerate(terms.values())}
        if condition is not None:
            outputs[WHERE] = condition
        selected = {name: term.sql for name, term in outputs.items()}
        selected |= {f"{name}_fault": fault_number(term) for name, term in outputs.items() if term.faults}
        rows = RecordsStatement(plan.select("records", selected), plan)
        computed, broken = rows.compute(pa.table(columns))

        failures = [FailedRecords(mask, f"an expression: {reason}") for reason, mask in broken.items()]
        kept = np.ones(table.num_rows, bool)
        if condition is not None:
            kept = np.asarray(computed.column(WHERE).combine_chunks().fill_null(False))
            failures += _failures(computed, WHERE, condition, f"expression {WHERE}", None)
        for output, (name, term) in zip(outputs, terms.items(), strict=False):
            failures += _failures(computed, output, term, f"expression {name}", kept)
            value = computed.column(output).cast(term.dtype)
            index = table.schema.get_field_index(name)
            table = table.append_column(name, value) if index < 0 else table.set_column(index, name, value)
        return Projected(table, kept, failures)


def _failures(computed: pa.Table, output: str, term: Term, what: str, among: Mask | None) -> list[FailedRecords]:
    """Return the failures of an expression among some records, given its column of fault numbers."""
    if not term.faults:
        return []
    numbers = np.asarray(computed.column(f"{output}_fault").combine_chunks().fill_null(0))
    failures = []
    for number, fault in enumerate(term.faults, 1):
        mask = numbers == number if among is None else (numbers == number) & among
        if mask.any():
            failures.append(FailedRecords(mask, f"{what}: {fault.reason}"))
    return failures
