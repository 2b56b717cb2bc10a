"""The columns that a SELECT reads of its stream: the source's own, and those derived by expressions."""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Collection

from sqlglot.tokenizer_core import TokenType

from tailrace.expressions.errors import Position
from tailrace.sql.tokens import Piece, tokenize

_LONGEST_SLUG = 40


def name_of(expression: Piece) -> str:
    """Return the name of a column derived by an expression: its words, and a sum that distinguishes it from others."""
    words = re.sub("[^a-z0-9]+", "_", expression.text.lower()).strip("_")[:_LONGEST_SLUG]
    return f"{words}_{crc32(' '.join(expression.same).encode()):08x}"


def generated_name(text: str) -> str:
    """Return the name by which SQL text derives a column of this expression."""
    return name_of(tokenize(text))


class DerivedColumns:
    """The columns that are read, as they are met: derived ones get a name.

    Attributes
    ----------
    texts : dict
        The expressions of derived columns, by name.
    positions : dict
        Where each is written.
    """

    def __init__(self, stream: str, fixed: Collection[str]) -> None:
        self.texts: dict[str, str] = {}
        self.positions: dict[str, Position] = {}
        self._stream, self._fixed = stream, fixed
        self._renamed: dict[str, Piece] = {}
        self._read: dict[str, list[Piece]] = {}

    def column(self, value: Piece) -> str:
        """Return the name of the column of a value: its own, or that by which it is derived."""
        if value.name is not None:
            self.read(value)
            return value.name
        self.read(value)
        name = name_of(value)
        self._put(name, value)
        return name

    def key(self, value: Piece, name: str, place: Piece) -> None:
        """Derive a column by a name that the text gives it.

        Raises
        ------
        ExpressionError
        """
        if name in self._fixed:
            fault = f"{name} is a column of the stream by its declaration"
            raise place.error(fault, f"another name than {name}")
        self.read(value)
        self._renamed[name] = value
        self._put(name, value)

    def condition(self, value: Piece) -> str:
        """Return the text of a condition over the columns."""
        self.read(value)
        return value.text

    def read(self, value: Piece) -> None:
        """Check an expression, and note the columns that it reads."""
        self.refuse_table_names(value)
        names = [value.name] if value.name is not None else value.expression().columns
        for name in names:
            self._read.setdefault(name, []).append(value)

    def refuse_table_names(self, value: Piece) -> None:
        """Refuse a column by the name of its table, which would be taken for a field of a column."""
        for index in range(len(value) - 1):
            is_path = value.word(index + 1) == "." and value.word(index - 1 if index else -len(value) - 1) != "."
            if is_path and value[index : index + 1].name == self._stream:
                after = value[index + 2 : index + 3].text
                raise value[index:].error(f"a column by the name of its table: {self._stream}.{after}", after)

    def check(self) -> None:
        """Refuse a derived column that takes the name of a column which something else reads.

        In SQL that other one reads the stream's column; by the sections' rules it would read the derived one.

        Raises
        ------
        ExpressionError
        """
        for name, own in self._renamed.items():
            other = next((value for value in self._read.get(name, []) if value.same != own.same), None)
            if other is not None:
                fault = f"{other.text[:60]} reads {name}, by which {own.text[:60]} is named too"
                raise other.error(fault, f"another name than {name}, as AS {name}_key")

    def _put(self, name: str, value: Piece) -> None:
        self.texts[name] = value.text
        self.positions[name] = value.position


def is_number(piece: Piece) -> bool:
    """Test whether it is a number."""
    return len(piece) == 1 and piece.tokens[0].token_type is TokenType.NUMBER
