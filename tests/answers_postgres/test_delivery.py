"""The table of PostgreSQL equals `tailrace results`, whatever was written, corrected, killed, rebuilt and restored."""

from __future__ import annotations

import random
import shutil
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable

from kit.runs import kind_streams
from kit.runs.kind_streams import KINDS, MOVED
from kit.runs.local_driver import correct_here
from kit.runs.postgres_desk import PostgresDesk, at_each_statement, dying_at
from tailrace.correction import correct as correct_module
from tailrace.delivery import postgres as postgres_module
from tailrace.delivery import postgres_target
from tailrace.delivery.postgres import check_answer_table, deliver
from tailrace.ground.errors import Busy
from tailrace.sources.lookup.postgres_server import PostgresServer
from tailrace.storage.backup import back_up
from tailrace.storage.restore import restore

WITHOUT_KEY = {
    "aggregate without a key": {"kind": "aggregate", "aggregate": {"function": "sum", "column": "x"}} | MOVED,
    "topk without a key": {"kind": "topk", "topk": {"k": 2, "score": "x"}} | MOVED,
}


def no_delivery(patch):
    patch.setattr(correct_module, "deliver_all", lambda *arguments: None)


@pytest.mark.parametrize("name", [*KINDS, *WITHOUT_KEY])
def test_equals_what_readers_get(tmp_path, monkeypatch, connection, sql, name):
    monkeypatch.setattr(kind_streams, "KINDS", KINDS | WITHOUT_KEY)
    no_delivery(monkeypatch)
    desk = PostgresDesk(name, tmp_path, 1, connection, sql)
    draw = random.Random(name)
    for step in range(6):
        desk.driver.run(1000, flush=False)
        if step % 2:
            desk.correct()
        if draw.random() < 0.6:
            with dying_at(monkeypatch, draw.randrange(25), desk.look):
                desk.deliver()
        if draw.random() < 0.7:
            desk.deliver()
            desk.look()
            desk.assert_delivered()
        desk.write()
    desk.driver.run(1000, flush=True)
    desk.correct()
    desk.deliver()
    desk.look()
    desk.assert_delivered()
    assert desk.deliver() == 0
    assert len(desk.rows()) > 20


@pytest.mark.parametrize("name", ["aggregate", "topk"])
def test_a_kill_at_each_statement_leaves_the_old_answers_or_the_new_ones(tmp_path, monkeypatch, connection, sql, name):
    no_delivery(monkeypatch)
    desk = PostgresDesk(name, tmp_path, 3, connection, sql)
    for _ in range(2):
        desk.driver.run(1000)
        desk.deliver()
        before = desk.rows()
        desk.write()
    desk.driver.run(1000)
    desk.correct()
    for statement in range(100):
        with dying_at(monkeypatch, statement, desk.look) as run:
            desk.deliver()
        if "COMMIT" in run:
            break
        assert desk.rows() == before
    assert len(run) > 10
    copies = {statement.partition("(")[0] for statement in run if statement.startswith("COPY")}
    assert copies >= {'COPY "reports"."answers" ', "COPY pg_temp.fresh "}, "some answers are new, others were there"
    desk.assert_delivered()
    assert desk.rows() != before
    assert desk.deliver() == 0


@pytest.mark.parametrize("is_keyed_by_time", [True, False])
def test_answers_after_the_last_one_are_added_at_once_and_others_are_merged(
    tmp_path, monkeypatch, connection, sql, is_keyed_by_time
):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    desk.deliver()
    if not is_keyed_by_time:
        moved = "ADD UNIQUE NULLS NOT DISTINCT (key, window_end)"
        sql(f"ALTER TABLE reports.answers DROP CONSTRAINT answers_window_end_key_key, {moved}")
    desk.write()
    desk.driver.run(1000)
    copied = []
    with at_each_statement(monkeypatch, copied.append):
        desk.deliver()
    targets = [text.split("(")[0] for text in copied if text.startswith("COPY")]
    assert ('COPY "reports"."answers" ' in targets) == is_keyed_by_time
    assert "COPY pg_temp.fresh " in targets  # the last window gets answers of more keys
    desk.assert_delivered()
    desk.driver.run(1000, flush=True)
    with monkeypatch.context() as patch:
        no_delivery(patch)
        desk.correct()
    desk.deliver()
    desk.assert_delivered()


def test_all_answers_come_in_parts_too(tmp_path, monkeypatch, connection, sql):
    monkeypatch.setattr(postgres_module, "PART_ROWS", 7)
    monkeypatch.setattr(postgres_module, "MOST_ROWS", 1)
    desk = PostgresDesk("topk", tmp_path, 3, connection, sql)
    for _ in range(3):
        desk.driver.run(1000)
        desk.deliver()
        desk.look()
        desk.assert_delivered()
        desk.correct()
        desk.write()
    sql("DELETE FROM reports.tailrace_positions")
    desk.deliver()
    desk.assert_delivered()


def test_a_restored_backup_replaces_nothing_by_an_older_version(tmp_path, monkeypatch, connection, sql):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    desk.deliver()
    desk.look()
    back_up(desk.driver.layout, tmp_path / "backup")
    for _ in range(3):
        desk.write()
        desk.driver.run(1000)
    desk.correct()
    desk.deliver()
    desk.look()
    shutil.rmtree(desk.driver.layout.home)
    restore(tmp_path / "backup", desk.driver.warehouse)
    desk.deliver()
    desk.look()
    for _ in range(4):  # other commits have the numbers of the lost ones
        desk.write()
        desk.driver.run(1000)
        desk.deliver()
        desk.look()
    desk.driver.run(1000, flush=True)
    correct_here(desk.driver.query, desk.driver.warehouse)
    desk.look()
    desk.assert_delivered()


def test_a_rebuild_of_other_answers_replaces_all(tmp_path, connection, sql):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    desk.deliver()
    before = desk.rows()
    window = desk.driver.query.model_copy(
        update={"window": desk.driver.query.window.model_copy(update={"size": timedelta(milliseconds=750)})}
    )
    desk.driver.rebuild(window)
    desk.assert_delivered()
    assert not set(before) & set(desk.rows())


def test_a_table_that_was_dropped_is_filled_again(tmp_path, connection, sql):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    desk.deliver()
    sql("DROP TABLE reports.answers")
    desk.deliver()
    assert len(desk.rows()) > 3
    desk.assert_delivered()


@pytest.mark.parametrize(
    ("name", "most_rows", "is_null"), [("aggregate", 1, False), ("aggregate", 1, True), ("topk", 1000, False)]
)
def test_an_answer_whose_only_version_vanishes_is_deleted(
    tmp_path, monkeypatch, connection, sql, name, most_rows, is_null
):
    monkeypatch.setattr(postgres_module, "PART_ROWS", 7)
    desk = PostgresDesk(name, tmp_path, 3, connection, sql)
    for _ in range(3):
        desk.write()
    desk.driver.run(1000, flush=True)
    correct_here(desk.driver.query, desk.driver.warehouse)
    before = desk.rows()
    by_stream, by_correction = (
        {(row["key"], row["window_end"]) for row in desk.driver.tables.read(name).to_pylist()}
        for name in ("results", "corrections")
    )
    key, end = next(each for each in by_correction - by_stream if (each[0] is None) == is_null)
    table = DeltaTable(str(desk.driver.layout.table("corrections")))
    of_key = "key IS NULL" if is_null else f"key = '{key}'"
    table.delete(f"{of_key} AND window_end = '{datetime.fromtimestamp(end / 1000, UTC).isoformat()}'")
    monkeypatch.setattr(postgres_module, "MOST_ROWS", most_rows)
    desk.deliver()
    desk.assert_delivered()
    assert len(desk.rows()) < len(before)


def test_a_correction_that_ends_during_a_rebuild_delivers_nothing(tmp_path, connection, sql):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    query, kind = desk.query, desk.driver.pipeline.kind
    window = query.model_copy(update={"window": query.window.model_copy(update={"size": timedelta(milliseconds=750)})})
    desk.driver.rebuild(window)
    before = desk.rows()
    sql("DELETE FROM reports.tailrace_positions")
    with pytest.raises(Busy, match="it was rebuilt for another query meanwhile"):
        deliver(desk.driver.layout, query, kind, 10.0)
    assert desk.rows() == before


def test_a_check_does_not_wait_for_a_lock(tmp_path, monkeypatch, connection, sql):
    monkeypatch.setattr(postgres_module, "CHECK_TIMEOUT", "50ms")
    check = postgres_target.PostgresTarget.check

    def bounded(target):
        target.cursor.execute("SELECT current_setting('statement_timeout')")
        assert target.cursor.fetchone() == ("50ms",)
        return check(target)

    monkeypatch.setattr(postgres_target.PostgresTarget, "check", bounded)
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    sql("CREATE TABLE reports.answers (a integer)")
    with locked("ACCESS EXCLUSIVE"):
        check_answer_table(desk.query, desk.driver.pipeline.kind, desk.driver.layout)


def test_the_server_looks_after_a_lost_machine(connection):
    server = PostgresServer(connection)
    assert server.settings()["tcp_user_timeout"] == 30_000
    assert "options" not in server.settings()
    with server.session() as session, session.cursor() as cursor:
        for name, value in {"tcp_keepalives_idle": "10", "tcp_keepalives_count": "4", "TimeZone": "UTC"}.items():
            cursor.execute("SELECT current_setting(%s)", (name,))
            assert cursor.fetchone() == (value,)


@contextmanager
def locked(mode):
    """Hold a lock on the table in another session."""
    with PostgresServer("reports").session() as session, session.cursor() as cursor:
        cursor.execute(f"LOCK TABLE reports.answers IN {mode} MODE")
        yield


def test_a_living_stream_delivers_beside_a_vacuum(tmp_path, connection, sql):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    desk.deliver()
    desk.write()
    desk.driver.run(1000)
    with locked("SHARE UPDATE EXCLUSIVE"):
        assert deliver(desk.driver.layout, desk.query, desk.driver.pipeline.kind, 0) > 0
    desk.assert_delivered()


def test_a_lock_of_somebody_on_the_table_is_a_connection_error(tmp_path, monkeypatch, connection, sql):
    monkeypatch.setattr(postgres_target, "LOCK_TIMEOUT", "50ms")
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    desk.deliver()
    desk.write()
    desk.driver.run(1000)
    with locked("ACCESS EXCLUSIVE"), pytest.raises(ConnectionError, match="lock timeout"):
        deliver(desk.driver.layout, desk.query, desk.driver.pipeline.kind, 0)


@pytest.mark.parametrize("wait_s", [0, 0.05])
def test_another_session_that_delivers_is_busy(tmp_path, connection, sql, wait_s):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    with PostgresServer("reports").session() as session, session.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", ('"reports"."answers"',))
        with pytest.raises(Busy, match="another process brings it up to date"):
            deliver(desk.driver.layout, desk.query, desk.driver.pipeline.kind, wait_s)


def test_an_outage_is_a_connection_error_and_the_next_delivery_brings_what_it_lacks(
    tmp_path, monkeypatch, postgres, connection, sql
):
    desk = PostgresDesk("aggregate", tmp_path, 3, connection, sql)
    desk.driver.run(1000)
    desk.deliver()
    before = desk.rows()
    desk.write()
    desk.driver.run(1000)

    def stop(statement):
        if "INSERT INTO" in statement and "fresh" in statement:
            postgres.stop()

    try:
        with at_each_statement(monkeypatch, stop), pytest.raises(ConnectionError, match="connection reports"):
            desk.deliver()
        with pytest.raises(ConnectionError, match="connection reports"):
            desk.deliver()
        check_answer_table(desk.query, desk.driver.pipeline.kind, desk.driver.layout)
    finally:
        postgres.start()
    with PostgresServer(connection).session() as session, session.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM reports.answers")
        assert cursor.fetchone() == (len(before),)
    desk.sql = again
    desk.deliver()
    desk.assert_delivered()


def again(statement, *arguments):
    """Run a statement by a session of its own, after the fixture's has ended."""
    with PostgresServer("reports").session() as session, session.cursor() as cursor:
        cursor.execute(statement, arguments or None)
        return cursor.fetchall()
