"""Each function of the registry is held to Spark's own result."""

from __future__ import annotations

import re

from kit.draws.spark_expressions import EXPRESSIONS
from tailrace.expressions.registry import FUNCTIONS


def test_each_function_is_compared_with_spark():
    called = {name for texts in EXPRESSIONS.values() for text in texts for name in re.findall(r"(\w+)\(", text)}
    assert FUNCTIONS.keys() - called == set()
