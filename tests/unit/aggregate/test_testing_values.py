"""The values of aggregate functions that users' tests are held against: of each function that is registered."""

from __future__ import annotations

import pytest

from tailrace.functions.function import Function
from tailrace.functions.registry import FUNCTIONS
from tailrace.testing.values import value_of


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_each_registered_function_is_computed(function: Function) -> None:
    values: list[object] = [True, False, True] if function.takes == "booleans" else [1, 2, 4]
    of_two = [*zip(values, [2, 3, 9], strict=True)]
    q = {"q": 0.5, "limit": 9}.get(next(iter(function.parameters), ""))
    assert value_of(function.name, of_two if len(function.columns) > 1 else values, q) is not None


@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0], [1.0]])
def test_another_function_is_no_variance(values: list[float]) -> None:
    with pytest.raises(ValueError, match="standard_error is no function that is computed here"):
        value_of("standard_error", values)
