"""What is noted of the places of answers: all that they had before it is noted, and nothing more."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest

from kit.fakes.fake_topic import fake_topic, sending
from kit.runs.current_tables import Desk
from tailrace.delivery import postgres
from tailrace.delivery.delivered import DeliveryNote, all_delivered, count_answers, delivered, open_answers
from tailrace.delivery.topic_answers import send_corrections
from tailrace.ground.errors import Busy
from tailrace.query.answers_section import CURRENT, POSTGRES, TOPIC, AnswersSection
from tailrace.sources.lookup.postgres_server import PostgresServer
from tailrace.sources.lookup.postgres_table import PostgresTable
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.table_schemas import schemas
from tailrace.storage.table_snapshot import TableSnapshot
from tailrace.storage.tables import Tables

NOTHING = TableSnapshot(0, None)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A query whose answers go to a topic and to a table of PostgreSQL, with a batch that no place was told of yet."""
    fake_topic(monkeypatch)
    desk = Desk("aggregate", tmp_path, seed=1)
    desk.driver.run(1000)
    query = sending(desk.driver.query)
    answers = query.answers.model_copy(update={"postgres": PostgresTable(connection="reports", table="t")})
    desk.driver.query = query.model_copy(update={"answers": answers})
    for file in desk.driver.layout.stream.glob("delivered_*.json"):
        file.unlink()
    return desk


@pytest.fixture
def server(monkeypatch):
    """A server that takes what is delivered; `fails` says with what its next commit ends."""
    server = SimpleNamespace(fails=None)

    def commit():
        if server.fails is not None:
            raise server.fails

    @contextmanager
    def session(self):
        yield SimpleNamespace(commit=commit, cursor=nullcontext)

    monkeypatch.setattr(PostgresServer, "session", session)
    target = SimpleNamespace(lock=lambda wait_s: None, create=lambda: None)
    monkeypatch.setattr(postgres.PostgresTarget, "find", lambda *arguments: target)
    monkeypatch.setattr(postgres._Delivery, "run", lambda self: 0)
    return server


def written(desk):
    return count_answers(open_answers(OpenedTables(desk.driver.layout)))


def deliver(desk):
    return postgres.deliver(desk.driver.layout, desk.query, desk.driver.pipeline.kind, 0)


def send(desk):
    send_corrections(desk.driver.layout, desk.query, desk.driver.pipeline.kind, 0)


def test_each_place_has_what_was_written_before_its_delivery(desk, server):
    layout, uris = desk.driver.layout, desk.query.answers.uris
    assert all_delivered(layout) == dict.fromkeys((CURRENT, TOPIC, POSTGRES), NOTHING)
    desk.refresh()
    send(desk)
    deliver(desk)
    first = written(desk)
    assert first.rows > 0
    assert all_delivered(layout) == dict.fromkeys((CURRENT, TOPIC, POSTGRES), first)
    assert [delivered(layout, place, uris.get(place)) for place in (CURRENT, TOPIC, POSTGRES)] == [first] * 3
    Tables(layout).compact(["results"])
    desk.refresh()
    assert delivered(layout, CURRENT, None) == first, "a compaction gives no place anything"


def test_answers_and_their_corrections_count(desk):
    before = written(desk)
    rows = {name: TableSnapshot.read(desk.driver.layout, name).rows for name in ("results", "corrections")}
    assert before.rows == sum(rows.values())
    assert before.as_of is not None
    tables = OpenedTables(desk.driver.layout.for_query(desk.directory / "none", "nothing"))
    assert count_answers(open_answers(tables)) == NOTHING


def test_a_transaction_that_failed_has_delivered_nothing(desk, server):
    server.fails = ConnectionError("the server is away")
    with pytest.raises(ConnectionError):
        deliver(desk)
    assert all_delivered(desk.driver.layout)[POSTGRES] == NOTHING


def test_a_topic_lacks_a_batch_that_is_written_and_not_sent(desk, monkeypatch):
    last_batch = OpenedTables.last_batch
    with monkeypatch.context() as patch:
        patch.setattr(
            OpenedTables, "last_batch", lambda self, name, app: last_batch(self, name, app) - (name == "metrics")
        )
        send(desk)
    assert all_delivered(desk.driver.layout)[TOPIC] == NOTHING
    send(desk)
    assert all_delivered(desk.driver.layout)[TOPIC] == written(desk)


def test_a_delivery_that_finds_another_process_at_it_notes_nothing(desk):
    with desk.driver.layout.lock(CURRENT), pytest.raises(Busy):
        desk.refresh()
    assert all_delivered(desk.driver.layout)[CURRENT] == NOTHING


def test_another_target_has_nothing_of_what_the_one_before_has(desk):
    send(desk)
    other = sending(desk.query, "others").answers.uris[TOPIC]
    assert delivered(desk.driver.layout, TOPIC, desk.query.answers.uris[TOPIC]).rows > 0
    assert delivered(desk.driver.layout, TOPIC, other) == NOTHING


@pytest.fixture
def counted(monkeypatch):
    """The tables whose files' statistics were read."""
    counted, read = [], TableSnapshot.from_table
    monkeypatch.setattr(TableSnapshot, "from_table", lambda table: counted.append(table.table_uri) or read(table))
    return counted


def test_a_delivery_without_a_new_version_reads_no_statistics_of_files(desk, server, counted):
    def deliver_to_all():
        counted.clear()
        for act in (desk.refresh, lambda: send(desk), lambda: deliver(desk)):
            act()
        return len(counted)

    assert deliver_to_all() == 3, "`results` for each of three places"
    assert deliver_to_all() == 0
    desk.driver.tables.create({"corrections": schemas(desk.driver.pipeline.kind)["corrections"]})
    assert deliver_to_all() == 6
    assert deliver_to_all() == 0
    desk.write()
    desk.driver.run(1000)
    counted.clear()
    send(desk)
    assert all_delivered(desk.driver.layout)[TOPIC] == written(desk)
    Tables(desk.driver.layout).compact(["results"])
    assert deliver_to_all() == 6
    assert deliver_to_all() == 0
    assert all_delivered(desk.driver.layout) == dict.fromkeys((CURRENT, TOPIC, POSTGRES), written(desk))


def test_a_table_in_the_place_of_another_is_counted_though_its_version_is_the_same(desk):
    layout = desk.driver.layout
    desk.refresh()
    note = DeliveryNote.read(layout, CURRENT)
    versions = {name: f"another {version.split()[1]}" for name, version in note.versions.items()}
    DeliveryNote(note.uri, NOTHING, versions).write(layout, CURRENT)
    desk.refresh()
    assert DeliveryNote.read(layout, CURRENT) == note


def test_what_is_written_during_a_delivery_is_not_noted_with_it(desk, server, monkeypatch):
    before = written(desk)
    desk.write()
    monkeypatch.setattr(postgres._Delivery, "run", lambda self: desk.driver.run(1000))
    deliver(desk)
    assert written(desk).rows > before.rows
    assert all_delivered(desk.driver.layout)[POSTGRES] == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"uri": null}', "{"])
def test_a_damaged_note_says_nothing_and_is_written_again(desk, text):
    desk.refresh()
    desk.driver.layout.stream.joinpath("delivered_current.json").write_text(text)
    assert delivered(desk.driver.layout, CURRENT, None) == NOTHING
    desk.refresh()
    assert delivered(desk.driver.layout, CURRENT, None) == written(desk)


def test_the_places_of_a_query_file_have_uris():
    places = {"kafka": {"servers": "a:1,b:2", "topic": "answers"}, "postgres": {"connection": "c", "table": "s.t"}}
    assert AnswersSection.model_validate(places).uris == {
        TOPIC: "kafka://a:1,b:2/answers",
        POSTGRES: "postgres-table://c/s.t",
    }
    assert AnswersSection().uris == {}
