"""Answers as records: the key is the row's identity, and the values are the same each time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from kit.fakes.fake_producer import FakeProducer
from kit.fakes.impostor import Impostor
from tailrace.answers.by_pair import ByPair
from tailrace.answers.by_window import ByWindow
from tailrace.delivery.answer_topic import AnswerTopic, check_answer_topic
from tailrace.ground.arrow.times import TIME
from tailrace.ground.errors import Refused
from tailrace.query.loading import load
from tailrace.query.query import Query
from tailrace.sources.kafka.kafka_servers import Servers
from tailrace.windows.sliding import Sliding

AT = datetime(2020, 1, 1, tzinfo=UTC)
TEXT = "2020-01-01T00:00:00.000Z"
WINDOWS = Sliding(1000, 500)


def times(count: int) -> pa.Array:
    return pa.array([AT] * count, TIME)


def records(model, rows: pa.Table) -> list[tuple[dict, dict]]:
    """Key and value of each record that is sent for rows of results."""
    producer = FakeProducer()
    AnswerTopic(Servers("b:1"), "answers", model.row_identity, lambda servers: producer).send(rows)
    assert not producer.waiting
    return [(json.loads(key), json.loads(value)) for value, key, _ in producer.sent]


def test_an_answer_by_window_is_identified_by_its_key_and_end():
    rows = pa.table({"key": ["a", None], "window_start": times(2), "window_end": times(2), "as_of": times(2)})
    rows = rows.append_column("emitted_at", times(2)).append_column("value", pa.array([float("nan"), 2.5]))
    rows = rows.append_column("price", pa.array([Decimal("1.10"), None]))
    (key, value), (other, _) = records(ByWindow(WINDOWS), rows)
    assert key == {"key": "a", "window_end": TEXT}
    assert other == {"key": None, "window_end": TEXT}
    same = {"window_start": TEXT, "as_of": TEXT, "value": None, "price": "1.10"}
    assert value == key | same, "without emitted_at, which another attempt would change"


def test_an_answer_by_a_list_of_keys_has_its_columns_in_the_value():
    text = json.dumps(['D"E', 2**53 + 1], separators=(",", ":"))
    rows = pa.table({"key": [text], "country": ['D"E'], "code": [2**53 + 1], "window_end": times(1), "as_of": times(1)})
    ((key, value),) = records(ByWindow(WINDOWS), rows)
    assert key == {"key": text, "window_end": TEXT}
    assert (value["country"], value["code"]) == ('D"E', 2**53 + 1)


def test_the_rows_of_a_ranking_have_keys_of_their_own():
    rows = pa.table({"key": ["a", "a"], "window_end": times(2), "rank": [1, 2], "as_of": times(2)})
    assert [key["rank"] for key, _ in records(ByWindow(WINDOWS, ("rank",)), rows)] == [1, 2]


def test_a_pair_is_identified_by_its_ids():
    ids = {"left_id": ["l"], "right_id": [7], "left_time": times(1), "right_time": times(1), "as_of": times(1)}
    ((key, _),) = records(ByPair((10, 10)), pa.table(ids))
    assert key == {"left_id": "l", "right_id": 7}


def test_no_rows_need_no_record():
    assert (
        records(ByPair((10, 10)), pa.table({"left_id": pa.array([], pa.string()), "right_id": pa.array([], "string")}))
        == []
    )


@pytest.fixture
def query_of(tmp_path):
    def make(text: str, answers: str) -> Query:
        (tmp_path / "q.yaml").write_text(f"{text}\nanswers: {answers}\n")
        return load(tmp_path / "q.yaml")

    return make


WINDOWED = """\
name: load
kind: aggregate
streams: {readings: {source: {format: kafka, servers: 'b:1', topic: readings}, event_time: t}}
window: {size: 1 s, slide: 1 s}
aggregate: {function: count}
"""
TABLE_JOIN = """\
name: where
kind: spatial_join
streams: {left: {source: {format: parquet, path: l}, event_time: t, id: id}}
spatial_join:
  join: table
  geometry: {left: {x: lon, y: lat}}
  relation: within
  table: {path: zones.csv, id: zone, geometry: shape}
"""


@pytest.mark.parametrize(
    ("text", "answers", "message"),
    [
        (WINDOWED, "{kafka: {servers: 'b:1', topic: readings}}", r"answers.kafka.topic: the query reads this topic"),
        (WINDOWED, "{kafka: {servers: 'b', topic: a}}", r"answers.kafka.servers: 'b' does not fit"),
        (
            WINDOWED,
            "{kafka: {servers: 'a:1,b:1', topic: readings}}",
            r"answers.kafka.topic: the query reads this topic",
        ),
        (WINDOWED, "{kafka: {servers: 'b:1'}}", r"answers.kafka.topic: is missing"),
        (WINDOWED, "{kafka: {topic: a}}", r"answers.kafka.servers: is missing\n.*or connection: NAME, which has them"),
        (WINDOWED, "{topic: a}", r"answers.topic: 'topic' is no field here"),
    ],
)
def test_wrong_topics_of_answers_are_refused(query_of, text, answers, message):
    with pytest.raises(Refused, match=message):
        query_of(text, answers)


def test_a_join_with_a_table_may_have_a_topic(query_of):
    assert query_of(TABLE_JOIN, "{kafka: {servers: 'b:1', topic: a}}").answers.kafka.topic == "a"


def test_the_topic_may_change_while_the_checkpoint_lives(query_of):
    one, other = (query_of(WINDOWED, f"{{kafka: {{servers: 'b:1', topic: {name}}}}}") for name in "ab")
    assert one.answers != other.answers
    assert one.structure() == other.structure() == query_of(WINDOWED, "{}").structure()


def test_a_connection_that_is_not_there_is_refused_at_each_start(query_of, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_MAIN", raising=False)
    query = query_of(WINDOWED, "{kafka: {servers: 'b:1', topic: a, connection: main}}")
    with pytest.raises(Refused, match="AIRFLOW_CONN_MAIN"):
        check_answer_topic(query, is_new=False)


def test_no_start_sends_a_password_to_servers_of_the_query_file(query_of, monkeypatch):
    extra = {"bootstrap.servers": "b:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    monkeypatch.setenv("AIRFLOW_CONN_MAIN", json.dumps({"login": "me", "password": "hunter2", "extra": extra}))
    with Impostor() as impostor:
        query = query_of(WINDOWED, f"{{kafka: {{servers: '{impostor.address}', topic: a, connection: main}}}}")
        with pytest.raises(Refused, match=f"connection main: {impostor.address} is none of its brokers"):
            check_answer_topic(query, is_new=True)
    assert not impostor.is_asked.is_set()
