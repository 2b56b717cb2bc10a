"""Numbers in words: 1 batch, 2 batches."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things in words; the default `plural` is the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def overflow_of(number: int) -> str:
    """Return a warning about sums that overflowed their type, and lists beyond their limit, with the remedy."""
    remedy = "a derived column of a wider type holds more, as cast(amount as decimal(38, 2)) or as double"
    remedy += ", and a list with a larger limit"
    left = f"{counted(number, 'sum or list', 'sums or lists')} left the type or the limit of the answers"
    left += ", which are null there, or infinite as doubles"
    return f"{left}: {remedy}"


def floored_of(stream: str, columns: Iterable[str]) -> str:
    """Return a warning about times that are finer than microseconds."""
    names = sorted(columns)
    have = "has" if len(names) == 1 else "have"
    return f"{' and '.join(names)} of {stream} {have} times finer than microseconds, which were floored to these"
