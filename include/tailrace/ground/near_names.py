"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, among: Iterable[str]) -> str | None:
    """Return the word nearest to a misspelt one; one that only differs in case comes first. None if none is near."""
    by_folded: dict[str, list[str]] = {}
    for each in among:
        by_folded.setdefault(each.casefold(), []).append(each)
    folded = word.casefold()
    near = [folded] if folded in by_folded else get_close_matches(folded, by_folded, 1)
    return get_close_matches(word, by_folded[near[0]], 1, 0)[0] if near else None
