"""Functions that choose among values; a value that is not chosen can't fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tailrace.expressions.casts import widened
from tailrace.expressions.literals import integer, null
from tailrace.expressions.operators import comparison
from tailrace.expressions.plan import Fault, Plan, Term
from tailrace.expressions.registry import FUNCTIONS, function, number_of, simple, take
from tailrace.expressions.types import BOOLEAN, DOUBLE, NULL


def choose(plan: Plan, conditions: Sequence[Term], values: Sequence[Term], default: Term | None = None) -> Term:
    """Return the value of the first true condition, else the default, else null: `case when`."""
    conditions = [take(plan, condition, BOOLEAN) for condition in conditions]
    *chosen, last = widened(plan, [*values, default or null()])
    faults: list[Fault] = []
    undecided = "TRUE"
    for condition, value in zip(conditions, chosen, strict=True):
        faults += [fault.guarded(undecided) for fault in condition.faults]
        faults += [fault.guarded(f"{undecided} AND {condition.sql}") for fault in value.faults]
        undecided += f" AND {condition.sql} IS NOT TRUE"
    faults += [fault.guarded(undecided) for fault in last.faults]
    whens = " ".join(f"WHEN {c.sql} THEN {v.sql}" for c, v in zip(conditions, chosen, strict=True))
    value = plan.step(f"CASE {whens} ELSE {last.sql} END", last.dtype, *conditions, *chosen, last)
    return replace(value, faults=tuple(faults))


@function("if(condition, any, any)", "the second where the condition is true, else the third", stops_at_null=False)
def _if(plan: Plan, terms: Sequence[Term]) -> Term:
    return choose(plan, terms[:1], terms[1:2], terms[2])


@function("coalesce(any, …)", "the first that is not null", stops_at_null=False)
def coalesce(plan: Plan, terms: Sequence[Term]) -> Term:
    values = widened(plan, terms)
    faults, undecided = list[Fault](), "TRUE"
    for value in values:
        faults += [fault.guarded(undecided) for fault in value.faults]
        undecided += f" AND {value.sql} IS NULL"
    joined = plan.step(f"COALESCE({', '.join(value.sql for value in values)})", values[0].dtype, *values)
    return replace(joined, faults=tuple(faults))


@function("ifnull(any, any)", "the first, or the second where that is null", "nvl", stops_at_null=False)
def _ifnull(plan: Plan, terms: Sequence[Term]) -> Term:
    return coalesce(plan, terms)


@function("nvl2(any, any, any)", "the second where the first is not null, else the third", stops_at_null=False)
def _nvl2(plan: Plan, terms: Sequence[Term]) -> Term:
    is_there = plan.step(f"{terms[0].sql} IS NOT NULL", BOOLEAN, terms[0])
    return choose(plan, [is_there], [terms[1]], terms[2])


@function("nullif(any, any)", "the first, or null where it equals the second", stops_at_null=False)
def _nullif(plan: Plan, terms: Sequence[Term]) -> Term:
    return choose(plan, [comparison(plan, "=", terms)], [null(terms[0].dtype)], terms[0])


@function("nullifzero(number)", "null where it is zero")
def _nullifzero(plan: Plan, terms: Sequence[Term]) -> Term:
    return FUNCTIONS["nullif"].compile(plan, [_number_or_null(plan, terms[0]), integer(0)])


@function("zeroifnull(number)", "0 where it is null", stops_at_null=False)
def _zeroifnull(plan: Plan, terms: Sequence[Term]) -> Term:
    return coalesce(plan, [_number_or_null(plan, terms[0]), integer(0)])


def _number_or_null(plan: Plan, term: Term) -> Term:
    return term if term.dtype == NULL else number_of(plan, term)


def _extreme(name: str) -> None:
    @function(f"{name}(any, any, …)", f"the {name} of them; nulls are left out", stops_at_null=False)
    def compile_(plan: Plan, terms: Sequence[Term]) -> Term:
        values = widened(plan, terms)
        comparison(plan, "<", values[:2])  # refuses types that have no order
        return plan.step(f"{name}({', '.join(value.sql for value in values)})", values[0].dtype, *values)


for _name in ("greatest", "least"):
    _extreme(_name)

simple("isnan(number)", "whether it is NaN; false of null", "COALESCE(isnan({0}), FALSE)", [DOUBLE], BOOLEAN)
