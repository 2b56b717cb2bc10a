"""The outer select list of a top-n: resolves its items by the inner list."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from tailrace.expressions.errors import ExpressionError
from tailrace.expressions.parse import parse_tree
from tailrace.ground.near_names import nearest
from tailrace.sql.clauses import Item
from tailrace.sql.tokens import TokenSpan, tokenize
from tailrace.sql.windows import WINDOW_COLUMNS, bound_name, is_whole_window

_RANK = "rank"
"""The column of answers with the rank."""

_ALWAYS = ("id", "score")
"""Columns of each answer beside the key, the window's bounds and the rank; a list need not name them."""


@dataclass(frozen=True)
class InnerList:
    """The inner select list of a top-n, which the outer one reads.

    Attributes
    ----------
    items : list of Item
        Its items, except `*` and the rank.
    rank : str
        The name given to row_number().
    has_all : bool
        Whether the list contains `*`.
    keys : frozenset of str
        The names in PARTITION BY; answers always have these columns.
    tables : frozenset of str
        The names of the stream and of the subquery.
    """

    items: list[Item]
    rank: str
    has_all: bool
    keys: frozenset[str]
    tables: frozenset[str]

    @staticmethod
    def from_items(items: list[Item], rank: Item, keys: Collection[str], tables: Collection[str]) -> InnerList:
        """Build the list, one item of which is the rank.

        Raises
        ------
        ExpressionError
        """
        stars = [item for item in items if _is_star(item)]
        others = once([rank, *(item for item in items if item is not rank and item not in stars)])[1:]
        each = InnerList(others, str(rank.alias_name), bool(stars), frozenset(keys), frozenset(tables))
        for item in others:
            if _name(item) is None and not _is_bound(item):
                each.refuse_tables(item.value)
                raise _nameless(item)
        return each

    @cached_property
    def named(self) -> dict[str, Item]:
        """The items by their names."""
        return {name: item for item in self.items if (name := _name(item)) is not None}

    def shown(self, outer: list[Item]) -> list[Item]:
        """Return the output columns in the order of the outer list; `*` means the items of the inner list.

        Raises
        ------
        ExpressionError
        """
        shown: list[Item] = []
        for item in outer:
            shown += self.items if _is_star(item) else self._read(item)
        return once(shown)

    def rest(self, shown: list[Item]) -> list[Item]:
        """Return the items that are not in the output; they may name the key."""
        names, values = {_name(item) for item in shown}, [item.value.same for item in shown]
        return [item for item in self.items if _name(item) not in names and item.value.same not in values]

    def refuse_tables(self, value: TokenSpan) -> None:
        """Refuse a column qualified by its table, which would be read as a field of a column.

        Raises
        ------
        ExpressionError
        """
        for index, path in _columns(value):
            if path[0] in self.tables and len(path) > 1:
                fault = f"a column by the name of its table: {path[0]}.{path[1]}"
                raise value[index:].error(fault, value[index + 2 : index + 3].text)

    def _read(self, item: Item) -> list[Item]:
        """Return the inner list's items for an item of the outer list; none for the rank."""
        name, own = item.value.name, self.named.get(item.value.name or "")
        if name == self.rank:
            if item.alias_name in (None, name, _RANK):
                return []
            fault = f"answers have the rank as {_RANK}, and not as {item.alias_name}"
            raise item.whole.error(fault, f"{name}, without another name")
        if own is not None and item.alias_name in (None, name):
            return [own]
        if own is not None and own.alias is not None:
            fault = f"{item.value.text} is named by the query, and gets a second name"
            raise item.whole.error(fault, f"AS {item.alias_name} where {item.value.text} is named")
        is_there = name is not None and item.alias is None and name in (*_ALWAYS, *self.keys)
        if is_there or _is_bound(item):
            return [item]
        value = self._over(item.value)
        if name is None and item.alias is None:
            raise _nameless(item)
        return [Item(value, item.alias)]

    def _over(self, value: TokenSpan) -> TokenSpan:
        """Return an expression with each name replaced by the inner list's expression, in parentheses.

        Raises
        ------
        ExpressionError
            At an unknown name, and at the rank and the windows' bounds, which are not columns of a tuple.
        """
        self.refuse_tables(value)
        texts: dict[int, str] = {}
        for index, (name, *_) in _columns(value):
            own, rest = self.named.get(name), value[index:]
            if name == self.rank or name.lower() in WINDOW_COLUMNS or (own is not None and _is_bound(own)):
                fault = f"an expression over {name}, which is no column of a tuple"
                raise rest.error(fault, f"{name} as it is; compute with it where answers are read")
            if own is not None and own.alias is not None and own.value.name != name:
                self.refuse_tables(own.value)
                texts[index] = own.value.text if own.value.name is not None else f"({own.value.text})"
            elif own is None and not self.has_all:
                near = nearest(name, self.named)
                remedy = f"{'' if near is None else f'{near}; or '}{name} in the inner list, or * there"
                raise rest.error(f"the inner list has no column {name}", remedy)
        return _with(value, texts)


def once(items: list[Item]) -> list[Item]:
    """Return the distinct items of a select list.

    Raises
    ------
    ExpressionError
        At a name of two different items.
    """
    values: dict[str | None, Item] = {}
    distinct: list[Item] = []
    for item in items:
        name = _name(item)
        other = values.setdefault(name, item)
        if name is None or other is item:
            distinct.append(item)
        elif other.value.same != item.value.same:
            raise (item.alias or item.value).error(f"two columns are named {name}", "a name of its own for each")
    return distinct


def _name(item: Item) -> str | None:
    return item.alias_name or item.value.name


def _is_star(item: Item) -> bool:
    """Test whether an item is `*`; refuse `*` of a table, or with exceptions."""
    value = item.whole
    if value.word(0) == "*" and len(value) > 1:
        raise value.error(f"{value.text[:60]} is no list of columns", "*, or columns by their names")
    if value.word(-2) == "." and value.word(-1) == "*":
        raise value.error(f"columns by the name of their table: {value.text[:60]}", "*")
    return value.word(0) == "*"


def _is_bound(item: Item) -> bool:
    return bound_name(item.value) is not None or is_whole_window(item.value)


def _nameless(item: Item) -> ExpressionError:
    fault = f"{item.whole.text[:60]} is no column of the answers"
    return item.whole.error(fault, f"a column by its name: price; or {item.value.text[:60]} AS a name for it")


def _columns(value: TokenSpan) -> list[tuple[int, list[str]]]:
    """Return the columns that a value reads: for each, the token's index, the column's name and its fields' names."""
    if value.name is not None:
        return [(0, [value.name])]
    value.expression()  # refuses a faulty expression at its position in the whole text
    indexes = {token.start - value.at: index for index, token in enumerate(value.tokens)}
    nodes = [node.parts for node in parse_tree(value.text).find_all(exp.Column, bfs=False)]
    return [(indexes[parts[0].meta["start"]], [part.name for part in parts]) for parts in nodes]


def _with(value: TokenSpan, texts: dict[int, str]) -> TokenSpan:
    """Return a value with some of its tokens replaced by other texts; it keeps its position in the whole text."""
    if not texts:
        return value
    text, at = "", value.at
    for index, other in sorted(texts.items()):
        token = value.tokens[index]
        text, at = text + value.sql[at : token.start] + other, token.end + 1
    before = re.sub(r"[^\n]", " ", value.sql[: value.at])
    changed = tokenize(before + text + value.sql[at : value.end])
    try:
        changed.expression()
    except ExpressionError as error:
        raise value.error(error.fault, error.remedy) from None
    return changed
