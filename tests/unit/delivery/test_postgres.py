"""Which rows a delivery to PostgreSQL deletes; `tests/answers_postgres` has a server."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from deltalake import DeltaTable

from kit.runs.current_tables import Desk, rows_of, with_corrections
from tailrace.delivery import postgres
from tailrace.delivery.postgres_schema import AnswerColumns
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.storage.backup import back_up
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.restore import restore


@dataclass
class Server:
    """A table in memory, and its position."""

    rows: dict[tuple, dict] = field(default_factory=dict)
    position: dict | None = None

    def deliver(self, desk: Desk) -> None:
        public = PublicAnswers.from_query(desk.query, desk.driver.pipeline.kind)
        columns = AnswerColumns.from_query(public, desk.query)
        target = SimpleNamespace(columns=columns, position=lambda: self.position, store=self.store, server=self)
        postgres._Delivery(target, OpenedTables(desk.driver.layout), public).run()

    def store(self, position: dict) -> None:
        self.position = position

    def assert_equal(self, desk: Desk) -> None:
        desk.refresh()
        assert sorted(map(str, self.rows.values())) == sorted(map(str, desk.current().to_pylist()))


@dataclass
class Merge:
    """What `postgres_merge.Merge` does, in memory."""

    server: Server
    identity: tuple[str, ...]
    replaces: bool
    fresh: dict[tuple, dict] = field(default_factory=dict)
    removed: set[tuple] = field(default_factory=set)

    def add(self, fresh, pruned) -> None:
        self.fresh |= {self.of(row): row for row in fresh.to_pylist()}
        self.remove(pruned)

    def remove(self, identities) -> None:
        self.removed |= {self.of(row) for row in identities.to_pylist()}

    def end(self) -> None:
        rows = {} if self.replaces else self.server.rows
        newer = {key: row for key, row in self.fresh.items() if key not in rows or row["as_of"] >= rows[key]["as_of"]}
        self.server.rows = {key: row for key, row in rows.items() if key not in self.removed} | newer

    def of(self, row: dict) -> tuple:
        return tuple(row[name] for name in self.identity)


@pytest.fixture
def server(monkeypatch) -> Server:
    monkeypatch.setattr(
        postgres, "Merge", SimpleNamespace(begin=lambda of, replaces: Merge(of.server, of.columns.identity, replaces))
    )
    return Server()


@pytest.mark.parametrize("are_commits_gone", [False, True])
def test_what_vanished_is_deleted_though_the_commits_that_say_so_are_gone(tmp_path, server, are_commits_gone):
    desk = with_corrections("aggregate", tmp_path)
    server.deliver(desk)
    server.assert_equal(desk)
    tables = desk.driver.tables
    streamed, corrected = ({*tables.read(name)["window_end"].to_pylist()} for name in ("results", "corrections"))
    end = datetime.fromtimestamp(
        min(corrected - streamed) / 1000, UTC
    )  # as of a session that the next run makes longer
    DeltaTable(str(desk.driver.layout.table("corrections"))).delete(f"window_end = '{end.isoformat()}'")
    if are_commits_gone:
        tables.open("corrections").create_checkpoint()
        for commit in (desk.driver.layout.table("corrections") / "_delta_log").glob("*.json"):
            commit.unlink()
    server.deliver(desk)
    server.assert_equal(desk)
    assert end not in {row["window_end"] for row in server.rows.values()}


def test_a_restored_backup_deletes_no_newer_answer(tmp_path, server):
    desk = Desk("aggregate", tmp_path, seed=1)
    desk.driver.run(1000)
    back_up(desk.driver.layout, tmp_path / "backup")
    for _ in range(2):
        desk.write()
        desk.driver.run(1000)
    server.deliver(desk)
    before = dict(server.rows)
    shutil.rmtree(desk.driver.layout.home)
    restore(tmp_path / "backup", desk.driver.warehouse)
    server.deliver(desk)
    desk.refresh()
    assert server.rows.keys() == before.keys()
    assert len(rows_of(desk.current())) < len(before)
    desk.driver.run(1000)
    server.deliver(desk)
    server.assert_equal(desk)
