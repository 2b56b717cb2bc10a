"""Parses an expression, and refuses nodes, functions and text literals that are not on the lists."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.parsers.spark import SparkParser

import tailrace.expressions.functions  # noqa: F401  they register themselves
from tailrace.expressions.errors import AGGREGATE, ExpressionError, Position
from tailrace.expressions.literal_texts import check_texts
from tailrace.expressions.literals import TypeFault
from tailrace.expressions.other_functions import WITHOUT_PARENTHESES, refusal_of
from tailrace.expressions.registry import FUNCTIONS
from tailrace.expressions.type_names import NAMES
from tailrace.expressions.written_names import name_with_blanks

_LONGEST = 10_000
_DEEPEST = 100

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_PREDICATES = (*_COMPARISONS, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike)
_NODES = {
    *_PREDICATES,
    *(exp.Column, exp.Identifier, exp.Dot, exp.Bracket, exp.Literal, exp.RawString, exp.Boolean, exp.Null, exp.Paren),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg, exp.And, exp.Or, exp.Not, exp.DPipe),
    *(exp.Escape, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.ColumnDef),
    *(exp.Anonymous, exp.Trim, exp.Extract, exp.Var),
}
_WHAT: dict[type[exp.Expr], str] = {
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Exists: "a subquery",
    exp.Window: "a window function",
    exp.Filter: "an aggregate",
    exp.Distinct: "an aggregate",
    exp.Lambda: "a function of elements (->)",
    exp.JSONExtract: "a function of elements (->)",
    exp.Star: "*",
    exp.Placeholder: "a parameter",
    exp.Parameter: "a parameter",
    exp.Interval: "an interval",
    exp.Alias: "a second expression, or a name for it",
    exp.Concat: "two texts side by side",
}
_REMEDIES: dict[type[exp.Expr], str] = {
    exp.Interval: "date_add for days; for shorter times timestamp_millis(unix_millis(…) + …)",
    exp.Window: AGGREGATE,
    exp.Filter: AGGREGATE,
    exp.Alias: "one expression; its name is the field's",
    exp.Concat: "|| to join them, or \\' for a quote in a text",
}
_SCALAR = "an expression over the record's own columns"
_BY_GRAMMAR = f"{_SCALAR}, by Spark SQL's grammar"


class _Parser(SparkParser):
    """Spark's grammar; each function keeps the name by which it was called."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parser for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name in ("CASE", "IF")
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parser
        for name, parser in SparkParser.FUNCTION_PARSERS.items()
        if name in ("CAST", "TRY_CAST", "TRIM", "EXTRACT")
    }


class _Dialect(Spark):
    Parser = _Parser


@lru_cache(maxsize=1024)
def parse_tree(text: str) -> exp.Expr:
    """Parse an expression and return its tree.

    Raises
    ------
    ExpressionError
    """
    if len(text) > _LONGEST:
        raise ExpressionError(Position(), f"it has {len(text):,} characters", f"at most {_LONGEST:,}")
    check_texts(text)
    try:
        trees = _Dialect().parse(text, error_level=ErrorLevel.IMMEDIATE)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        position = Position(
            first.get("line") or 1, max((first.get("col") or 1) - len(first.get("highlight") or "x") + 1, 1)
        )
        token = first.get("highlight") or ""
        fault = f"at {token!r} it is no expression" if token else "it is no expression"
        near = get_close_matches(token, NAMES, 1)  # the grammar does not know the type of a cast as a keyword
        raise ExpressionError(position, fault, near[0] if near else _remedy(text, _BY_GRAMMAR)) from None
    except (SqlglotError, RecursionError) as error:
        reason = str(error).splitlines()[0] if isinstance(error, SqlglotError) else "it is nested too deep"
        raise ExpressionError(Position(), f"it is no expression: {reason}", _BY_GRAMMAR) from None
    if len(trees) != 1 or trees[0] is None:
        fault = "it is empty" if not trees or trees[0] is None else "it has several statements"
        second = [tree for tree in trees[1:] if tree is not None]
        raise ExpressionError(position_of(text, second[0]) if second else Position(), fault, "one expression")
    _check(text, trees[0])
    return trees[0]


def position_of(text: str, node: exp.Expr) -> Position:
    """Return the position of a node in the text, by the first name in it."""
    starts = [each.meta["start"] for each in node.walk() if "start" in each.meta]
    above = node.parent
    while not starts and above is not None:
        starts = [each.meta["start"] for each in above.walk() if "start" in each.meta]
        above = above.parent
    before = text[: min(starts, default=0)]
    return Position(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def _check(text: str, tree: exp.Expr) -> None:
    for node in tree.walk():
        fault = _fault(node)
        if fault is not None:
            what, remedy = fault
            remedy = _remedy(text, remedy) if isinstance(node, exp.Alias) else remedy
            raise ExpressionError(position_of(text, node), what, remedy)
        if node.depth > _DEEPEST:
            raise ExpressionError(position_of(text, node), "it is nested too deep", f"at most {_DEEPEST} levels")


def _remedy(text: str, remedy: str) -> str:
    """Return the remedy for a text that is no expression; it begins with words side by side, maybe a column's name."""
    name = name_with_blanks(text)
    return remedy if name is None else f"{name} in backticks, if a column has this name; or {remedy}"


_PARTS: dict[type[exp.Expr], set[str]] = {
    exp.Column: {"table", "db", "catalog"},
    exp.Literal: {"is_string"},
    exp.Identifier: {"quoted"},
    exp.Div: {"typed", "safe"},
    exp.DPipe: {"safe"},
    exp.Case: {"ifs", "default"},
    exp.If: {"true", "false"},
    exp.Between: {"low", "high"},
    exp.Like: {"negate"},
    exp.ILike: {"negate"},
    exp.Cast: {"to"},
    exp.TryCast: {"to", "safe"},
    exp.DataType: {"nested"},
    exp.ColumnDef: {"kind"},
    exp.Trim: {"position"},
}
_COMMON_PARTS = {"this", "expression", "expressions"}
"""The parts of nodes that binding handles. A node with another part is refused, so that none is ignored."""


def _fault(node: exp.Expr) -> tuple[str, str] | None:  # noqa: PLR0911  a rule, a return
    """Return the fault of a node itself, and its remedy."""
    if type(node) not in _NODES:
        what = _WHAT.get(type(node), f"{type(node).__name__.lower()}: {node.sql('spark')[:40]}")
        return f"{what}, which no expression of a record has", _REMEDIES.get(type(node), _SCALAR)
    known = _COMMON_PARTS | _PARTS.get(type(node), set())
    if isinstance(node, exp.In) and not node.expressions:
        return "in without a list of values", "in (…, …)"
    for part, value in node.args.items():
        if part not in known and value:
            return f"{node.sql('spark')} has {part.replace('_', ' ')}", _SCALAR
    if isinstance(node, exp.Anonymous):
        return _call_fault(node)
    if isinstance(node, exp.Column):
        if not isinstance(node.this, exp.Identifier):
            return "*, which no expression of a record has", _SCALAR
        if node.name.lower() in WITHOUT_PARENTHESES and not node.this.args.get("quoted") and not node.args.get("table"):
            return refusal_of(node.name)
    if isinstance(node, exp.Bracket) and len(node.expressions) != 1:
        return "[] without one index", "[0], or ['name']"
    if isinstance(node, _PREDICATES):
        inner = next((each for each in node.iter_expressions() if isinstance(each, _PREDICATES)), None)
        if inner is not None and not isinstance(node, exp.In):
            return "a comparison beside a comparison", "parentheses around the one that is meant to be first"
    return None


def _call_fault(node: exp.Anonymous) -> tuple[str, str] | None:
    function = FUNCTIONS.get(node.name.lower())
    if function is None:
        return refusal_of(node.name)
    count = len(node.expressions)
    if not function.least <= count <= function.most:
        return f"{node.name.lower()} has {count} argument{'s' * (count != 1)}", function.signature
    for number, check in function.literals.items():
        given = node.expressions[number] if number < count else None
        if isinstance(given, exp.RawString) or (isinstance(given, exp.Literal) and given.args.get("is_string")):
            try:
                check(given.name)
            except TypeFault as fault:
                return fault.fault, fault.remedy
    return None
