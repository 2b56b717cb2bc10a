"""The name that was meant by one that is not there."""

from __future__ import annotations

import pytest

from tailrace.ground.near_names import nearest


@pytest.mark.parametrize(
    ("word", "right"),
    [("AMOUNT", "amount"), ("Amonut", "amount"), ("amount2", "amount"), ("x", None), ("Status", "STATUS")],
)
def test_a_name_that_differs_in_case_alone_is_the_nearest(word: str, right: str | None) -> None:
    assert nearest(word, ["amounts", "amount", "STATUS", "stat"]) == right


def test_there_is_none_among_none() -> None:
    assert nearest("amount", []) is None
