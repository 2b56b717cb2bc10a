"""A topic on Spark: cut and resumed, its answers are those in one process; and corrections read its history."""

from __future__ import annotations

import pytest

from kafka.test_source import answers, readings, send_in_turns, topic_query
from kafka_broker import running_broker
from local_app import LocalApp
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.times import in_ms
from tailrace.spark.app import run
from tailrace.spark.correct import correct
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.run_options import RunOptions

pytestmark = pytest.mark.spark


def test_a_topic_on_spark_is_answered_as_in_process_and_corrected(tmp_path, spark):
    (tmp_path / "broker").mkdir()
    with running_broker(tmp_path / "broker") as broker:
        topic = broker.make_topic(3)
        query = topic_query(broker, topic)
        send_in_turns(broker, topic, readings(600))
        run(query, tmp_path / "wh", RunOptions(250, flush=False))
        send_in_turns(broker, topic, [*readings(900)[600:], *readings(30, seed=9)])  # the last ones are late
        run(query, tmp_path / "wh", RunOptions(250))
        app = LocalApp(query, tmp_path / "local")
        app.go(flush=True)
    tables = Tables(Layout.of(tmp_path / "wh", "load"))
    names = ("key", "window_start", "window_end", "tuples", "value", "as_of")
    rows = in_ms(tables.read("results")).to_pylist()
    assert sorted(tuple(row[name] for name in names) for row in rows) == answers(app) != []
    assert tables.read("history").num_rows == 930
    report = correct(query, tmp_path / "wh", CorrectionRange(None, None))  # the broker is away: history has it all
    assert report.late == sum(tables.read("late").column("tuples").to_pylist()) > 0
