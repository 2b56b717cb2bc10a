"""A topic on Spark, by TLS and a password: cut and resumed, its answers are those in one process; and corrections read
its history."""

from __future__ import annotations

import pytest

from kafka.test_source import answers, query_on, readings, send_in_turns
from kafka.test_tls import declare
from kit.parts.kafka_broker import PASSWORD, USER, running_broker
from kit.runs.local_driver import Driver
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.duration import parse_time_ms
from tailrace.ground.errors import Refused
from tailrace.query.answers_section import AnswersSection
from tailrace.sources.kafka.kafka_topic import KafkaTopic
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.run_options import RunOptions
from tailrace.tables.every import in_ms


def sending_to(query, broker, topic: str):
    """The query, with a topic for its answers."""
    target = KafkaTopic(servers=broker.secured["LOGIN"], topic=topic, connection="secured")
    return query.model_copy(update={"answers": AnswersSection(kafka=target)})


def test_a_topic_on_spark_is_answered_as_in_process_and_corrected(tmp_path, spark, monkeypatch):
    (tmp_path / "broker").mkdir()
    with running_broker(tmp_path / "broker") as broker:
        topic, answers_topic = broker.make_topic(3), broker.make_topic(2)
        declare(monkeypatch, "secured", broker.secured["LOGIN"], broker.authority.pem, login=(USER, PASSWORD))
        source = {"format": "kafka", "servers": broker.secured["LOGIN"], "topic": topic, "connection": "secured"}
        query = sending_to(query_on(source), broker, "nowhere")
        with pytest.raises(Refused, match=r"answers.kafka: topic nowhere: there is no such topic"):
            run(query, tmp_path / "wh", RunOptions(250, flush=False))
        assert not (tmp_path / "wh").exists()
        query = sending_to(query, broker, answers_topic)
        send_in_turns(broker, topic, readings(600))
        run(query, tmp_path / "wh", RunOptions(250, flush=False))
        send_in_turns(broker, topic, [*readings(900)[600:], *readings(30, seed=9)])  # the last ones are late
        run(query, tmp_path / "wh", RunOptions(250))
        sent = broker.records(answers_topic)
        app = Driver(query, tmp_path / "local")
        app.run(flush=True)
    tables = Tables(Layout.for_query(tmp_path / "wh", "load"))
    names = ("key", "window_start", "window_end", "tuples", "value", "as_of")
    rows = in_ms(tables.read("results"), "results").to_pylist()
    assert sorted(tuple(row[name] for name in names) for row in rows) == answers(app) != []
    assert sorted((key["key"], parse_time_ms(key["window_end"]), value["value"]) for _, key, value in sent) == sorted(
        (row["key"], row["window_end"], row["value"]) for row in rows
    )
    assert tables.read("history").num_rows == 930
    with pytest.raises(RuntimeError, match="all answers are committed, but kafka could not be brought up to date"):
        correct(query, tmp_path / "wh", CorrectionRange(None, None))  # the broker is away: history has it all
    (late,) = Tables(tables.layout).read("correction_runs")["late"].to_pylist()
    assert late == sum(tables.read("late").column("tuples").to_pylist()) > 0
