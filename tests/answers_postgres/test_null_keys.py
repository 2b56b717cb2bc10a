"""Answers of null keys in a table of PostgreSQL: each once, replaced and retracted like any other."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from kit.draws.typed_keys import SUM, query_of, write
from kit.runs.local_driver import Driver, correct_here
from kit.runs.postgres_desk import PostgresDesk
from tailrace.delivery.postgres import check_answer_table, deliver
from tailrace.delivery.postgres_schema import AnswerColumns
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.errors import Refused
from tailrace.query.answers_section import AnswersSection
from tailrace.storage.results import read_answers
from tailrace.tables.every import in_ms

TYPES = {
    "boolean": "boolean",
    "date": "date",
    "instant": "timestamp with time zone",
    "integer": "bigint",
    "text": "text",
}


def keys_of(sql, table="reports.answers"):
    return sql(f"SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '{table}'::regclass")


@pytest.mark.parametrize("name", ["aggregate", "topk"])
def test_answers_of_null_keys_are_replaced_and_retracted(tmp_path, connection, sql, name):
    desk = PostgresDesk(name, tmp_path, 5, connection, sql)
    column = "key" if name == "aggregate" else "area"
    for step in range(5):
        desk.driver.run(1000, flush=step == 4)
        if step % 2:
            desk.correct()
        desk.deliver()
        desk.assert_delivered()
        desk.write()
    ((nulls,),) = sql(f"SELECT count(*) FROM reports.answers WHERE {column} IS NULL")
    assert nulls > 5
    (definition,) = keys_of(sql)
    assert definition[0].startswith("UNIQUE NULLS NOT DISTINCT (window_end")
    ((end,),) = sql(f"SELECT max(window_end) FROM reports.answers WHERE {column} IS NULL")
    sql(f"UPDATE reports.answers SET as_of = 'epoch' WHERE window_end = %s AND {column} IS NULL", end)
    sql("DELETE FROM reports.tailrace_positions")
    desk.deliver()
    desk.assert_delivered()
    sql("INSERT INTO reports.answers SELECT * FROM reports.answers LIMIT 0")
    (row,) = sql("SELECT * FROM reports.answers LIMIT 1")
    values = ", ".join("%s" for _ in row)
    sql("CREATE TABLE reports.aside AS SELECT * FROM reports.answers LIMIT 0")
    sql(f"INSERT INTO reports.aside VALUES ({values})", *row)
    sql(f"UPDATE reports.aside SET {column} = NULL, window_end = '1999-01-01', as_of = 'epoch'")
    sql("INSERT INTO reports.answers SELECT * FROM reports.aside")
    sql("DELETE FROM reports.tailrace_positions")
    desk.deliver()
    desk.assert_delivered()


def test_a_table_whose_primary_key_takes_no_null_is_refused_with_what_makes_it_fit(tmp_path, connection, sql):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    public = PublicAnswers.from_query(desk.query, desk.driver.pipeline.kind)
    streams = {
        name: stream.model_copy(update={"null_key": "quarantine"}) for name, stream in desk.query.streams.items()
    }
    strict = desk.query.model_copy(update={"streams": streams})
    sql(AnswerColumns.from_query(public, strict).create("reports.answers"))
    assert keys_of(sql) == [("PRIMARY KEY (window_end, key)",)]
    with pytest.raises(Refused) as refused:
        check_answer_table(desk.query, desk.driver.pipeline.kind, desk.driver.layout)
    statements = refused.value.problems[0].remedy.splitlines()[1:]
    assert [statement.strip().removeprefix('ALTER TABLE "reports"."answers" ') for statement in statements] == [
        'DROP CONSTRAINT "answers_pkey";',
        'ALTER COLUMN "key" DROP NOT NULL;',
        'ADD UNIQUE NULLS NOT DISTINCT ("window_end", "key");',
    ]
    for statement in statements:
        sql(statement)
    desk.deliver()
    desk.assert_delivered()
    assert desk.deliver() == 0
    check_answer_table(strict, desk.driver.pipeline.kind, desk.driver.layout)


@pytest.mark.parametrize("name", ["boolean", "date", "instant", "integer", "text"])
def test_keys_of_each_type_are_columns_of_their_type(tmp_path, connection, sql, name):
    write(name, tmp_path / "in", random.Random(1))
    answers = AnswersSection.model_validate({"postgres": {"connection": connection, "table": "reports.answers"}})
    query = query_of(tmp_path / "in", ["k"], SUM).model_copy(update={"answers": answers})
    driver = Driver(query, tmp_path / "wh")
    driver.run(20, flush=True)
    deliver(driver.layout, query, driver.pipeline.kind, 10.0)
    correct_here(query, driver.warehouse)
    deliver(driver.layout, query, driver.pipeline.kind, 10.0)
    sql("DELETE FROM reports.tailrace_positions")
    assert deliver(driver.layout, query, driver.pipeline.kind, 10.0) > 0
    rows = in_ms(read_answers(query, driver.warehouse, False)[0].select(["key", "total", "n"]), "results").to_pylist()
    found = [
        dict(zip(("key", "total", "n"), row, strict=True)) for row in sql("SELECT key, total, n FROM reports.answers")
    ]
    assert sorted(map(str, _in_utc(found))) == sorted(map(str, _in_utc(rows)))
    ((dtype,),) = sql(
        "SELECT format_type(atttypid, -1) FROM pg_attribute WHERE attrelid = 'reports.answers'::regclass"
        " AND attname = 'key'"
    )
    assert dtype == TYPES[name]


def _in_utc(rows):
    return [
        row | {"key": row["key"].astimezone(UTC) if isinstance(row["key"], datetime) else row["key"]} for row in rows
    ]


def test_a_server_whose_keys_take_no_nulls_is_refused_with_the_field(tmp_path, connection, sql, monkeypatch):
    monkeypatch.setattr("tailrace.delivery.postgres_target.NULLS_EQUAL", 990_000)
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    with pytest.raises(Refused, match="null_key: quarantine"):
        check_answer_table(desk.query, desk.driver.pipeline.kind, desk.driver.layout)
