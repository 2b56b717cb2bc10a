"""Named aggregates against Spark SQL's own: the same values and types over edge values of every type."""

from __future__ import annotations

import itertools
import math
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from kit.oracles.named_oracle import JOINT, SPARK
from tailrace.aggregate.named_section import NAMED, NamedAggregatesSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.functions.registry import FUNCTIONS
from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US
from tailrace.kind.inputs import ColumnTypes
from tailrace.windows.sliding import Sliding

MOST, LEAST, NEXT = (Decimal(text) for text in ("9" * 34 + ".9999", "-" + "9" * 34 + ".9999", "9" * 34 + ".9998"))
ROWS = {
    "one": [(Decimal("0.01"), Decimal("1"), 1, -0.0, 0.5, "a", date(2024, 2, 29), True)],
    "nulls": [(None,) * 8, (None,) * 8],
    "some": [
        (Decimal("9999999999999999.99"), NEXT, 2**53 + 1, 0.0, 1.5, "", date(1, 1, 1), False),
        (None,) * 8,
        (Decimal("-9999999999999999.99"), LEAST, -(2**53), -0.0, -2.25, "ä", date(9999, 12, 31), True),
        (Decimal("0.01"), Decimal("0.0001"), 7, 1e300, 3.0, "z" * 1000, date(2000, 1, 1), True),
    ],
    "sums overflow": [
        (Decimal("1.00"), MOST, 2**63 - 1, 1e308, 1.0, "b", date(2020, 1, 1), True),
        (Decimal("1.00"), MOST, 2**63 - 1, 1e-308, 1.0, "b", date(2020, 1, 1), True),
    ],
    "ends": [
        (Decimal("5.00"), LEAST, -(2**63), 5.0, 0.0, "c", date(2020, 1, 1), False),
        (Decimal("5.00"), MOST, 2**63 - 1, 5.0, 0.0, "c", date(2020, 1, 1), False),
    ],
}
TYPES = {
    "money": pa.decimal128(18, 2),
    "large": pa.decimal128(38, 4),
    "whole": pa.int64(),
    "real": pa.float64(),
    "short": pa.float32(),
    "text": pa.string(),
    "day": pa.date32(),
    "flag": pa.bool_(),
}


def pairs() -> list[tuple[str, str]]:
    """Each function with each column that it takes."""
    return [
        (function, column)
        for function, (column, dtype) in itertools.product(FUNCTIONS, TYPES.items())
        if FUNCTIONS[function].accepts(dtype)
    ]


def tuples() -> pa.Table:
    rows = [(key, *row) for key, group in ROWS.items() for row in group]
    columns = {
        name: pa.array([row[place] for row in rows], dtype) for place, (name, dtype) in enumerate(TYPES.items(), 1)
    }
    places = pa.array(range(len(rows)), pa.int64())
    return pa.table({"key": [row[0] for row in rows], "place": places} | columns)


def ours(content: pa.Table) -> dict[str, dict]:
    each = {
        f"{function}_{column}": {"function": function, "column": column}
        | ({"q": 0.9} if function.startswith("quantile") else {})
        | ({"limit": 9} if function.startswith("collect") else {})
        | ({"by": "place"} if function == "max_by" else {})
        | ({"other": "place"} if function in JOINT else {})
        | ({"column": "place", "by": column} if function == "min_by" else {})
        for function, column in pairs()
    }
    section = NamedAggregatesSection.model_validate({"function": NAMED, "each": each})
    types = ColumnTypes(carried={f"value_{name}": dtype for name, dtype in (TYPES | {"place": pa.int64()}).items()})
    kind = aggregate_of(Sliding(1000, 1000), section, types)
    columns = {name: content[name].combine_chunks() for name in content.column_names}
    times = dict.fromkeys(("event_time", "arrival_time"), columns["place"])
    times |= dict.fromkeys((EVENT_US, ARRIVAL_US), pa.array([0] * len(content)))
    ids = {"id": columns["place"].cast(pa.string()), "key": columns["key"]}
    batch = pa.RecordBatch.from_pydict(times | ids | {f"value_{name}": columns[name] for name in (*TYPES, "place")})
    answers = kind.evaluate(batch)
    return {row["key"]: row for row in answers.to_pylist()}, answers.schema


def test_each_function_is_spark_sqls_over_edge_values(spark):
    content = tuples()
    found, schema = ours(content)
    frame = spark.createDataFrame(content)
    wanted = [f"{SPARK[function].format(column)} as {function}_{column}" for function, column in pairs()]
    frame.createOrReplaceTempView("edges")
    spark.conf.set("spark.sql.ansi.enabled", "false")  # a correlation is null where a column does not vary
    expected = spark.sql(f"select key, {', '.join(wanted)} from edges group by key").toArrow()
    spark.conf.unset("spark.sql.ansi.enabled")
    assert found.keys() == set(expected["key"].to_pylist()) == {*ROWS}
    for function, column in pairs():
        name = f"{function}_{column}"
        types = [each.field(name).type for each in (schema, expected.schema)]
        one, other = (each.value_type if pa.types.is_list(each) else each for each in types)
        assert one == other, name
        for row in expected.to_pylist():
            right, value = row[name], found[row["key"]][name]
            if function in ("avg", "avg_distinct") and right is None and row["key"] != "nulls":
                continue  # a sum that overflows has a mean all the same
            if isinstance(right, float) and (math.isnan(right) or (function == "corr" and math.isnan(value or 0))):
                continue  # of squares that exceed doubles: Spark's correlation may be 0 there
            if isinstance(right, float):
                assert value == pytest.approx(right, rel=1e-9), (name, row["key"])
            else:
                assert (value, type(value)) == (right, type(right)), (name, row["key"])
