"""The tokens of an SQL text, and pieces of it: consecutive tokens with their text and position."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from tailrace.expressions.errors import ExpressionError, Position
from tailrace.expressions.expression import Expression, parse

_CLOSED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^'\"`]", re.DOTALL)
_OPENING, _CLOSING = (TokenType.L_PAREN, TokenType.L_BRACKET), (TokenType.R_PAREN, TokenType.R_BRACKET)
_NO_WORDS = (TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER, TokenType.IDENTIFIER)
_CONSTANTS = ("NULL", "TRUE", "FALSE")


def position_at(sql: str, offset: int) -> Position:
    """Return line and column of an offset in a text."""
    return Position(sql.count("\n", 0, offset) + 1, offset - (sql.rfind("\n", 0, offset) + 1) + 1)


@dataclass(frozen=True)
class TokenSpan:
    """Consecutive tokens of an SQL text.

    Attributes
    ----------
    sql : str
        The whole text.
    at : int
        The offset at which it begins.
    """

    sql: str
    tokens: tuple[Token, ...]
    at: int

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, part: slice) -> TokenSpan:
        tokens = self.tokens[part]
        start = part.indices(len(self.tokens))[0]
        at = self.tokens[start].start if start < len(self.tokens) else self.end
        return TokenSpan(self.sql, tokens, at)

    @property
    def end(self) -> int:
        return self.tokens[-1].end + 1 if self.tokens else self.at

    @property
    def text(self) -> str:
        """The text as written, without surrounding white space."""
        return self.sql[self.at : self.end] if self.tokens else ""

    @property
    def position(self) -> Position:
        return position_at(self.sql, self.at)

    def word(self, index: int) -> str:
        """Return a token in capitals if it is a word or a sign; empty for others, and out of range."""
        if not -len(self.tokens) <= index < len(self.tokens):
            return ""
        token = self.tokens[index]
        return "" if token.token_type in _NO_WORDS else token.text.upper()

    @property
    def name(self) -> str | None:
        """The name, without quotes, if the piece is a single name; else None."""
        if len(self.tokens) != 1:
            return None
        (token,) = self.tokens
        word = self.word(0)
        is_word = bool(re.fullmatch(r"[^\W\d]\w*", word)) and word not in _CONSTANTS
        return token.text if is_word or token.token_type is TokenType.IDENTIFIER else None

    @property
    def literal(self) -> str | None:
        """The number, or the content of the text, if the piece is a literal; else None."""
        if len(self.tokens) != 1 or self.tokens[0].token_type not in (TokenType.NUMBER, TokenType.STRING):
            return None
        return self.tokens[0].text

    @property
    def same(self) -> tuple[str, ...]:
        """Its tokens in a normal form, equal for equivalent pieces: case only matters in quoted names."""
        return tuple(self._same(index, token) for index, token in enumerate(self.tokens))

    def _same(self, index: int, token: Token) -> str:
        if token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
            return f"{'r' * (token.token_type is TokenType.RAW_STRING)}'{token.text}'"
        is_column = token.token_type in (TokenType.VAR, TokenType.IDENTIFIER) and self.word(index + 1) != "("
        return token.text if is_column else token.text.lower()

    def error(self, fault: str, remedy: str) -> ExpressionError:
        """Return an error that refuses the piece."""
        return ExpressionError(self.position, fault, remedy)

    def depths(self) -> Iterator[tuple[int, int]]:
        """Yield the index of each token, and the number of open parentheses around it."""
        depth = 0
        for index, token in enumerate(self.tokens):
            depth -= token.token_type in _CLOSING
            yield index, depth
            depth += token.token_type in _OPENING

    def close(self, opening: int) -> int:
        """Return the index of the parenthesis that closes the one at an index."""
        return next(opening + index for index, depth in self[opening:].depths() if depth == 0 and index)

    def split(self) -> list[TokenSpan]:
        """Split at commas, except commas within parentheses."""
        commas = self.find(lambda word: word == ",")
        starts, ends = [0, *(comma + 1 for comma in commas)], [*commas, len(self)]
        return [self[start:end] for start, end in zip(starts, ends, strict=True)]

    def find(self, is_wanted: Callable[[str], bool]) -> list[int]:
        """Return the indexes of the wanted words outside of parentheses."""
        return [index for index, depth in self.depths() if depth == 0 and is_wanted(self.word(index))]

    def position_of(self, column: str) -> Position:
        """Return the position at which it first reads a column."""
        return self.position if self.name is not None else self._at(self.expression().position_of(column))

    def _at(self, position: Position) -> Position:
        """Return a position in the piece as a position in the whole text."""
        line, column = position
        at = self.position
        return Position(at.line + line - 1, column + (at.column - 1 if line == 1 else 0))

    def columns_of(self, text: str) -> dict[str, Position]:
        """Return the columns read by a text in place of the piece, each with the position of its first use.

        Raises
        ------
        ExpressionError
        """
        expression = self.parse(text)
        return {name: self._at(expression.position_of(name)) for name in expression.columns}

    def expression(self) -> Expression:
        """Parse the piece as a scalar expression.

        Raises
        ------
        ExpressionError
        """
        return self.parse(self.text)

    def parse(self, text: str) -> Expression:
        """Parse a text as a scalar expression; errors have positions as if the text stood in place of the piece.

        Raises
        ------
        ExpressionError
        """
        try:
            return parse(text)
        except ExpressionError as error:
            raise ExpressionError(self._at(error.position), error.fault, error.remedy) from None


def tokenize(sql: str, one: str = "one SELECT") -> TokenSpan:
    """Return the tokens of one SQL statement; a semicolon may end it.

    `one` describes a valid text.

    Raises
    ------
    ExpressionError
    """
    at = 0
    while at < len(sql) and (match := _CLOSED.match(sql, at)):
        at = match.end()
    try:
        tokens = tuple(Spark().tokenize(sql))
    except TokenError:
        unclosed = position_at(sql, at if at < len(sql) else 0)
        raise ExpressionError(unclosed, "a text or a name is not closed", "a quote where it ends") from None
    piece = TokenSpan(sql, tokens, tokens[0].start if tokens else 0)
    _check_parentheses(piece)
    semicolons = [index for index in range(len(tokens)) if tokens[index].token_type is TokenType.SEMICOLON]
    if semicolons and semicolons[0] + 1 < len(tokens):
        raise piece[semicolons[0] + 1 :].error("a second statement begins", one)
    return piece[: semicolons[0]] if semicolons else piece


def _check_parentheses(piece: TokenSpan) -> None:
    """Refuse an unbalanced parenthesis."""
    opened: list[TokenSpan] = []
    for index, token in enumerate(piece.tokens):
        if token.token_type in _OPENING:
            opened.append(piece[index : index + 1])
        elif token.token_type in _CLOSING:
            if not opened or _OPENING.index(opened[-1].tokens[0].token_type) != _CLOSING.index(token.token_type):
                raise piece[index : index + 1].error("it closes what was not opened", "no parenthesis here")
            opened.pop()
    if opened:
        raise opened[-1].error("a parenthesis is not closed", ") where it ends")
