"""Translates calls of aggregate functions in a SELECT to sections of a query file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.other_functions import refusal_of
from tailrace.expressions.registry import FUNCTIONS as SCALARS
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.words import counted
from tailrace.sql.call_forms import EXAMPLES, FORMS, LIMIT, CallForm
from tailrace.sql.clauses import OPERAND_ENDS
from tailrace.sql.derived import DerivedColumns, is_number
from tailrace.sql.tokens import TokenSpan

Section = dict[str, str]

_BY_TIME = {"min_by": "first", "max_by": "last"}
"""The functions of a value by event time, in place of `min_by` and `max_by`."""
_DISTINCT = "count(DISTINCT column), sum(DISTINCT column), avg(DISTINCT column) or collect_set(column)"
_EXACT = "percentile(column, 0.9), which is exact"
_OTHERS = "mode kurtosis skewness bit_and bit_or bit_xor try_sum try_avg grouping grouping_id"
_OVER_ROWS = "row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value"
_REFUSED = {
    **dict.fromkeys(("approx_percentile", "percentile_approx"), _EXACT),
    **{name: CallForm(name, each.calls[0]).example for name, each in FUNCTIONS.items() if (name, False) not in FORMS},
    "quantile_cont": "percentile(column, 0.9)",
    **dict.fromkeys(_OVER_ROWS.split(), "an aggregate of each window and key, such as first, last, min or max"),
    **dict.fromkeys(("listagg", "string_agg"), "collect_list(column), a list of the values"),
    **dict.fromkeys(_OTHERS.split(), "another aggregate: docs/aggregates.md has all"),
}
"""Aggregate functions of other systems, with replacements; a registered function of the same name takes precedence."""

_WORDS = ("case", "cast", "extract", "not", "try_cast")
"""Words of expressions that may precede a parenthesis, though they are no functions."""


@dataclass(frozen=True)
class Call:
    """A call of an aggregate function, with its FILTER; the order of WITHIN GROUP is its first argument."""

    whole: TokenSpan
    arguments: list[TokenSpan]
    is_distinct: bool
    condition: TokenSpan | None
    is_descending: bool = False

    @property
    def function(self) -> str:
        return self.whole.word(0).lower()


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
        if piece.word(index + 1) != "(" or ((name, False) not in FORMS and name not in _REFUSED):
            index += 1
            continue
        if index and piece.tokens[index - 1].token_type in OPERAND_ENDS and not _is_side(piece, index - 1):
            remedy = f"{piece[:index].text[-40:]}, {piece[index:].text[:40]}"
            raise piece[index:].error(f"no comma stands before {name}", remedy)
        if (name, False) not in FORMS:
            raise piece[index:].error(f"{name} is no aggregate of a query", _REFUSED[name])
        end, call = _call(piece, index)
        _refuse_nested(call)
        calls.append((index, end, call))
        index = end
    return calls


def _is_side(piece: TokenSpan, index: int) -> bool:
    """Test whether a word is the side of `trim`, as in `trim(both 'x' from y)`."""
    return index > 1 and piece.word(index - 2) == "TRIM" and piece.word(index) in ("BOTH", "LEADING", "TRAILING")


def is_call(piece: TokenSpan) -> bool:
    """Test whether the whole piece is a call of an aggregate function."""
    calls = calls_in(piece)
    return len(calls) == 1 and calls[0][:2] == (0, len(piece)) and not shares_of(calls[0][2])


def shares_of(call: Call) -> list[Call]:
    """Return a call for each share of a quantile with an array of shares; empty for other calls."""
    if "q" not in FORMS[call.function, False].fields or len(call.arguments) == 1:
        return []
    values, shares, *others = call.arguments
    listed = shares[1:] if shares.word(0) == "ARRAY" else shares
    if shares.word(0) not in ("ARRAY", "[") or listed.word(0) not in ("(", "["):
        return []
    if listed.close(0) != len(listed) - 1:
        return []
    return [replace(call, arguments=[values, share, *others]) for share in listed[1:-1].split()]


def refuse_unknown(piece: TokenSpan) -> None:
    """Refuse a call of a function that is neither an aggregate nor scalar."""
    name = piece.word(0).lower()
    if piece[:1].name is not None and piece.word(1) == "(" and name not in (*SCALARS, *_WORDS):
        raise piece.error(*refusal_of(name, *dict.fromkeys(each for each, _ in FORMS)))


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

    A value by event time is the first or the last that is not null.

    Raises
    ------
    ExpressionError
    """
    plain = FORMS[call.function, False]
    form = FORMS.get((call.function, call.is_distinct))
    if form is None:
        raise _distinct_error(call, plain)
    arguments, function = _arguments(call, form), form.function
    if "by" in arguments and arguments["by"].name == event_time:
        function, arguments = _BY_TIME[function], {"column": arguments["column"]}
    section = {"function": function}
    for field, argument in arguments.items():
        read = _READERS.get(field)
        section[field] = columns.column(argument) if read is None else read(argument, call, form, columns)
    if "limit" in form.fields:
        section.setdefault("limit", LIMIT)
    if form.option is not None:
        section[form.option] = "true"
    if call.condition is not None:
        if "where" in section:
            raise call.condition.error("a condition beside count_if's", "count_if(… AND …)")
        section["where"] = columns.condition(call.condition)
    return section


def _call(piece: TokenSpan, start: int) -> tuple[int, Call]:
    """Read a call that begins at an index; return the index of its end, and the call."""
    close = piece.close(start + 1)
    inner, end, condition = piece[start + 2 : close], close + 1, None
    ordered, function = None, piece.word(start).lower()
    is_ordered = FORMS[function, False].is_ordered
    if piece.word(end) == "WITHIN":
        if not is_ordered:
            remedy = " or ".join(name for (name, _), form in FORMS.items() if form.is_ordered)
            raise piece[end:].error(f"WITHIN GROUP, which {function} lacks", remedy)
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
        arguments = [ordered, *arguments]
    elif is_ordered:
        raise piece[start:end].error(f"{function} without WITHIN GROUP", FORMS[function, False].example)
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


def _arguments(call: Call, form: CallForm) -> dict[str, TokenSpan]:
    """Return the arguments of a call, by field; a count of tuples has none."""
    count, most = len(call.arguments), len(form.fields)
    if form.counts_tuples and all(each.word(0) == "*" or is_number(each) for each in call.arguments):
        if count > 1 or any(len(each) > 1 for each in call.arguments):
            raise call.whole.error(f"{call.whole.text[:60]} is no count", form.example)
        return {}
    is_right = most - ("limit" in form.fields) <= count <= most and all(map(len, call.arguments))
    if form.is_ordered and not (is_right and len(call.arguments[0].split()) == 1):
        raise call.whole.error(f"{call.function} takes one share, of the values of one column", form.example)
    if not is_right:
        raise call.whole.error(f"{call.whole.text[:60]} has {counted(count, 'argument')}", form.example)
    if "limit" in form.fields and call.arguments[0].find(lambda word: word == "ORDER BY"):
        fault = "an order of a list, whose values are in the order of event time"
        raise call.arguments[0].error(fault, form.example)
    return dict(zip(form.fields, call.arguments, strict=False))


def _distinct_error(call: Call, plain: CallForm) -> ExpressionError:
    """Return the error that refuses DISTINCT, given the call's form without it."""
    fault, function = f"{call.function} of distinct values", FUNCTIONS[plain.function].of_distinct
    if function is None:
        return call.whole.error(f"{fault}, which no query has", f"{plain.example}; or {_DISTINCT}")
    remedy = CallForm(function, FUNCTIONS[function].calls[0]).example
    if "where" in plain.fields:
        remedy += f" FILTER (WHERE {EXAMPLES['where']})"
    if plain.option is not None:
        remedy = f"{plain.example}, or {remedy}"
    return call.whole.error("DISTINCT twice" if function == plain.function else fault, remedy)


def _share(argument: TokenSpan, call: Call, form: CallForm, columns: DerivedColumns) -> str:
    """Return the share of a quantile; for descending values, 1 minus the share."""
    if not is_number(argument):
        raise call.whole.error(f"{argument.text[:60]} is no share of {call.function}", form.example)
    if not 0 < float(argument.text) < 1:
        raise argument.error(f"{argument.text} is no share of the numbers", "more than 0 and less than 1: 0.9")
    if not call.is_descending:
        return argument.text
    if form.function == "quantile_disc":
        fault = "percentile_disc of descending values, which no query has"
        raise call.whole.error(fault, "ORDER BY column, and the share that is left: 0.1 in place of 0.9")
    return str(1 - Decimal(argument.text))


def _limit(argument: TokenSpan, call: Call, form: CallForm, columns: DerivedColumns) -> str:
    if not argument.text.isdecimal():
        raise call.whole.error(f"{argument.text[:60]} is no limit of {call.function}", form.example)
    return argument.text


def _condition(argument: TokenSpan, call: Call, form: CallForm, columns: DerivedColumns) -> str:
    return columns.condition(argument)


_READERS = {"q": _share, "limit": _limit, "where": _condition}
"""The readers of fields that are not columns."""
