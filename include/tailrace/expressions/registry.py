"""The registry of the functions that expressions may call, by their Spark SQL names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import pyarrow as pa

from tailrace.expressions.casts import cast
from tailrace.expressions.literals import TEXTS_OF_CSV, TypeFault
from tailrace.expressions.plan import Plan, Term, until_null
from tailrace.expressions.types import (
    DATE,
    DOUBLE,
    INTEGERS,
    NULL,
    TEXT,
    TIMESTAMP,
    is_integer,
    is_number,
    spark_name,
)
from tailrace.expressions.written_names import written

Compile = Callable[[Plan, Sequence[Term]], Term]
"""Adds the steps of a call to a plan and returns its value; raises TypeFault if an argument has a wrong type."""


@dataclass(frozen=True)
class SqlFunction:
    """A function of Spark SQL.

    Attributes
    ----------
    signature : str
        Its name and arguments as the documentation shows them; arguments in brackets are optional.
    meaning : str
    least, most : int
        The least and the largest number of arguments.
    stops_at_null : bool
        Whether Spark evaluates its arguments in order up to the first null.
    literals : dict
        Checks of arguments that are literal texts, by number from 0: each raises TypeFault before types are known.
    """

    signature: str
    meaning: str
    compile: Compile
    least: int
    most: int
    stops_at_null: bool = True
    literals: Mapping[int, Callable[[str], object]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.signature.partition("(")[0]

    def call(self, plan: Plan, terms: Sequence[Term]) -> Term:
        """Return the value of a call."""
        return self.compile(plan, until_null(terms) if self.stops_at_null else terms)


FUNCTIONS: dict[str, SqlFunction] = {}
"""The functions by name, including their other names."""

_MOST_ARGUMENTS = 100


def function(
    signature: str,
    meaning: str,
    *aliases: str,
    stops_at_null: bool = True,
    literals: Mapping[int, Callable[[str], object]] = MappingProxyType({}),
) -> Callable[[Compile], Compile]:
    """Register a function under its name and its other names."""

    def register(compile_: Compile) -> Compile:
        name, _, arguments = signature.rstrip(")").partition("(")
        given = [each for each in re.sub(r"\[.*", "", arguments).split(",") if each.strip()]
        most = _MOST_ARGUMENTS if "…" in arguments else len([each for each in arguments.split(",") if each.strip()])
        least = len([each for each in given if "…" not in each])
        for each in (name, *aliases):
            FUNCTIONS[each] = SqlFunction(signature, meaning, compile_, least, most, stops_at_null, literals)
        return compile_

    return register


def simple(
    signature: str, meaning: str, sql: str, takes: Sequence[pa.DataType], gives: pa.DataType, *aliases: str
) -> None:
    """Register a function with arguments of fixed types that is a single SQL expression, and never fails."""

    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        taken = until_null([take(plan, term, dtype) for term, dtype in zip(terms, takes, strict=True)])
        return plan.step(sql.format(*(term.sql for term in taken)), gives, *taken)

    function(signature, meaning, *aliases)(compile_)


def take(plan: Plan, term: Term, dtype: pa.DataType) -> Term:
    """Return an argument in the type that a function expects, by Spark's implicit casts.

    Raises
    ------
    TypeFault
    """
    source = term.dtype
    is_wider = is_integer(source) and is_integer(dtype) and INTEGERS.index(source) <= INTEGERS.index(dtype)
    is_time = dtype in (DATE, TIMESTAMP) and source in (DATE, TIMESTAMP, TEXT)
    if source in (dtype, NULL) or is_wider or is_time or (dtype == DOUBLE and is_number(source)):
        return cast(plan, term, dtype)
    fault = f"an argument is {spark_name(source)}, and has to be {spark_name(dtype)}"
    raise TypeFault(fault, f"cast(… as {spark_name(dtype)}), or another column")


def constant_of(term: Term, dtype: pa.DataType, what: str) -> object:
    """Return the value of an argument that must be a literal.

    Raises
    ------
    TypeFault
    """
    if not term.is_literal or term.value is None or term.dtype != dtype:
        raise TypeFault(f"{what} is no literal", f"a literal of type {spark_name(dtype)}")
    return term.value


def number_of(plan: Plan, term: Term) -> Term:
    """Return an argument that must be a number; an untyped null counts as a double."""
    if term.dtype == NULL:
        return cast(plan, term, DOUBLE)
    if not is_number(term.dtype):
        fault = f"an argument is {spark_name(term.dtype)}, and has to be a number"
        column = next((written(name) for name, each in plan.columns.items() if each.sql == term.sql), "…")
        why = f": {TEXTS_OF_CSV}" if term.dtype == TEXT else ""
        raise TypeFault(fault, f"cast({column} as double), or as another type of numbers{why}")
    return term
