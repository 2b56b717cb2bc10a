"""Removes table names from the columns of a statement: in FROM trades t, t.price is the column price.

A SELECT reads one table, so its columns need no qualifier. As in Spark, a table with an alias can only be named by the
alias, and a table's name precedes a column of the same name: trades.price is not a field of a column trades.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tailrace.sql.clauses import find_clauses
from tailrace.sql.tokens import TokenSpan, tokenize
from tailrace.sql.windows import bound_name


@dataclass(frozen=True)
class _Table:
    """The table after FROM.

    Attributes
    ----------
    qualifier : str or None
        The qualifier that columns may have.
    replaced : str or None
        The table's own name, if it has an alias.
    alias : TokenSpan
        The alias of a stream, with its AS; empty without one, and for a subquery.
    """

    qualifier: str | None
    replaced: str | None
    alias: TokenSpan


def without_qualifiers(statement: TokenSpan) -> TokenSpan:
    """Return a statement with blanks in place of qualifiers and aliases, so that each token keeps its position.

    Raises
    ------
    ExpressionError
        At a column qualified by a table's name instead of its alias, and at count(t.*), which Spark refuses, too.
    """
    taken: list[TokenSpan] = []
    for start, end in _selects(statement):
        select = statement[start:end]
        table = _table_of(select)
        if len(table.alias):
            taken.append(table.alias)
        for index in _own_tokens(select):
            name = select[index : index + 1].name
            if name is None or select.word(index + 1) != "." or (index and select.word(index - 1) == "."):
                continue
            if name == table.qualifier and select.word(index + 2) == "*" and select.word(index - 1) == "(":
                raise select[index:].error(f"{name}.* in a function", "count(*), which counts rows; or a column")
            if name == table.qualifier and bound_name(select[index : index + 3]) is None:
                taken.append(select[index : index + 2])
            elif name == table.replaced:
                column = select[index + 2 : index + 3].text
                raise select[index:].error(f"{name} is named {table.qualifier} here", f"{table.qualifier}.{column}")
    if not taken:
        return statement
    sql = statement.sql
    for span in taken:
        sql = f"{sql[: span.at]}{' ' * (span.end - span.at)}{sql[span.end :]}"
    return tokenize(sql)


def _selects(statement: TokenSpan) -> Iterator[tuple[int, int]]:
    """Yield the indexes at which each SELECT begins and ends."""
    depths = [depth for _, depth in statement.depths()]
    for start in range(len(statement)):
        if statement.word(start) == "SELECT":
            ends = (index for index in range(start, len(statement)) if depths[index] < depths[start])
            yield start, next(ends, len(statement))


def _own_tokens(select: TokenSpan) -> Iterator[int]:
    """Yield the indexes of a SELECT's own tokens, without inner SELECTs."""
    index = 0
    while index < len(select):
        if select.word(index) == "(" and select.word(index + 1) == "SELECT":
            index = select.close(index)
        yield index
        index += 1


def _table_of(select: TokenSpan) -> _Table:
    nothing = _Table(None, None, select[:0])
    starts = find_clauses(select)
    begin = next((index for index in starts if select.word(index) == "FROM"), None)
    if begin is None:
        return nothing
    end = next((index for index in starts if index > begin), len(select))
    source = select[begin + 1 : end]
    if not len(source) or len(source.split()) > 1:
        return nothing
    after = source.close(0 if source.word(0) == "(" else 1) + 1 if "(" in (source.word(0), source.word(1)) else 1
    alias = source[after:]
    name = alias[1:].name if alias.word(0) == "AS" else alias.name
    own = source[:1].name if after == 1 else None if source.word(0) == "(" else _table_in(source[:after])
    if not len(alias):
        return _Table(own, None, alias)
    if name is None:
        return nothing
    return _Table(name, own if own != name else None, alias[:0] if source.word(0) == "(" else alias)


def _table_in(source: TokenSpan) -> str | None:
    """Return the stream's name in a function of windows; None in a subquery."""
    for index in range(1, len(source) - 2):
        is_table = source.word(index) == "TABLE" and source.word(index - 1) == "("
        if is_table and source.word(index + 2).split() in ([","], ["PARTITION", "BY"]):
            return source[index + 1 : index + 2].name
    return None
