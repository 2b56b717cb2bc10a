"""Writes columns' names as expressions read them, and finds names with blanks that lack their backticks."""

from __future__ import annotations

from itertools import pairwise

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

_WORDS = {TokenType.VAR, *SparkParser.TYPE_TOKENS}
"""Words that are no keyword, and the names of types, which columns have too: `day`, `date`."""


def in_backticks(name: str) -> str:
    """Return a name in backticks."""
    return f"`{name.replace('`', '``')}`"


def written(name: str) -> str:
    """Return a column's name as an expression reads it: in backticks unless it is a plain word."""
    is_word = [(token.token_type, token.text) for token in _tokens(name)] == [(TokenType.VAR, name)]
    return name if is_word and not name[0].isdigit() else in_backticks(name)


def name_with_blanks(text: str) -> str | None:
    """Return the first words side by side in a text, in backticks, as no expression has them; None without any."""
    run = list[Token]()
    for token, following in pairwise([*_tokens(text), None]):
        assert token is not None
        if run or token.token_type in _WORDS:
            run.append(token)
        if run and not (following is not None and _follows(text, token, following)):
            if len(run) > 1:
                return in_backticks(text[run[0].start : run[-1].end + 1])
            run = []
    return None


def _follows(text: str, token: Token, following: Token) -> bool:
    """Return whether a token is the next word, or a number, after blanks alone."""
    between = text[token.end + 1 : following.start]
    return following.token_type in {*_WORDS, TokenType.NUMBER} and bool(between) and not between.strip(" ")


def _tokens(text: str) -> list[Token]:
    try:
        return list(Spark().tokenize(text))
    except TokenError:
        return []
