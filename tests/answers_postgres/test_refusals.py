"""A table, a login or a certificate that is not fit is refused, with what would be right; no password is shown."""

from __future__ import annotations

import io
import random
import re
import sys

import pytest

from kit.parts.tls import Authority
from kit.runs.postgres_desk import PASSWORD, PostgresDesk
from tailrace.delivery.postgres import check_answer_table
from tailrace.ground.errors import Refused
from tailrace.sources.lookup.postgres_server import PostgresServer


def check(desk):
    check_answer_table(desk.query, desk.driver.pipeline.kind, desk.driver.layout)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE reports.answers DROP COLUMN coverage",
        "ALTER TABLE reports.answers ALTER COLUMN tuples TYPE numeric(20,0)",
        "ALTER TABLE reports.answers ADD COLUMN remark text NOT NULL DEFAULT 'x';"
        "ALTER TABLE reports.answers ALTER remark DROP DEFAULT",
        "ALTER TABLE reports.answers DROP CONSTRAINT answers_window_end_key_key,ADD UNIQUE NULLS NOT DISTINCT (key)",
        "ALTER TABLE reports.answers DROP COLUMN window_end",
    ],
)
def test_another_schema_is_refused_with_the_statements_that_make_it_fit(tmp_path, connection, sql, change):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    desk.deliver()
    if "UNIQUE" in change:
        sql("DELETE FROM reports.answers")
    sql(change)
    before = sql("SELECT * FROM reports.answers")
    desk.write()
    desk.driver.run(1000)
    for attempt in (check, PostgresDesk.deliver):
        with pytest.raises(Refused, match="the answers have other columns") as refused:
            attempt(desk)
        assert sql("SELECT * FROM reports.answers") == before
    statements = re.findall(r"^ *((?:ALTER|TRUNCATE|DELETE) .*;)$", refused.value.problems[0].remedy, re.MULTILINE)
    for statement in statements:
        sql(statement)
    check(desk)
    desk.deliver()
    desk.assert_delivered()


def test_tables_of_others_are_refused(tmp_path, connection, sql):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    sql("CREATE TABLE reports.answers (a integer)")
    sql("INSERT INTO reports.answers VALUES (1)")
    with pytest.raises(Refused, match="rows that tailrace did not write"):
        desk.deliver()
    sql("DROP TABLE reports.answers")
    desk.deliver()
    sql("COMMENT ON TABLE reports.answers IS 'answers of query other, by tailrace in /wh/other'")
    with pytest.raises(Refused, match="it has answers of query other"):
        desk.deliver()
    sql("DROP SCHEMA reports CASCADE")
    with pytest.raises(Refused, match="there is no schema reports"):
        check(desk)


@pytest.fixture
def writer(postgres, sql, monkeypatch):
    """A login without rights."""
    sql(f"CREATE ROLE writer LOGIN PASSWORD '{PASSWORD.replace(chr(39), chr(39) * 2)}'")
    monkeypatch.setenv("AIRFLOW_CONN_REPORTS", postgres.connection(login="writer"))
    yield "reports"
    sql("DROP OWNED BY writer CASCADE")
    sql("DROP ROLE writer")


def remedies(desk):
    """Run what refusals say until nothing is refused; return it."""
    run = []
    while len(run) < 10:
        try:
            check(desk)
        except Refused as refused:
            remedy = refused.problems[0].remedy
            run.append(remedy.removeprefix("its owner runs: ").replace("its login", "writer"))
            desk.sql(run[-1])
        else:
            break
    return run


def test_a_login_that_may_make_tables_needs_no_more(tmp_path, writer, sql):
    desk = PostgresDesk("aggregate", tmp_path, 3, writer, sql)
    desk.driver.run(1000)
    assert remedies(desk) == [f'GRANT {right} ON SCHEMA "reports" TO writer;' for right in ("USAGE", "CREATE")]
    desk.deliver()
    desk.assert_delivered()


def test_a_login_that_may_write_the_tables_needs_no_more(tmp_path, writer, postgres, sql, monkeypatch):
    desk = PostgresDesk("aggregate", tmp_path, 3, writer, sql)
    desk.driver.run(1000)
    with monkeypatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_REPORTS", postgres.connection())
        desk.deliver()
    sql("DELETE FROM reports.answers; DELETE FROM reports.tailrace_positions; COMMENT ON TABLE reports.answers IS NULL")
    run = remedies(desk)
    assert [statement.split()[0] for statement in run] == ["GRANT", "GRANT", "GRANT", "COMMENT"]
    assert not any("CREATE" in statement for statement in run)
    desk.deliver()
    desk.assert_delivered()


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"password": "wr0ng"}, "password authentication failed"),
        ({"login": "nobody"}, "password authentication failed"),
        ({"schema": "elsewhere"}, "does not exist"),
        ({"schema": ""}, "it has no schema"),
        ({"extra": {"options": "-c x=1"}}, "settings that no connection may have: options"),
    ],
)
def test_what_the_server_does_not_let_in_is_refused_without_its_password(postgres, monkeypatch, fields, fault):
    monkeypatch.setenv("AIRFLOW_CONN_REPORTS", postgres.connection(**fields))
    server = PostgresServer("reports")
    with pytest.raises(Refused, match=fault) as refused:
        server.connect()
    for text in (str(refused.value), repr(refused.value), repr(server)):
        assert "wr0ng" not in text
        assert PASSWORD not in text


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("k,0000-01-01 00:00:00", r"0000-01-01.*, in column carried\n.*can hold"),
        (f"{random.Random(1).randbytes(4000).hex()},2026-01-01", r"index row size.*\n.*less than 2,700 bytes"),
    ],
)
def test_a_value_that_postgresql_cannot_hold_is_named(connection, value, reason):
    def copy():
        with PostgresServer(connection).session() as session, session.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE fresh (key text PRIMARY KEY, carried timestamptz)")
            cursor.copy_expert("COPY fresh FROM STDIN (FORMAT csv)", io.StringIO(value))

    with pytest.raises(Refused, match=reason):
        copy()


def test_tls_is_verified(postgres, authority, monkeypatch, tmp_path):
    for name, one in (("right", authority), ("wrong", Authority.make("another"))):
        (tmp_path / name).write_text(one.pem)

    def connect(name, host="localhost"):
        extra = {"sslmode": "verify-full", "sslrootcert": str(tmp_path / name)}
        monkeypatch.setenv("AIRFLOW_CONN_REPORTS", postgres.connection(host=host, extra=extra))
        with PostgresServer("reports").session() as session, session.cursor() as cursor:
            cursor.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            return cursor.fetchone()

    assert connect("right") == (True,)
    with pytest.raises(Refused, match=r"certificate verify failed.*\n.*sslrootcert"):
        connect("wrong")


def test_a_missing_library_is_refused_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    with pytest.raises(Refused, match=re.escape("pip install 'tailrace[postgres]'")):
        PostgresServer("reports").connect()
