"""The page of expressions has the functions of the registry, and each of them is held to Spark's own result."""

from __future__ import annotations

import re
from pathlib import Path

from spark_expressions import EXPRESSIONS
from tailrace.expressions.documentation import function_table
from tailrace.expressions.registry import FUNCTIONS

PAGE = Path(__file__).parents[3] / "docs" / "expressions.md"


def test_the_page_has_the_table_of_the_registry():
    assert f"\n{function_table()}\n" in PAGE.read_text(), "python tools/function_table.py writes it"


def test_each_function_is_compared_with_spark():
    called = {name for texts in EXPRESSIONS.values() for text in texts for name in re.findall(r"(\w+)\(", text)}
    assert FUNCTIONS.keys() - called == set()
