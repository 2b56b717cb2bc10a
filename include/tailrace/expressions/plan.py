"""The plan of expressions: named steps, each computed once per record, and the faults that a record can have in them.

A step never raises: if it fails, its value is null, and a `Fault` identifies the records. So a branch that is not taken
can't fail, and each failing record has its own reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from tailrace.expressions.types import duckdb_name


@dataclass(frozen=True)
class Fault:
    """A fault of records: an SQL condition over the plan's columns that is true for them, and the reason."""

    condition: str
    reason: str

    def guarded(self, guard: str) -> Fault:
        """Return the fault restricted to the records for which another condition is true."""
        return replace(self, condition=f"(({guard}) AND {self.condition})")


@dataclass(frozen=True)
class Term:
    """A value of each record: SQL that never raises, its type, and the faults for which it is null.

    Attributes
    ----------
    level : int
        The number of levels of steps below it.
    is_literal : bool
        Whether it is `value` for every record.
    """

    sql: str
    dtype: pa.DataType
    faults: tuple[Fault, ...] = ()
    level: int = 0
    is_literal: bool = False
    value: Any = None


def faults_of(terms: Iterable[Term]) -> tuple[Fault, ...]:
    """Return the distinct faults of terms, in the order of evaluation."""
    return tuple(dict.fromkeys(fault for term in terms for fault in term.faults))


def until_null(terms: Sequence[Term]) -> list[Term]:
    """Return operands that are evaluated in order up to the first null, as Spark does.

    A fault of an operand counts only if no operand before it is null. If one is the literal null, none is evaluated.
    """
    if any(term.is_literal and term.value is None for term in terms):
        return [replace(term, faults=()) for term in terms]
    evaluated, guards = list[Term](), list[str]()
    for term in terms:
        faults = tuple(fault.guarded(" AND ".join(guards)) for fault in term.faults) if guards else term.faults
        evaluated.append(replace(term, faults=faults))
        guards += [] if term.is_literal else [f"{term.sql} IS NOT NULL"]
    return evaluated


@dataclass(frozen=True)
class PythonFunction:
    """A function over Arrow columns, and DuckDB's names of its result and argument types."""

    compute: Callable[..., pa.Array]
    gives: str = "VARCHAR"
    takes: tuple[str, ...] = ("VARCHAR",)


@dataclass
class Plan:
    """Steps over the columns of a table, by name; later steps use earlier ones."""

    columns: dict[str, Term]
    levels: list[dict[str, str]] = field(default_factory=list)
    functions: dict[str, PythonFunction] = field(default_factory=dict)
    _terms: dict[tuple[str, str], Term] = field(default_factory=dict)

    @staticmethod
    def over(columns: Mapping[str, pa.DataType]) -> Plan:
        """Return a plan over the columns of a source; the n-th is `c<n>` in SQL, whatever its name contains."""
        return Plan({name: Term(f"c{number}", dtype) for number, (name, dtype) in enumerate(columns.items())})

    def step(self, sql: str, dtype: pa.DataType, *terms: Term) -> Term:
        """Add a step that computes a value of `terms`; the same SQL is added once."""
        known = self._terms.get((sql, str(dtype)))
        level = max((term.level for term in terms), default=0)
        if known is None:
            name = f"t{len(self._terms)}"
            self.levels += [{} for _ in range(level + 1 - len(self.levels))]
            self.levels[level][name] = f"CAST({sql} AS {duckdb_name(dtype)})"
            known = self._terms[sql, str(dtype)] = Term(name, dtype, level=level + 1)
        return replace(known, faults=faults_of(terms))

    def fallible(self, sql: str, dtype: pa.DataType, reason: str, *terms: Term, uses: Sequence[Term] = ()) -> Term:
        """Add a step that is null for records for which it raises; it must have a value if all of `terms` have one.

        `uses` are other steps in its SQL, which may be null.
        """
        value = self.step(f"TRY(CAST({sql} AS {duckdb_name(dtype)}))", dtype, *terms, *uses)
        present = "".join(f" AND {term.sql} IS NOT NULL" for term in terms if not term.is_literal or term.value is None)
        return replace(value, faults=(*value.faults, Fault(f"({value.sql} IS NULL{present})", reason)))

    def checked(self, sql: str, dtype: pa.DataType, fault: str, reason: str, *terms: Term) -> Term:
        """Add a step that is computed only for records for which the condition `fault` is not true."""
        condition = self.step(f"COALESCE({fault}, FALSE)", pa.bool_(), *terms)
        value = self.step(f"CASE WHEN NOT {condition.sql} THEN {sql} END", dtype, condition, *terms)
        return replace(value, faults=(*faults_of(terms), Fault(condition.sql, reason)))

    def select(self, table: str, columns: Mapping[str, str]) -> str:
        """Return the statement that computes columns (SQL by name) from the steps over a table."""
        source = table
        for steps in self.levels:
            more = ", ".join(f"{sql} AS {name}" for name, sql in steps.items())
            source = f"(SELECT *, {more} FROM {source})"
        return f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in columns.items())} FROM {source}"
