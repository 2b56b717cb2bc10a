"""Calls of aggregate functions in a SELECT, as sections of a query file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from tailrace.expressions.other_functions import refusal_of
from tailrace.expressions.registry import FUNCTIONS as SCALARS
from tailrace.sql.derived import DerivedColumns, is_number
from tailrace.sql.tokens import TokenSpan

Section = dict[str, str]

OF_COLUMN = {
    **{name: name for name in ("sum", "avg", "min", "max", "median", "stddev", "stddev_pop", "var_pop")},
    **{"first": "first", "last": "last", "mean": "avg", "std": "stddev", "stddev_samp": "stddev"},
    **{"var_samp": "var", "variance": "var", "first_value": "first", "last_value": "last", "any_value": "any_value"},
    **{"bool_and": "bool_and", "every": "bool_and", "bool_or": "bool_or", "some": "bool_or", "any": "bool_or"},
}
"""Spark SQL's functions of one column, and the query's names; the first of each is the one that is written."""
OF_TWO = ("corr", "covar_samp", "covar_pop")
"""Spark SQL's functions of two columns of numbers."""
DISTINCT = {"sum": "sum_distinct", "avg": "avg_distinct", "mean": "avg_distinct"}
"""The functions that take DISTINCT, beside count."""
_WITHIN_GROUP = {"percentile_cont": "quantile", "percentile_disc": "quantile_disc"}
"""The functions with WITHIN GROUP, and the query's names."""
LISTS = {"collect_list": "collect_list", "array_agg": "collect_list", "collect_set": "collect_set"}
"""The functions that answer with a list; the first of each is the one that is written."""
LIMIT = "100"
"""The most values of a list, where the text has no limit."""
ESTIMATES = {"estimate_sum": "sum", "estimate_count": "count"}
"""The functions whose early answers are scaled by the share of tuples that is expected to have arrived."""
_CALLS = {query: spark for spark, query in reversed(OF_COLUMN.items())}
_ESTIMATE_CALLS = {query: name for name, query in ESTIMATES.items()}
_DISTINCT_CALLS = {query: spark for spark, query in reversed(DISTINCT.items())}
_NAMES = (
    *OF_COLUMN,
    *OF_TWO,
    *LISTS,
    *_WITHIN_GROUP,
    "count",
    "count_if",
    "percentile",
    "min_by",
    "max_by",
    "approx_count_distinct",
    *ESTIMATES,
)
_EXACT = "percentile(column, 0.9), which is exact"
_OTHERS = """
listagg string_agg mode kurtosis skewness bit_and bit_or bit_xor try_sum try_avg
grouping grouping_id
"""
_OVER_ROWS = "row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value"
_REFUSED = {
    **dict.fromkeys(("approx_percentile", "percentile_approx"), _EXACT),
    "count_distinct": "count(DISTINCT column)",
    "sum_distinct": "sum(DISTINCT column)",
    "avg_distinct": "avg(DISTINCT column)",
    **dict.fromkeys(("quantile", "quantile_cont"), "percentile(column, 0.9)"),
    "quantile_disc": "percentile_disc(0.9) WITHIN GROUP (ORDER BY column)",
    "var": "var_samp(column)",
    **dict.fromkeys(_OVER_ROWS.split(), "an aggregate of each window and key, such as first, last, min or max"),
    **dict.fromkeys(_OTHERS.split(), f"one of {', '.join(_NAMES)}"),
}


_WORDS = ("case", "cast", "extract", "not", "try_cast")
"""Words of expressions that a parenthesis may follow, although they are no functions."""


@dataclass(frozen=True)
class Call:
    """A call of an aggregate function, with its FILTER; what WITHIN GROUP orders by is its first argument."""

    whole: TokenSpan
    arguments: list[TokenSpan]
    is_distinct: bool
    condition: TokenSpan | None
    is_descending: bool = False

    @property
    def function(self) -> str:
        return self.whole.word(0).lower()

    @property
    def value(self) -> TokenSpan | None:
        """The values that it aggregates; None where it counts tuples."""
        if self.function == "count_if" or not self.arguments:
            return None
        is_of_tuples = self.arguments[0].word(0) == "*" or is_number(self.arguments[0])
        return None if is_of_tuples and not self.is_distinct else self.arguments[0]


_ToSection = Callable[[Call, DerivedColumns], Section]


def calls_in(piece: TokenSpan) -> list[tuple[int, int, Call]]:
    """Return the calls of aggregate functions, with the indexes at which each begins and ends.

    Raises
    ------
    ExpressionError
        At an aggregate function that queries lack.
    """
    calls, index = [], 0
    while index < len(piece):
        name = piece.word(index).lower()
        if piece.word(index + 1) != "(" or name not in (*_NAMES, *_REFUSED):
            index += 1
            continue
        if name in _REFUSED:
            raise piece[index:].error(f"{name} is no aggregate of a query", _REFUSED[name])
        end, call = _call(piece, index)
        _refuse_nested(call)
        calls.append((index, end, call))
        index = end
    return calls


def is_call(piece: TokenSpan) -> bool:
    """Test whether the whole piece is a call of an aggregate function."""
    calls = calls_in(piece)
    return len(calls) == 1 and calls[0][:2] == (0, len(piece))


def refuse_unknown(piece: TokenSpan) -> None:
    """Refuse a call of a function that is neither an aggregate nor scalar."""
    name = piece.word(0).lower()
    if piece[:1].name is not None and piece.word(1) == "(" and name not in (*SCALARS, *_WORDS):
        raise piece.error(*refusal_of(name, *_NAMES))


def refuse_in_where(condition: TokenSpan) -> None:
    """Refuse aggregates in WHERE.

    Raises
    ------
    ExpressionError
    """
    for _, _, call in calls_in(condition):
        text = call.whole.text[:60]
        fault = f"{text} stands in WHERE, which is a condition of single records"
        raise call.whole.error(fault, f"{text} AS name in the list, and a condition of it where answers are read")


def section_of(call: Call, columns: DerivedColumns, event_time: str) -> Section:
    """Return the section of a call: a function, its column, and the condition of its values.

    Raises
    ------
    ExpressionError
    """
    by = partial(_by, event_time=event_time)
    of_function: dict[str, _ToSection] = {
        **{"count": _count, "count_if": _count_if, "percentile": _percentile},
        **{"min_by": by, "max_by": by, "approx_count_distinct": _approximate_count},
        **dict.fromkeys(OF_TWO, _pairs),
        **dict.fromkeys(LISTS, _list),
        **dict.fromkeys(_WITHIN_GROUP, _within_group),
        **{"estimate_sum": _estimated_sum, "estimate_count": _estimated_count},
    }
    section = of_function.get(call.function, _of_column)(call, columns)
    if call.condition is not None:
        if "where" in section:
            raise call.condition.error("a condition beside count_if's", "count_if(… AND …)")
        section["where"] = columns.condition(call.condition)
    return section


def call_text(section: Mapping[str, Any], text_of: Callable[[str], str]) -> str:
    """Return the call of a section, given what its columns are in the text."""
    function, column = section["function"], section.get("column")
    value = "*" if column is None else text_of(column)
    is_approximate, is_estimated = (
        str(section.get(name) or "false").lower() == "true" for name in ("approximate", "estimate")
    )
    match function:
        case "quantile":
            call = f"percentile({value}, {section['q']})"
        case "collect_list" | "collect_set":
            call = f"{function}({value}, {section['limit']})"
        case "quantile_disc":
            call = f"percentile_disc({section['q']}) WITHIN GROUP (ORDER BY {value})"
        case "count_distinct":
            call = f"approx_count_distinct({value})" if is_approximate else f"count(DISTINCT {value})"
        case "sum_distinct" | "avg_distinct":
            call = f"{_DISTINCT_CALLS[function]}(DISTINCT {value})"
        case _ if function in OF_TWO:
            call = f"{function}({value}, {text_of(section['other'])})"
        case "min_by" | "max_by":
            call = f"{function}({value}, {text_of(section['by'])})"
        case _ if is_estimated and function in _ESTIMATE_CALLS:
            call = f"{_ESTIMATE_CALLS[function]}({value})"
        case _:
            call = f"{_CALLS.get(function, function)}({value})"
    return call + (f" FILTER (WHERE {section['where']})" if section.get("where") else "")


def _call(piece: TokenSpan, start: int) -> tuple[int, Call]:
    """Read a call that begins at an index; return the index of its end, and the call."""
    close = piece.close(start + 1)
    inner, end, condition = piece[start + 2 : close], close + 1, None
    ordered, function = None, piece.word(start).lower()
    if piece.word(end) == "WITHIN":
        if function not in _WITHIN_GROUP:
            raise piece[end:].error(f"WITHIN GROUP, which {function} lacks", " or ".join(_WITHIN_GROUP))
        if [piece.word(end + offset) for offset in (1, 2, 3)] != ["GROUP", "(", "ORDER BY"]:
            raise piece[end:].error("WITHIN GROUP without its order", "WITHIN GROUP (ORDER BY column)")
        close = piece.close(end + 2)
        ordered, end = piece[end + 4 : close], close + 1
    if piece.word(end) == "FILTER":
        remedy = "FILTER (WHERE …)"
        if piece.word(end + 1) != "(" or piece.word(end + 2) != "WHERE":
            raise piece[end:].error("FILTER without its condition", remedy)
        close = piece.close(end + 1)
        condition, end = piece[end + 3 : close], close + 1
        if not len(condition):
            raise condition.error("FILTER without its condition", remedy)
    if piece.word(end) == "OVER":
        remedy = "the aggregate of each window and key: no OVER, and GROUP BY"
        raise piece[end:].error("a function over rows of others, which no query has", remedy)
    is_distinct = inner.word(0) == "DISTINCT"
    inner = inner[1:] if is_distinct else inner
    arguments, is_descending = inner.split() if len(inner) else [], False
    if ordered is not None:
        is_descending = ordered.word(-1) == "DESC"
        ordered = ordered[:-1] if ordered.word(-1) in ("ASC", "DESC") else ordered
        arguments = [*ordered.split(), *arguments]
    elif function in _WITHIN_GROUP:
        right = f"{function}(0.9) WITHIN GROUP (ORDER BY column)"
        raise piece[start:end].error(f"{function} without WITHIN GROUP", right)
    return end, Call(piece[start:end], arguments, is_distinct, condition, is_descending)


def _refuse_nested(call: Call) -> None:
    """Refuse aggregates of aggregates, and conditions over them.

    Raises
    ------
    ExpressionError
    """
    for part in (*call.arguments, *(() if call.condition is None else (call.condition,))):
        for _, _, inner in calls_in(part):
            text = inner.whole.text[:60]
            fault = f"{text} stands within {call.function}, which takes values of single records"
            remedy = f"{text} alone; or a second query, over the answers of this one: source: {{format: tailrace, …}}"
            raise inner.whole.error(fault, remedy)


def _one(call: Call) -> TokenSpan:
    """Return the argument of a function of one argument."""
    if len(call.arguments) != 1 or not len(call.arguments[0]):
        raise call.whole.error(f"{call.function} has {len(call.arguments)} arguments", f"{call.function}(column)")
    return call.arguments[0]


def _two(call: Call) -> list[TokenSpan]:
    """Return the arguments of a function of two columns."""
    if call.is_distinct or len(call.arguments) != 2 or not all(map(len, call.arguments)):  # noqa: PLR2004
        raise call.whole.error(f"{call.whole.text[:60]} has not two columns", f"{call.function}(column, column)")
    return call.arguments


def _of_column(call: Call, columns: DerivedColumns) -> Section:
    function = (DISTINCT if call.is_distinct else OF_COLUMN).get(call.function)
    if function is None:
        remedy = "count(DISTINCT column), sum(DISTINCT column) or avg(DISTINCT column)"
        raise call.whole.error(f"{call.function} of distinct values, which no query has", remedy)
    return {"function": function, "column": columns.column(_one(call))}


def _count(call: Call, columns: DerivedColumns) -> Section:
    if call.is_distinct:
        return {"function": "count_distinct", "column": columns.column(_one(call))}
    if not call.arguments or call.arguments[0].word(0) == "*" or is_number(call.arguments[0]):
        if len(call.arguments) > 1 or (call.arguments and len(call.arguments[0]) > 1):
            raise call.whole.error(f"{call.whole.text[:60]} is no count", "count(*), or count(column)")
        return {"function": "count"}
    return {"function": "count", "column": columns.column(_one(call))}


def _approximate_count(call: Call, columns: DerivedColumns) -> Section:
    if call.is_distinct:
        raise call.whole.error("DISTINCT twice", "approx_count_distinct(column), or count(DISTINCT column)")
    return {"function": "count_distinct", "column": columns.column(_one(call)), "approximate": "true"}


def _estimated_sum(call: Call, columns: DerivedColumns) -> Section:
    if call.is_distinct:
        raise call.whole.error("an estimate of distinct values, which no query has", "estimate_sum(column)")
    return {"function": "sum", "column": columns.column(_one(call)), "estimate": "true"}


def _estimated_count(call: Call, columns: DerivedColumns) -> Section:
    if call.is_distinct:
        raise call.whole.error("an estimate of distinct values, which no query has", "count(DISTINCT column)")
    return _count(call, columns) | {"estimate": "true"}


def _count_if(call: Call, columns: DerivedColumns) -> Section:
    if call.is_distinct:
        raise call.whole.error("count_if of distinct values, which no query has", "count(DISTINCT column) FILTER (…)")
    return {"function": "count", "where": columns.condition(_one(call))}


def _within_group(call: Call, columns: DerivedColumns) -> Section:
    """Return the section of a quantile of ordered values; of descending ones, the one at the share that is left."""
    section = _percentile(call, columns) | {"function": _WITHIN_GROUP[call.function]}
    if not call.is_descending:
        return section
    if call.function == "percentile_disc":
        fault = "percentile_disc of descending values, which no query has"
        raise call.whole.error(fault, "ORDER BY column, and the share that is left: 0.1 in place of 0.9")
    return section | {"q": str(1 - Decimal(section["q"]))}


def _percentile(call: Call, columns: DerivedColumns) -> Section:
    right = "percentile(column, 0.9)"
    if call.function in _WITHIN_GROUP:
        right = f"{call.function}(0.9) WITHIN GROUP (ORDER BY column)"
    if len(call.arguments) > 1 and call.arguments[1].word(0) in ("ARRAY", "["):
        fault = f"{call.whole.text[:60]} has several shares, and percentile takes one"
        remedy = "percentile(x, 0.5) AS p50, percentile(x, 0.95) AS p95; or array(percentile(x, 0.5), …) AS list"
        raise call.arguments[1].error(fault, f"{remedy}; values are kept once")
    if call.is_distinct or len(call.arguments) != 2 or not is_number(call.arguments[1]):  # noqa: PLR2004
        raise call.whole.error(f"{call.whole.text[:60]} is no percentile of a query", f"{right}: a column and a share")
    return {"function": "quantile", "column": columns.column(call.arguments[0]), "q": call.arguments[1].text}


def _list(call: Call, columns: DerivedColumns) -> Section:
    value, *limit = call.arguments or [call.whole[:0]]
    right = f"{call.function}(column), of at most {LIMIT} values; or {call.function}(column, 1000)"
    if call.is_distinct:
        raise call.whole.error(f"{call.function} of distinct values", "collect_set(column)")
    if not len(value) or len(limit) > 1 or not all(each.text.isdecimal() for each in limit):
        raise call.whole.error(f"{call.whole.text[:60]} is no list of a column", right)
    if value.find(lambda word: word == "ORDER BY"):
        raise value.error("an order of a list, whose values are in the order of event time", right)
    section = {"function": LISTS[call.function], "column": columns.column(value)}
    return section | {"limit": limit[0].text if limit else LIMIT}


def _pairs(call: Call, columns: DerivedColumns) -> Section:
    one, other = _two(call)
    return {"function": call.function, "column": columns.column(one), "other": columns.column(other)}


def _by(call: Call, columns: DerivedColumns, event_time: str) -> Section:
    """Return the section of a value by another one; by event time it is the first or the last that is not null."""
    value, by = _two(call)
    if by.name == event_time:
        return {"function": "first" if call.function == "min_by" else "last", "column": columns.column(value)}
    return {"function": call.function, "column": columns.column(value), "by": columns.column(by)}
