"""The columns that a SELECT reads of its stream: the source's own, and columns derived by expressions."""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Iterable

from sqlglot.tokenizer_core import TokenType

from tailrace.expressions.errors import Position
from tailrace.expressions.written_names import in_backticks, written
from tailrace.sql.projected import SelectedRows, columns_read
from tailrace.sql.tokens import TokenSpan, tokenize
from tailrace.sql.windows import holds_bounds

_LONGEST_SLUG = 40


def name_of(expression: TokenSpan) -> str:
    """Return a name for a column derived by an expression: its words and a checksum."""
    words = re.sub("[^a-z0-9]+", "_", expression.text.lower()).strip("_")[:_LONGEST_SLUG]
    return f"{words}_{crc32(' '.join(expression.same).encode()):08x}"


def generated_name(text: str) -> str:
    """Return the name that SQL text generates for a column derived by this expression."""
    return name_of(tokenize(text))


def quoted(name: str) -> str:
    """Return a name as SQL text, in quotes unless it is a plain word."""
    return in_backticks(name) if holds_bounds(name) else written(name)


class DerivedColumns:
    """Collects the columns that are read; derived ones get a name.

    Attributes
    ----------
    texts : dict
        The expressions of derived columns, by name.
    positions : dict
        The position of each one in the text.
    """

    def __init__(self, rows: SelectedRows) -> None:
        """Start with the rows that the SELECT reads, whose derived columns come first."""
        self.rows = rows
        self.texts: dict[str, str] = {}
        self.positions: dict[str, Position] = {}
        self._renamed: dict[str, TokenSpan] = {}
        self._read: dict[str, list[TokenSpan]] = {}
        for name, value in rows.derived.items():
            self._put(name, value)
        for condition in rows.conditions:
            self._note(condition, columns_read(condition))

    def column(self, value: TokenSpan) -> str:
        """Return the name of a value's column, its own or a derived one."""
        if value.name is not None:
            self.read(value)
            return value.name
        self.read(value)
        name = name_of(value)
        self._put(name, value)
        return name

    def key(self, value: TokenSpan, name: str, written: TokenSpan) -> None:
        """Derive a column under a name given in the text.

        Raises
        ------
        ExpressionError
        """
        self.rows.require_free(name, written)
        self.read(value)
        self._renamed[name] = value
        self._put(name, value)

    def where(self, value: TokenSpan | None) -> str | None:
        """Return the text of all conditions on the rows, with one more; None without any."""
        texts = [condition.text for condition in self.rows.conditions]
        texts += [] if value is None else [self.condition(value)]
        return " and ".join(f"({text})" for text in texts) if len(texts) > 1 else next(iter(texts), None)

    def condition(self, value: TokenSpan) -> str:
        """Return the text of a condition over the columns."""
        self.read(value)
        return value.text

    def read(self, value: TokenSpan) -> None:
        """Check an expression, and record the columns that it reads."""
        self._note(value, self.rows.read(value))

    def check(self) -> None:
        """Refuse a derived column with the name of a column that another expression reads.

        In SQL the other expression reads the stream's column; by the rules of sections it would read the derived one.

        Raises
        ------
        ExpressionError
        """
        for name, own in self._renamed.items():
            other = next((value for value in self._read.get(name, []) if value.same != own.same), None)
            if other is not None:
                fault = f"{other.text[:60]} reads {name}, by which {own.text[:60]} is named too"
                raise other.error(fault, f"another name than {name}, as AS {name}_key")

    def _note(self, value: TokenSpan, names: Iterable[str]) -> None:
        for name in names:
            self._read.setdefault(name, []).append(value)

    def _put(self, name: str, value: TokenSpan) -> None:
        self.texts[name] = value.text
        self.positions[name] = value.position


def is_number(piece: TokenSpan) -> bool:
    """Test whether the piece is a number."""
    return len(piece) == 1 and piece.tokens[0].token_type is TokenType.NUMBER
