"""A consumer that keeps the greatest version of each key shows what `tailrace results` gives, whatever died."""

from __future__ import annotations

import json
import random
import shutil

import pytest
from deltalake import DeltaTable

from kit.fakes.fake_topic import FakeTopic, as_shown, fake_topic, sending, texts
from kit.runs.current_tables import Desk
from kit.runs.deaths import Died
from kit.runs.kind_streams import KINDS, SESSIONS, TABLE_JOIN, query_of
from tailrace.delivery import topic_answers
from tailrace.delivery.topic_answers import row_keys, send_corrections
from tailrace.delivery.topic_position import TopicPosition
from tailrace.storage.backup import back_up
from tailrace.storage.restore import restore
from tailrace.storage.results import AnswerTables, read_answers
from tailrace.storage.tables import Tables


class TopicDesk(Desk):
    """A driver of a kind's query whose answers go to a topic, too."""

    def __init__(self, name, directory, seed, topic: FakeTopic) -> None:
        super().__init__(name, directory, seed)
        self.topic = topic
        self.driver.query = sending(self.driver.query)

    def send(self) -> None:
        send_corrections(self.driver.layout, self.query, self.driver.pipeline.kind, 0)

    @property
    def position(self):
        return TopicPosition.file(self.driver.layout)

    def assert_shown(self) -> None:
        rows, columns = read_answers(self.driver.query, self.driver.warehouse, streamed=False)
        columns = [name for name in columns if name != "coverage"]
        expected = as_shown(rows, columns)
        assert expected
        assert {record.query for record in self.topic.records} == {self.driver.query.name}
        if self.name == TABLE_JOIN:  # readers get both answers to an id that came twice within a tick
            assert set(texts(self.topic.shown(), columns)) <= set(expected)
            ids = sorted(f"{left} {right}" for left, right in zip(rows["left_id"], rows["right_id"], strict=True))
            assert sorted(f"{row['left_id']} {row['right_id']}" for row in self.topic.shown()) == sorted(set(ids))
            return
        assert texts(self.topic.shown(), columns) == expected
        self.topic.require_no_older_version()
        assert texts(self.topic.compacted(), columns) == expected

    def live(self, steps: int, dying: random.Random | None = None) -> None:
        """Run, correct and send in turns; each may die between any two records, or before the position is written."""
        for _ in range(steps):
            self.die(dying, lambda: self.driver.run(1000, flush=False), 30)
            if self.draw.random() < 0.6:
                self.driver.run(1000, flush=False)
                self.correct()
            self.die(dying, self.send, 12)
            self.write()
        self.driver.run(1000, flush=True)
        self.correct()
        self.send()

    def die(self, draw: random.Random | None, act, records: int) -> None:
        if draw is None or draw.random() < 0.4:
            act()
            return
        with self.topic.dying(draw.randrange(records)):
            act()


@pytest.fixture
def topic(monkeypatch):
    return fake_topic(monkeypatch)


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", KINDS)
def test_a_consumer_ends_with_what_readers_get(tmp_path, topic, name):
    desk = TopicDesk(name, tmp_path, 0, topic)
    desk.live(6 if name == "emd_join" else 4, random.Random(0))  # after 4, no correction gives less than one before
    desk.assert_shown()


@pytest.mark.parametrize("name", ["aggregate", "emd_join"])
def test_a_version_that_is_gone_does_not_hold_back_what_counts(tmp_path, topic, name):
    """Corrections that give no versions any more: what the stream gave counts again, though its `as_of` is smaller."""
    desk = TopicDesk(name, tmp_path, 1, topic)
    for _ in range(4):
        desk.write()
    desk.driver.run(1000, flush=True)
    streamed = len(topic.records)
    desk.correct()
    desk.send()
    assert len(topic.records) > streamed
    DeltaTable(str(desk.driver.layout.table("corrections"))).delete()
    desk.send()
    desk.assert_shown()


def test_a_tuple_without_a_match_is_at_each_place_once(tmp_path, topic, monkeypatch):
    table = KINDS[TABLE_JOIN]["spatial_join"]["table"] | {"on_no_match": "null"}
    monkeypatch.setitem(KINDS[TABLE_JOIN]["spatial_join"], "table", table)
    desk = TopicDesk(TABLE_JOIN, tmp_path, 1, topic)
    desk.live(2)
    assert {row["right_id"] for row in topic.shown()} == {"zone", None}
    desk.assert_shown()
    desk.position.unlink()
    desk.send()
    desk.assert_shown()
    desk.refresh()
    desk.assert_equal()


@pytest.fixture
def corrected(tmp_path, topic, monkeypatch):
    """A ranking of which no correction was sent yet."""
    desk = TopicDesk("topk", tmp_path, 1, topic)
    for _ in range(4):
        desk.write()
    desk.driver.run(1000, flush=True)
    with monkeypatch.context() as patch:
        patch.setattr(topic_answers._TopicDelivery, "run", lambda self, tables: None)
        desk.correct()
    return desk


@pytest.mark.needs("long")
def test_a_delivery_that_dies_at_any_record_is_repeated(corrected):
    before = len(corrected.topic.records)
    corrected.send()
    count, position = len(corrected.topic.records) - before, corrected.position.read_text()
    assert count > 10
    corrected.send()
    assert len(corrected.topic.records) == before + count, "once, where nothing dies"
    for left in range(0, count, 3):
        corrected.position.write_text(without_corrections(position))
        del corrected.topic.records[before:]
        with corrected.topic.dying(left):
            corrected.send()
        assert corrected.position.read_text() != position
        corrected.send()
        corrected.assert_shown()
        assert corrected.position.read_text() == position


def test_a_delivery_that_dies_before_its_position_is_repeated(corrected, monkeypatch):
    def die(*arguments):
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(TopicPosition, "write", die)
        with pytest.raises(Died):
            corrected.send()
    corrected.assert_shown()
    sent = len(corrected.topic.records)
    corrected.send()
    assert len(corrected.topic.records) > sent
    corrected.assert_shown()


def test_more_answers_than_one_condition_takes_are_sent(corrected, monkeypatch):
    monkeypatch.setattr(topic_answers, "MOST_GROUPS", 1)
    corrected.send()
    corrected.assert_shown()


@pytest.mark.parametrize("content", [None, "{", '{"topic": 1}'])
def test_a_lost_position_sends_everything(corrected, content):
    corrected.send()
    corrected.topic.records.clear()
    corrected.position.unlink()
    if content is not None:
        corrected.position.write_text(content)
    corrected.send()
    corrected.assert_shown()


def test_another_topic_gets_everything(corrected):
    corrected.driver.query = sending(corrected.driver.query, "others")
    corrected.topic.records.clear()
    corrected.send()
    corrected.assert_shown()


@pytest.mark.needs("long")
@pytest.mark.parametrize(("section", "field", "value"), [("topk", "k", 1), ("window", "size", "750 ms")])
def test_a_rebuild_takes_back_what_there_is_no_more(corrected, monkeypatch, section, field, value):
    corrected.send()
    corrected.write()
    shown = len(corrected.topic.shown())
    monkeypatch.setitem(KINDS["topk"][section], field, value)
    with corrected.topic.dying(7):
        corrected.driver.rebuild(sending(query_of("topk", corrected.directory)))
    corrected.driver.query = sending(query_of("topk", corrected.directory))
    corrected.send()
    corrected.assert_shown()
    assert len(corrected.topic.shown()) != shown
    corrected.correct()
    corrected.assert_shown()


@pytest.mark.parametrize(("name", "field", "value"), [("aggregate", "size", "750 ms"), ("sessions", "session", "1 s")])
def test_a_rebuild_of_a_stream_without_corrections_is_sent(tmp_path, topic, monkeypatch, name, field, value):
    desk = TopicDesk(name, tmp_path, 1, topic)
    desk.driver.run(1000, flush=True)
    desk.send()
    monkeypatch.setitem((KINDS | SESSIONS)[name]["window"], field, value)
    desk.driver.rebuild(sending(query_of(name, desk.directory)))
    desk.assert_shown()


def test_a_rebuild_takes_back_answers_in_a_column_that_has_the_name_of_a_key(tmp_path, topic, monkeypatch):
    ranks = {"kind": "aggregate", "aggregate": {"rank": {"function": "sum", "column": "x"}}}
    monkeypatch.setitem(KINDS, "aggregate", ranks | {"window": {"size": "500 ms"}})
    desk = TopicDesk("aggregate", tmp_path, 1, topic)
    desk.driver.run(1000, flush=True)
    monkeypatch.setitem(KINDS["aggregate"]["window"], "size", "750 ms")
    desk.driver.rebuild(sending(query_of("aggregate", tmp_path)))
    desk.assert_shown()


@pytest.mark.needs("long")
def test_a_restored_backup_ends_with_what_readers_get(tmp_path, topic):
    desk = TopicDesk("topk", tmp_path, 1, topic)
    desk.live(2)
    backup = tmp_path / "backup"
    back_up(desk.driver.layout, backup)
    assert not list(backup.rglob(desk.position.name))
    for _ in range(3):
        desk.write()
    shutil.rmtree(desk.driver.layout.home)
    restore(backup, desk.driver.warehouse)
    desk.send()
    desk.assert_shown()


def test_a_backup_from_before_a_rebuild_is_shown(corrected, monkeypatch):
    """The answers of the rebuild are of a later generation than the backup's tables."""
    corrected.send()
    backup, driver = corrected.directory / "backup", corrected.driver
    back_up(driver.layout, backup)
    query = driver.query
    with monkeypatch.context() as patch:
        patch.setitem(KINDS["topk"]["topk"], "k", 1)
        driver.rebuild(sending(query_of("topk", corrected.directory)))
        corrected.assert_shown()
    shutil.rmtree(driver.layout.home)
    restore(backup, driver.warehouse)
    driver.query = query
    corrected.send()
    corrected.assert_shown()


def test_a_rebuild_is_shown_though_its_clock_is_behind(tmp_path, topic, monkeypatch):
    desk = TopicDesk("aggregate", tmp_path, 1, topic)
    desk.driver.run(1000)
    ahead = 2**50
    desk.position.write_text(json.dumps(json.loads(desk.position.read_text()) | {"generation": ahead}))
    desk.write()
    desk.driver.run(1000, flush=True)
    assert topic.records[-1].version[0] == ahead, "the stream sends as the place does"
    monkeypatch.setitem(KINDS["aggregate"]["aggregate"], "function", "min")
    desk.driver.query = sending(query_of("aggregate", tmp_path))
    desk.driver.rebuild(desk.driver.query)
    desk.assert_shown()
    desk.write()
    desk.driver.run(1000, flush=True)
    desk.assert_shown()


def test_a_topic_that_was_taken_out_for_a_while_gets_what_it_missed(tmp_path, topic):
    desk = TopicDesk("aggregate", tmp_path, 1, topic)
    desk.driver.run(1000)
    for query in (query_of("aggregate", tmp_path), desk.driver.query):
        desk.driver.query = query
        desk.write()
        desk.driver.run(1000)
    desk.send()
    desk.assert_shown()


def test_a_new_stream_is_not_sent_twice(tmp_path, topic):
    desk = TopicDesk("aggregate", tmp_path, 1, topic)
    desk.driver.run(1000, flush=True)
    sent = len(topic.records)
    desk.send()
    assert len(topic.records) == sent > 0
    desk.assert_shown()


def test_the_keys_of_answers_are_read_without_their_other_columns(corrected, monkeypatch):
    model = corrected.driver.pipeline.kind.answers
    answers, read = AnswerTables(corrected.driver.tables, model), []
    names, expected = list(model.row_identity), answers.latest()

    def read_some(tables, name, columns=None, where=None, plain=Tables.read):
        read.extend(columns or tables.schema(name).names)
        return plain(tables, name, columns, where)

    monkeypatch.setattr(Tables, "read", read_some)
    assert answers.latest_rows(names).equals(expected.select(names))
    assert read
    assert not {"id", "score", "y", "emitted_at"} & {*read}


@pytest.mark.parametrize("name", [*KINDS, *SESSIONS])
def test_the_columns_of_keys_are_known_without_the_query(tmp_path, name):
    desk = Desk(name, tmp_path, 1)
    desk.driver.run(1000)
    names = desk.driver.tables.schema("results").names
    identity = desk.driver.pipeline.kind.answers.row_identity
    assert tuple(row_keys(names, desk.driver.layout.manifest().structure)) == identity


def without_corrections(position: str) -> str:
    """A position at which the topic has no corrections."""
    values = json.loads(position)
    values["tables"] |= {"id corrections": 0}
    del values["tables"]["version corrections"]
    return json.dumps(values)
