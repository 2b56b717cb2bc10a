"""The top-n form of a SELECT: row_number() over each window and key, and a bound for it."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.expressions.errors import Position
from tailrace.sql.clauses import Clauses, Item, clauses_of
from tailrace.sql.derived import DerivedColumns
from tailrace.sql.outer_list import InnerList
from tailrace.sql.selects import Named, require_read
from tailrace.sql.tokens import TokenSpan
from tailrace.sql.windows import Source, source_of

RIGHT = (
    "SELECT country, venue, rank FROM (SELECT *, row_number() OVER (PARTITION BY window_start, window_end, country "
    "ORDER BY price DESC) AS rank FROM TUMBLE(…)) WHERE rank <= 5"
)
_RANKS = ("rank", "dense_rank", "ntile", "percent_rank")


@dataclass(frozen=True)
class TopN:
    """The parts of the form.

    Attributes
    ----------
    groups : list of Piece
        The items of PARTITION BY.
    score : Piece
        The value in ORDER BY, and whether it is descending.
    ties : Piece or None
        The second item of ORDER BY.
    k : int
    bound : Piece
        The condition that gives k.
    items : list of Item
        The output items, followed by the other items of the inner select list; without the rank.
    shown : tuple of str
        The names of the output columns, in order.
    """

    groups: list[TokenSpan]
    score: TokenSpan
    descending: bool
    ties: TokenSpan | None
    k: int
    bound: TokenSpan
    items: list[Item]
    shown: tuple[str, ...]


def is_top_n(clauses: Clauses) -> bool:
    """Test whether a SELECT numbers the rows of each window, as a subquery of the form does."""
    return any(is_ranking(item.value) for item in clauses.items)


def top_n_among(source: Source, named: list[Named]) -> tuple[Source, list[Named]]:
    """Turn a SELECT with row_number() that WITH names into a subquery; return statement and other SELECTs."""
    if source.subquery is not None or source.windows is not None:
        return source, named
    for number, each in enumerate(named):
        if each.name.name == source.stream.name and is_top_n(clauses_of(each.select)):
            require_read(named[number + 1 :], [])
            return Source(source.stream[:0], subquery=each.select), named[:number]
    return source, named


def top_n_of(outer: Clauses, inner: Clauses, end: TokenSpan) -> TopN:
    """Read the form from the clauses of the SELECT and of its subquery.

    Raises
    ------
    ExpressionError
    """
    for clauses in (inner, outer):
        if clauses.group:
            raise clauses.group[0].error("GROUP BY beside a subquery", f"windows over the stream, or top-n: {RIGHT}")
        clauses.refuse_having()
    numbered = [item for item in inner.items if is_ranking(item.value)]
    if len(numbered) != 1:
        written = inner.items[0].whole if not numbered else numbered[1].whole
        remedy = f"{RIGHT}; or GROUP BY window(…) over it"
        raise written.error("a subquery that is no top-n, which no query has", remedy)
    (number,) = numbered
    if number.alias is None:
        raise number.value.error("row_number() has no name", f"{number.value.text[:60]}… AS rank")
    name = number.alias.name
    if outer.where is None:
        raise end.error(f"no WHERE bounds {name}", f"WHERE {name} <= 5")
    groups, order = _over(number.value)
    if len(order) > 2:  # noqa: PLR2004  the score, and ties
        raise order[2].error("a third column of an order", "the score, and perhaps the id, by which ties are ordered")
    score, descending = _ordered(order[0])
    ties = None
    if len(order) > 1:
        ties, is_downward = _ordered(order[1])
        if is_downward:
            raise order[1].error("ties in descending order", "the id, ascending, by which ties are ordered")
    sources = [source_of(clauses.source) for clauses in (outer, inner)]
    tables = {name for source in sources for name in (source.alias, source.stream.name) if name is not None}
    listed = InnerList.from_items(
        inner.items, number, [group.name for group in groups if group.name is not None], tables
    )
    items = listed.shown(outer.items)
    shown = tuple(filter(None, (item.alias_name or item.value.name for item in items)))
    items += listed.rest(items)
    return TopN(groups, score, descending, ties, _k(outer.where, str(name)), outer.where, items, shown)


def selected_by(top_n: TopN, items: list[Item], columns: DerivedColumns) -> dict[str, Position]:
    """Return the columns that select lists name beside the key and the rank, with positions.

    An expression needs a name. The id and the score are included, under their names in answers.

    Raises
    ------
    ExpressionError
    """
    selected: dict[str, Position] = {}
    for item in items:
        name = item.alias_name or item.value.name
        if name is None or name not in top_n.shown:
            continue
        if item.alias is None or item.value.name == name:
            columns.read(item.value)
        else:
            columns.key(item.value, name, item.alias)
        selected[name] = item.whole.position
    return {name: selected[name] for name in top_n.shown if name in selected}


def is_ranking(value: TokenSpan) -> bool:
    """Test whether a value is row_number() OVER (…); refuse other ranking functions."""
    if value.word(0).lower() in _RANKS and value.word(1) == "(":
        raise value.error(f"{value.word(0).lower()}() leaves open which of equal tuples are taken", "row_number()")
    return value.word(0) == "ROW_NUMBER" and value.word(1) == "("


def _over(number: TokenSpan) -> tuple[list[TokenSpan], list[TokenSpan]]:
    """Return the items of PARTITION BY and of ORDER BY."""
    if number.word(2) != ")":
        raise number.error("row_number() takes no argument", "row_number()")
    over = number[3:]
    if over.word(0) != "OVER" or over.word(1) != "(" or over.close(1) != len(over) - 1:
        raise over.error("row_number() without its OVER (…)", RIGHT)
    body = over[2:-1]
    starts = body.find(lambda word: word in ("PARTITION BY", "ORDER BY", "ROWS", "RANGE"))
    words = [body.word(start) for start in starts]
    if words != ["PARTITION BY", "ORDER BY"] or starts[0] != 0:
        raise body.error("row_number() is not of each window by a score", RIGHT)
    return body[1 : starts[1]].split(), body[starts[1] + 1 :].split()


def _ordered(item: TokenSpan) -> tuple[TokenSpan, bool]:
    """Return a value of ORDER BY, and whether it is descending."""
    if item.word(-2) == "NULLS":
        raise item[-2:].error("an order of nulls, which have no rank", "no NULLS FIRST, and no NULLS LAST")
    value = item[:-1] if item.word(-1) in ("ASC", "DESC") else item
    if not len(value):
        raise item.error("ORDER BY without a score", "ORDER BY price DESC")
    return value, item.word(-1) == "DESC"


def _k(where: TokenSpan, name: str) -> int:
    """Return k of a bound: rank <= k, rank < k + 1, rank = 1, or the same with sides swapped."""
    sign, one, other = where.word(1), where[:1], where[2:]
    if one.literal is not None:
        one, other, sign = other, one, {">=": "<=", ">": "<"}.get(sign, sign)
    number = other.literal or ""
    is_bound = len(where) == 3 and one.name == name and number.isdecimal()  # noqa: PLR2004
    if is_bound and sign == "=" and int(number) == 1:
        return 1
    if not is_bound or sign not in ("<=", "<"):
        raise where.error(
            f"{where.text[:60]} is no bound of {name}", f"WHERE {name} <= 5; other conditions in the subquery"
        )
    return int(number) - (sign == "<")
