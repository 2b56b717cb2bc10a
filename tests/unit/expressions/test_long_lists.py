"""A long list costs what its length says: its statement does not grow with the square of it."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from kit.draws.expression_values import FAILS, value_over
from tailrace.expressions.projection import Projection


def statement_of(text: str, **types: pa.DataType) -> str:
    """The steps and the faults of an expression, as SQL."""
    plan, terms, _ = Projection.parse({"out": text}, None, types)._bound
    faults = " ".join(fault.condition for fault in terms["out"].faults)
    return plan.select("records", {"out": terms["out"].sql}) + faults


def test_the_statement_of_a_list_grows_with_its_length():
    short, long = (statement_of(f"n in ({', '.join(f'n + {i}' for i in range(k))})", n=pa.int64()) for k in (20, 200))
    assert len(long) < 12 * len(short)


@pytest.mark.parametrize(("column", "dtype"), [("d", pa.date32()), ("ts", pa.timestamp("us", "UTC"))])
def test_times_in_a_list_of_texts_are_read_once(column, dtype):
    listed = ", ".join(f"'2024-01-{day:02d}'" for day in range(1, 29))
    assert "regexp" not in statement_of(f"{column} in ({listed})", **{column: dtype})


def test_a_text_that_is_no_time_fails_where_it_is_reached():
    table = pa.table({"d": [date(2024, 2, 1)], "ts": pa.array([datetime(2024, 2, 1, tzinfo=UTC)])})
    assert value_over(table, "d in ('2024-02', '2024-02-30')") is True
    assert value_over(table, "d in ('2024-02-30', '2024-02')") is FAILS
    assert value_over(table, "ts in ('2024', '2024-02-01 01:00:00+01')") is True
    assert value_over(table, "ts = '2024-02-01 24:00:00'") is FAILS
    assert value_over(table, "try_cast('2024-02-30' as date)") is None
