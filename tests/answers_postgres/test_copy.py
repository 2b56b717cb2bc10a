"""What COPY brings in the binary format is what it brings as text."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from tailrace.delivery import postgres_copy
from tailrace.delivery.postgres_copy import copy
from tailrace.ground.arrow.times import TIME
from tailrace.ground.errors import Refused
from tailrace.sources.lookup.postgres_server import PostgresServer

VALUES = {
    "at": (
        "timestamptz",
        TIME,
        [datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC), None],
    ),
    "at_ms": ("timestamptz", pa.timestamp("ms", "UTC"), [datetime(1969, 7, 20, 20, 17, tzinfo=UTC), None, None]),
    "small": ("smallint", pa.int16(), [-(2**15), 2**15 - 1, None]),
    "tiny": ("smallint", pa.int8(), [-128, 127, 0]),
    "number": ("integer", pa.int32(), [None, 2**31 - 1, -(2**31)]),
    "large": ("bigint", pa.int64(), [2**63 - 1, -(2**63), None]),
    "single": ("real", pa.float32(), [0.1, -math.inf, None]),
    "double": ("double precision", pa.float64(), [0.1, math.nan, 5e-324]),
    "text": ("text", pa.string(), ["", "ä€😀\n\t\"'\\N,", None]),
    "long": ("text", pa.large_string(), [None, "a\0b", "x" * 70_000]),
    "flag": ("boolean", pa.bool_(), [True, False, None]),
    "day": ("date", pa.date32(), [date(1, 1, 1), date(9999, 12, 31), None]),
}
ROWS = pa.table({name: pa.array(values, dtype) for name, (_, dtype, values) in VALUES.items()})


def copied(rows: pa.Table) -> tuple[str, list[tuple[str]]]:
    """Copy rows into a new table; return the statement, and each row as text."""
    columns = ", ".join(f'"{name}" {VALUES[name][0]}' for name in rows.column_names)
    statements = []
    with PostgresServer("reports").session() as session, session.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE there ({columns})")

        class Noting:
            def copy_expert(self, statement, file):
                statements.append(statement)
                cursor.copy_expert(statement, file)

        copy(Noting(), "there", rows)
        cursor.execute("SELECT there::text FROM there ORDER BY 1")
        return " ".join(statements), cursor.fetchall()


@pytest.mark.parametrize("rows", [ROWS, ROWS.slice(1), pa.concat_tables([ROWS] * 3)])
def test_rows_are_those_of_a_copy_as_text(connection, monkeypatch, rows):
    statements, binary = copied(rows)
    assert "(FORMAT binary)" in statements
    monkeypatch.setattr(postgres_copy, "has_form", lambda dtype: False)
    statements, as_text = copied(rows)
    assert "(FORMAT csv)" in statements
    assert binary == as_text
    assert len(binary) == rows.num_rows


def test_rows_come_in_several_statements(connection, monkeypatch):
    monkeypatch.setattr(postgres_copy, "ROWS", 2)
    statements, rows = copied(ROWS)
    assert statements.count("COPY") == 2
    assert sorted(rows) == sorted(copied(ROWS.slice(0, 2))[1] + copied(ROWS.slice(2))[1])


def test_a_decimal_comes_as_text(connection):
    with PostgresServer("reports").session() as session, session.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE there (amount numeric(12, 2))")
        copy(
            cursor, "there", pa.table({"amount": pa.array(["1234567890.12", "-0.01", None]).cast(pa.decimal128(12, 2))})
        )
        cursor.execute("SELECT amount::text FROM there")
        assert cursor.fetchall() == [("1234567890.12",), ("-0.01",), (None,)]


def test_a_time_that_postgresql_cannot_hold_is_refused(connection):
    with pytest.raises(Refused, match=r"timestamp out of range, in column at\n.*can hold"):
        copied(pa.table({"at": pa.array([-(2**62)], pa.int64()).cast(TIME)}))
