"""Binds an expression's tree to typed columns: it becomes steps of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from sqlglot import exp

from tailrace.expressions import literals, operators, texts, times
from tailrace.expressions.casts import cast
from tailrace.expressions.conditionals import choose
from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.literals import TypeFault
from tailrace.expressions.nested import element_of, field_of
from tailrace.expressions.parse import position_of
from tailrace.expressions.plan import Plan, Term
from tailrace.expressions.qualified import path_of
from tailrace.expressions.registry import FUNCTIONS
from tailrace.expressions.type_names import arrow_type
from tailrace.expressions.types import TEXT
from tailrace.ground.near_names import nearest

_SIGNS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "is distinct from",
}


def bind_tree(text: str, tree: exp.Expr, plan: Plan, qualifiers: Sequence[str] = ()) -> Term:
    """Add an expression's steps to a plan, and return its value; with qualifiers, each column must begin with one.

    Raises
    ------
    ExpressionError
        At an unknown column, or an argument of a wrong type.
    """
    return _Binder(text, plan, qualifiers).term(tree)


class _Binder:
    def __init__(self, text: str, plan: Plan, qualifiers: Sequence[str]) -> None:
        self.text, self.plan, self.qualifiers = text, plan, qualifiers

    def term(self, node: exp.Expr) -> Term:
        """Return the value of a bound node."""
        try:
            return self._by_type(node)
        except TypeFault as fault:
            raise ExpressionError(position_of(self.text, node), fault.fault, fault.remedy) from None

    def terms(self, node: exp.Expr) -> list[Term]:
        return [self.term(each) for each in node.expressions]

    def pair(self, node: exp.Expr) -> list[Term]:
        return [self.term(node.this), self.term(node.expression)]

    def _by_type(self, node: exp.Expr) -> Term:
        plan = self.plan
        if type(node) in _SIGNS:
            return operators.arithmetic(plan, _SIGNS[type(node)], self.pair(node))
        if type(node) in _COMPARISONS:
            return operators.comparison(plan, _COMPARISONS[type(node)], self.pair(node))
        bind = _BINDERS.get(type(node))
        if bind is None:
            raise TypeFault(
                f"{node.sql('spark')} has no meaning here", "an operator or a function of the documentation"
            )
        return bind(self, node)

    def column(self, node: exp.Expr) -> Term:
        assert isinstance(node, exp.Column)
        top, *fields = path_of(node, self.qualifiers)
        term = self.plan.columns.get(top)
        if term is None:
            columns = self.plan.columns
            raise TypeFault(f"there is no column {top}", nearest(top, columns) or f"one of {', '.join(columns)}")
        for name in fields:
            term = field_of(self.plan, term, name)
        return term

    def dot(self, node: exp.Expr) -> Term:
        return field_of(self.plan, self.term(node.this), node.expression.name)

    def bracket(self, node: exp.Expr) -> Term:
        inner, key = self.term(node.this), self.term(node.expressions[0])
        if pa.types.is_struct(inner.dtype) and key.is_literal and key.dtype == TEXT:
            return field_of(self.plan, inner, str(key.value))
        return element_of(self.plan, inner, key)

    def literal(self, node: exp.Expr) -> Term:
        return literals.text(node.name) if node.args.get("is_string") else literals.number(node.name)

    def minus(self, node: exp.Expr) -> Term:
        if isinstance(node.this, exp.Literal) and not node.this.args.get("is_string"):
            return literals.number(f"-{node.this.name}")
        return operators.negative(self.plan, self.term(node.this))

    def test(self, node: exp.Expr, is_not: bool = False) -> Term:
        if isinstance(node.expression, exp.Null):
            return operators.is_null(self.plan, self.term(node.this), is_not)
        if isinstance(node.expression, exp.Boolean):
            return operators.is_value(self.plan, self.term(node.this), bool(node.expression.this), is_not)
        raise TypeFault(f"{node.sql('spark')} has no meaning here", "is null, is true or is false")

    def negation(self, node: exp.Expr) -> Term:
        if isinstance(node.this, exp.Is):
            return self.test(node.this, is_not=True)
        return operators.negation(self.plan, self.term(node.this))

    def between(self, node: exp.Expr) -> Term:
        value, low, high = (self.term(node.args[name]) for name in ("this", "low", "high"))
        ends = [
            operators.comparison(self.plan, ">=", [value, low]),
            operators.comparison(self.plan, "<=", [value, high]),
        ]
        return operators.junction(self.plan, "AND", ends)

    def like(self, node: exp.Expr, escape: str = "\\") -> Term:
        matches = texts.like(self.plan, self.pair(node), escape, isinstance(node, exp.ILike))
        return operators.negation(self.plan, matches) if node.args.get("negate") else matches

    def escaped(self, node: exp.Expr) -> Term:
        if not isinstance(node.this, exp.Like | exp.ILike) or len(node.expression.name) != 1:
            raise TypeFault("escape without one character", "like '…' escape '!'")
        return self.like(node.this, node.expression.name)

    def case(self, node: exp.Expr) -> Term:
        branches = node.args["ifs"]
        conditions = [self.term(branch.this) for branch in branches]
        if node.this is not None:
            subject = self.term(node.this)
            conditions = [operators.comparison(self.plan, "=", [subject, each]) for each in conditions]
        default = None if node.args.get("default") is None else self.term(node.args["default"])
        return choose(self.plan, conditions, [self.term(branch.args["true"]) for branch in branches], default)

    def if_(self, node: exp.Expr) -> Term:
        otherwise = node.args.get("false")
        default = None if otherwise is None else self.term(otherwise)
        return choose(self.plan, [self.term(node.this)], [self.term(node.args["true"])], default)

    def cast(self, node: exp.Expr) -> Term:
        return cast(self.plan, self.term(node.this), arrow_type(node.args["to"]), bool(node.args.get("safe")))

    def trim(self, node: exp.Expr) -> Term:
        given = [self.term(node.this)] + ([self.term(node.expression)] if node.args.get("expression") else [])
        sides = {"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
        return texts.trim(self.plan, given, sides[str(node.args.get("position") or "").upper()])

    def extract(self, node: exp.Expr) -> Term:
        return times.part_of(self.plan, node.name, self.term(node.expression))

    def call(self, node: exp.Expr) -> Term:
        return FUNCTIONS[node.name.lower()].call(self.plan, self.terms(node))


_BINDERS: dict[type[exp.Expr], Callable[[_Binder, exp.Expr], Term]] = {
    exp.Column: _Binder.column,
    exp.Dot: _Binder.dot,
    exp.Bracket: _Binder.bracket,
    exp.Literal: _Binder.literal,
    exp.RawString: lambda _, node: literals.text(node.name),
    exp.Boolean: lambda _, node: literals.boolean(bool(node.this)),
    exp.Null: lambda *_: literals.null(),
    exp.Paren: lambda binder, node: binder.term(node.this),
    exp.IntDiv: lambda binder, node: operators.integer_quotient(binder.plan, binder.pair(node)),
    exp.Neg: _Binder.minus,
    exp.And: lambda binder, node: operators.junction(binder.plan, "AND", binder.pair(node)),
    exp.Or: lambda binder, node: operators.junction(binder.plan, "OR", binder.pair(node)),
    exp.Not: _Binder.negation,
    exp.Is: _Binder.test,
    exp.In: lambda binder, node: operators.member(binder.plan, [binder.term(node.this), *binder.terms(node)]),
    exp.Between: _Binder.between,
    exp.Like: _Binder.like,
    exp.ILike: _Binder.like,
    exp.RegexpLike: lambda binder, node: texts.rlike(binder.plan, binder.pair(node)),
    exp.Escape: _Binder.escaped,
    exp.DPipe: lambda binder, node: operators.joined_texts(binder.plan, binder.pair(node)),
    exp.Case: _Binder.case,
    exp.If: _Binder.if_,
    exp.Cast: _Binder.cast,
    exp.TryCast: _Binder.cast,
    exp.Trim: _Binder.trim,
    exp.Extract: _Binder.extract,
    exp.Anonymous: _Binder.call,
}
