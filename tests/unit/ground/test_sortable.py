"""Integers as text that sorts like the numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailrace.ground.arrow.sortable import from_sortable_text, to_sortable_text

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(INT64, INT64)
def test_text_sorts_like_the_numbers_and_gives_them_back(a, b):
    assert (to_sortable_text(a) < to_sortable_text(b)) == (a < b)
    assert from_sortable_text(to_sortable_text(a)) == a
