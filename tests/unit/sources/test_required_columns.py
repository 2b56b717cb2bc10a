"""The columns that files of a source are required to have, and the refusal of those that they lack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kit.parts.source_mappings import source_mapping
from tailrace.expressions.projection import Projection
from tailrace.ground.errors import Refused
from tailrace.kind.column_use import AGGREGATION, ColumnUse
from tailrace.sources.formats.required_columns import require


@pytest.mark.parametrize("part", ["event_time", "arrival_time", "id", "key", "value"])
def test_every_column_that_the_query_names_is_required(part: str) -> None:
    columns = source_mapping("e", "a", "i", "k", {"value": "v"})
    name = columns.named()[part]
    with pytest.raises(Refused, match=f"no column '{name}', which the query names as {part}"):
        require(Path("file"), columns, [other for other in "eaikv" if other != name])


def test_optional_columns_that_the_query_does_not_name_are_not_required() -> None:
    require(Path("file"), source_mapping("e", None, "i", None), ["e", "i"])


def test_each_missing_column_is_named_by_its_field_and_its_place_in_an_expression() -> None:
    projection = Projection.parse({"net": "amount /\n  amuont"}, "paid and `stat us` = 'x'")
    uses = (ColumnUse("Weight", AGGREGATION, part="value_w", field="aggregate.a.column"),)
    columns = replace(source_mapping("e", None, "i", ("k",), projection=projection, stream="s"), uses=uses)
    with pytest.raises(Refused) as refused:
        require("in/1.csv", columns, ["e", "i", "amount", "status", "paid", "weight"])
    assert [(problem.where, problem.remedy.partition(";")[0]) for problem in refused.value.problems] == [
        ("streams.s.key: in/1.csv", "one of amount, e, i, net, paid, status, weight"),
        ("aggregate.a.column: in/1.csv", "weight"),
        ("streams.s.columns.net: 2:3: in/1.csv", "amount"),
        ("streams.s.where: 1:10: in/1.csv", "status"),
    ]
