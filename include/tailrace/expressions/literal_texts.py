"""Text literals in an expression: accepts only forms that Spark reads the same way."""

from __future__ import annotations

from tailrace.expressions.errors import ExpressionError, Position

_ESCAPES = "\\'\"ntr"


def check_texts(text: str) -> None:
    """Refuse a text literal with an escape that is not the same to all: \\d would be the letter d.

    Raises
    ------
    ExpressionError
    """
    at = 0
    while at < len(text):
        char = text[at]
        if text.startswith("--", at):
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif text.startswith("/*", at):
            end = text.find("*/", at)
            at = end + 2 if end >= 0 else len(text)
        elif char == "`":
            end = text.find("`", at + 1)
            at = end + 1 if end >= 0 else len(text)
        elif char in "'\"":
            is_raw = text[at - 1 : at] in ("r", "R") and not (text[at - 2 : at - 1] or " ").isalnum() if at else False
            at = _end(text, at, is_raw)
        else:
            at += 1


def _end(text: str, start: int, is_raw: bool) -> int:
    """Return the position at which a literal that starts with a quote ends."""
    at = start + 1
    while at < len(text) and text[at] != text[start]:
        if text[at] == "\\" and not is_raw:
            if text[at + 1 : at + 2] not in _ESCAPES or at + 1 >= len(text):
                before = text[:at]
                position = Position(before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1)
                written = text[at : at + 2]
                fault = f"the escape {written} in a text"
                raise ExpressionError(position, fault, f"\\{written}, or r'…' for a text in which \\ is a character")
            at += 1
        at += 1
    return at + 1
