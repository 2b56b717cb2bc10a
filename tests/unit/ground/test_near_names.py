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


@pytest.mark.parametrize(
    ("word", "right"), [("pricee", "price"), ("Pricee", "Price"), ("PRICEE", "Price"), ("price", "price")]
)
def test_of_names_that_differ_in_case_alone_the_nearest_is_found(word: str, right: str) -> None:
    for names in (["Price", "price"], ["price", "Price"]):
        assert nearest(word, names) == right


def test_there_is_none_among_none() -> None:
    assert nearest("amount", []) is None
