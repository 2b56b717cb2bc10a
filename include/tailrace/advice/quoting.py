"""Quotes names and texts of a user's data for expressions, YAML and comments."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9_/.][A-Za-z0-9_/.+ -]*(?<! )")
_NULLS = ("null", "~", "")


def quoted(name: str) -> str:
    """Return a column's name quoted for expressions, even if it is a keyword."""
    return f"`{name.replace('`', '``')}`"


def scalar(text: str) -> str:
    """Return a text as a YAML scalar, in double quotes unless it is plain."""
    if _PLAIN.fullmatch(text) and text not in _NULLS:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def shown(text: str, most: int = 60) -> str:
    """Return a text for a comment or message: printable, on one line, and not too long."""
    printable = "".join(char if char.isprintable() else "?" for char in text)
    return printable if len(printable) <= most else f"{printable[: most - 1]}…"


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if (char.isprintable() and char.isascii()) or char.isalpha():
        return char
    return f"\\x{ord(char):02x}" if ord(char) <= 0xFF else f"\\U{ord(char):08x}"  # noqa: PLR2004 (a byte)
