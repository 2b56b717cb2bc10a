"""Splits a SELECT into clauses; clauses that continuous queries lack are refused."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import TokenType

from tailrace.sql.tokens import TokenSpan

_ANSWERS = "no such clause: tailrace results --where 'n > 1' --order-by 'n desc' --limit 10 reads such answers"
ONE_STREAM = (
    "one stream; a table's columns come by key: lookup: {products: {path: …, key: sku, columns: …}}, in the stream; "
    "a join by likeness or place is a query of kind emd_join or spatial_join, in sections"
)
"""The remedy for a join, and for a second table."""
_OTHERS = {
    "ORDER BY": ("ORDER BY", f"{_ANSWERS}; the best of each window: row_number() OVER (…)"),
    "SORT BY": ("SORT BY", _ANSWERS),
    "CLUSTER BY": ("CLUSTER BY", _ANSWERS),
    "DISTRIBUTE BY": ("DISTRIBUTE BY", "no such clause: parallelism, in the query file"),
    "LIMIT": ("LIMIT", f"{_ANSWERS}; the best of each window: row_number() OVER (…)"),
    "OFFSET": ("OFFSET", _ANSWERS),
    "FETCH": ("FETCH", _ANSWERS),
    "QUALIFY": ("QUALIFY", "SELECT * FROM (SELECT *, row_number() OVER (…) AS rank FROM …) WHERE rank <= k"),
    "LATERAL": ("LATERAL", "a column of the stream"),
    "LATERAL VIEW": ("LATERAL VIEW", "a column of the stream"),
    "TABLESAMPLE": ("TABLESAMPLE", "all of the stream"),
    **dict.fromkeys(
        ("UNION", "INTERSECT", "EXCEPT", "MINUS"), ("a second SELECT", "one SELECT; another query is a file of its own")
    ),
    "JOIN": ("a join", ONE_STREAM),
}
_CLAUSES = ("FROM", "WHERE", "GROUP BY", "HAVING")
_GROUPINGS = ("ROLLUP", "CUBE", "GROUPING SETS", "WITH", "ALL")
_ONE_SELECT = "SELECT … FROM … GROUP BY …"
OPERAND_ENDS = (TokenType.R_PAREN, TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING)


@dataclass(frozen=True)
class Item:
    """An item of a select list: the computed value, and its name."""

    value: TokenSpan
    alias: TokenSpan | None

    @property
    def alias_name(self) -> str | None:
        """The name after AS; None without one."""
        return None if self.alias is None else self.alias.name

    @property
    def whole(self) -> TokenSpan:
        """The item with its name."""
        if self.alias is None:
            return self.value
        return TokenSpan(self.value.sql, (*self.value.tokens, *self.alias.tokens), self.value.at)


@dataclass(frozen=True)
class Clauses:
    """The clauses of a SELECT; missing ones are None, a missing `group` is empty."""

    items: list[Item]
    source: TokenSpan
    where: TokenSpan | None
    group: list[TokenSpan]
    having: TokenSpan | None = None

    def refuse_having(self) -> None:
        """Refuse HAVING without groups."""
        if self.having is not None:
            raise self.having.error("HAVING without groups", "WHERE …, or GROUP BY … before HAVING")


def clauses_of(select: TokenSpan) -> Clauses:
    """Split a SELECT into its clauses.

    Raises
    ------
    ExpressionError
    """
    if not len(select):
        raise select.error("it is empty", _ONE_SELECT)
    if select.word(0) != "SELECT":
        remedy = _ONE_SELECT + ("; what WITH names, in its place" if select.word(0) == "WITH" else "")
        raise select.error(f"a statement begins with {select[:1].text}, which no query is", remedy)
    if select.word(1) in ("DISTINCT", "ALL"):
        remedy = "no such word: an answer is once for each key and window; count(DISTINCT …) counts values"
        raise select[1:2].error(f"SELECT {select.word(1)}, which no query is", remedy)
    if select.word(1).startswith("/*"):
        raise select[1:2].error("a hint, which changes no answer and no query has", "no hint")
    begin = next((index for index in find_clauses(select) if select.word(index) == "FROM"), 0)
    if begin == 0:
        raise select[len(select) :].error("FROM is missing", "SELECT … FROM stream GROUP BY …")
    body = select[begin:]
    starts = _starts(body)
    ends = [*[start for _, start in starts][1:], len(body)]
    parts = {word: body[start + 1 : end] for (word, start), end in zip(starts, ends, strict=True)}
    for word, piece in parts.items():
        if not len(piece):
            raise piece.error(f"nothing stands after {word}", f"{word} …, or no {word}")
    groups = parts["GROUP BY"] if "GROUP BY" in parts else body[:0]
    for index in groups.find(lambda word: word in _GROUPINGS):
        raise groups[index:].error("several groupings at once, which no query has", "GROUP BY and columns, once")
    return Clauses(
        [_item(piece) for piece in select[1:begin].split()],
        parts["FROM"],
        parts.get("WHERE"),
        groups.split() if len(groups) else [],
        parts.get("HAVING"),
    )


def find_clauses(select: TokenSpan) -> list[int]:
    """Return the indexes of the words that begin a clause, without the FROM of `is distinct from`."""
    return [
        index
        for index in select.find(lambda word: word in _CLAUSES or word in _OTHERS)
        if not (select.word(index - 1) == "DISTINCT" and index > 1 and select.word(index - 2) in ("IS", "NOT"))
    ]


def _starts(body: TokenSpan) -> list[tuple[str, int]]:
    """Return the first words of the clauses from FROM on, and their positions."""
    starts: list[tuple[str, int]] = []
    for index in find_clauses(body):
        word, written = body.word(index), body[index : index + 1]
        if word in _OTHERS:
            fault, remedy = _OTHERS[word]
            raise written.error(f"{fault}, which no query has", remedy)
        if starts and _CLAUSES.index(word) <= _CLAUSES.index(starts[-1][0]):
            remedy = ", then ".join(f"{each} …" for each in _CLAUSES)
            raise written.error(f"{word} stands after {starts[-1][0]}", remedy)
        starts.append((word, index))
    return starts


def _item(piece: TokenSpan) -> Item:
    """Return an item of a select list, with its name, which may follow AS."""
    if not len(piece):
        raise piece.error("nothing stands before a comma or FROM", "a column, or no comma")
    if piece.word(-2) == "AS":
        alias = piece[-1:]
        if alias.name is None:
            raise alias.error(f"{alias.text} is no name", "AS revenue")
        return Item(piece[:-2], alias)
    last = piece[-1:]
    is_named = last.name is not None and len(piece) > 1 and piece.tokens[-2].token_type in OPERAND_ENDS
    if is_named and piece.tokens[-1].token_type in (TokenType.VAR, TokenType.IDENTIFIER):
        return Item(piece[:-1], last)
    return Item(piece, None)
