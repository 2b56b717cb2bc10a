"""HTML for notebooks: tables and named texts, with all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

_MOST_CHARACTERS = 200
"""The longest text in a cell; the rest is cut off."""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return rows of texts as a table."""
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{said}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def named_texts(texts: Mapping[str, str]) -> str:
    """Return named texts as a table of two columns; line breaks are kept."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{_lines(text)}</td></tr>" for name, text in texts.items())
    return f"<table><tbody>{rows}</tbody></table>"


def _lines(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if "\n" in text else escape(text)


def _text(text: str) -> str:
    return escape(text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…")
