"""The JSON Schema of query files with SQL text."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from tailrace.query.json_schema import json_schema
from unit.query.test_query import SMALLEST

VALIDATOR = Draft202012Validator(json_schema())
SECTIONS = ("kind", "window", "aggregate")
BY_SQL = {name: value for name, value in SMALLEST.items() if name not in SECTIONS} | {"sql": "SELECT 1"}


@pytest.mark.parametrize(
    "beside", [{}, {"kind": "topk"}, {"window": {"timezone": "UTC"}}, {"topk": {"method": "sma"}}, {"parallelism": 3}]
)
def test_sql_text_stands_in_place_of_sections(beside):
    assert VALIDATOR.is_valid(BY_SQL | beside)


@pytest.mark.parametrize(
    "beside",
    [
        *({name: SMALLEST[name]} for name in ("window", "aggregate")),
        *({"kind": "emd_join"}, {"topk": {"k": 2}}, {"sql": ""}, {"sql": 3}, {"streams": {}}, {"name": None}),
    ],
)
def test_a_section_that_says_the_same_is_refused_beside_it(beside):
    assert not VALIDATOR.is_valid(BY_SQL | beside)


@pytest.mark.parametrize("name", SECTIONS)
def test_without_sql_text_sections_are_needed(name):
    assert not VALIDATOR.is_valid({field: value for field, value in SMALLEST.items() if field != name})
