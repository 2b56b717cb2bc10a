"""Words about numbers: 1 batch, 2 batches."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things in words; `plural` of the noun is by default the noun and an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
