"""Answers by a condition, in an order, the first of them: held to DuckDB, and refused by the part that is wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tailrace
from tailrace.api.chosen import chosen
from tailrace.ground.errors import Refused

NUMBERS = st.none() | st.sampled_from([0.0, -0.0, 1.5, -2.0, float("inf"), float("nan")])
ROWS = st.lists(
    st.tuples(NUMBERS, st.none() | st.sampled_from(["", "a", "B", "é", "z"]), st.integers(-3, 3)), max_size=12
)
TYPES = pa.schema({"value": pa.float64(), "key": pa.string(), "n": pa.int64()})
WAYS = st.tuples(st.sampled_from(["", " ASC", " desc"]), st.sampled_from(["", " NULLS FIRST", " nulls last"]))


def table(rows) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [[]] * len(TYPES)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, TYPES, strict=True)], schema=TYPES)


@example(rows=[(1.5, "a", 1), (None, "a", 1)], items=[("value", ("", ""))], where=None)
@example(rows=[(1.5, "a", 1), (float("nan"), "a", 1)], items=[("value", (" desc", ""))], where=None)
@given(
    rows=ROWS,
    items=st.lists(st.tuples(st.sampled_from(["value", "key", "n * n", "`n`"]), WAYS), min_size=1, max_size=3),
    where=st.sampled_from([None, "n > 0", "key is null or value < 2", "value <> value"]),
)
def test_rows_are_those_of_duckdb_in_its_order(rows, items, where):
    given_rows = table(rows)
    ordered = ", ".join(f"{value}{way}{nulls}" for value, (way, nulls) in items)
    # Spark's rule of nulls, which DuckDB has to be told, and the number of the row among equal ones
    stated = [
        f"{value.replace('`', '')}{way}{nulls or (' NULLS LAST' if way == ' desc' else ' NULLS FIRST')}"
        for value, (way, nulls) in items
    ]
    numbered = given_rows.append_column("number", pa.array(range(len(rows)), pa.int64()))
    with duckdb.connect() as connection:
        connection.register("numbered", numbered)
        condition = f" WHERE {where}" if where else ""
        order = ", ".join([*stated, "number"])
        found = connection.execute(f"SELECT number FROM numbered{condition} ORDER BY {order}").fetchall()
    assert chosen(given_rows, where, ordered).to_pylist() == [number for (number,) in found]


def test_values_of_every_type_have_an_order():
    columns = {
        "big": pa.array([2**63 - 1, 2**63 - 2]),
        "price": pa.array([Decimal("99999999999999.02"), Decimal("99999999999999.01")]),
        "day": pa.array([2, 1], pa.date32()),
        "at": pa.array([2, 1], pa.timestamp("us", "UTC")),
        "is_late": pa.array([True, False]),
    }
    for name in columns:
        assert chosen(pa.table(columns), None, name).to_pylist() == [1, 0]
        assert chosen(pa.table(columns), None, f"{name} DESC").to_pylist() == [0, 1]


@pytest.mark.parametrize(
    ("where", "order_by", "said"),
    [
        ("valeu > 1", None, "--where: answers have no column valeu\n    right would be: value"),
        (None, "n, kye desc", "--order-by kye: answers have no column kye\n    right would be: key"),
        ("n", None, "--where: 1:1: the condition is bigint\n    right would be: a boolean"),
        ("n > ", None, "--where: 1:"),
        ("1 / n > 0", None, "--where: expression where: division by zero, for 2 answers\n    right would be: "),
        (None, "1 / n", "--order-by 1 / n: expression --order-by 1 / n: division by zero, for 2 answers"),
        (None, "n desc,", "--order-by: 1:8: an order without a value\n    right would be: value DESC, key"),
        (None, "n nulls", "--order-by n nulls: 1:1: a second expression"),
        (None, "n nulls between", "--order-by: 1:3: nulls have no place between\n    right would be: NULLS FIRST or"),
        (None, "2", "--order-by: 1:1: 2 is the same for all rows\n    right would be: the name of a column"),
        (None, "both", "--order-by both: it is list<item: int64>, which has no order"),
    ],
)
def test_what_can_not_be_chosen_is_refused(where, order_by, said):
    rows = table([(1.0, "a", 0), (2.0, "b", 0), (None, "c", 1)]).append_column("both", pa.array([[1], [2], [3]]))
    with pytest.raises(Refused) as refused:
        chosen(rows, where, order_by)
    assert str(refused.value).startswith(said)


def test_a_query_gives_chosen_answers(tmp_path):
    seconds = [1, 2, 7, 13, 14, 15]
    rows = tailrace.Stream(
        {"at": [datetime(2024, 5, 1, 0, 0, each, tzinfo=UTC) for each in seconds], "id": seconds},
        event_time="at",
        id="id",
    )
    query = tailrace.query("aggregate", streams={"rows": rows}, window="5 s", aggregate={"function": "count"})
    run = query.run(tmp_path)
    largest = run.results(order_by="value desc, window_start", limit=2)
    assert [each["value"] for each in largest] == [2.0, 2.0]
    assert largest.arrow()["window_start"].to_pylist() == [
        datetime(2024, 5, 1, 0, 0, each, tzinfo=UTC) for each in (0, 10)
    ]
    later = run.results(where="window_start > timestamp '2024-05-01 00:00:00Z' and value < 2")
    assert [each["window_start"].second for each in later] == [5, 15]
    assert len(run.results(limit=0)) == 0
    with pytest.raises(Refused, match="-1 is no number of answers"):
        run.results(limit=-1)
