"""The warm-up in the background of a stream: neither its failure nor its duration affects the stream."""

import pickle
import threading
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from harness import make_stage
from oracle import Settings
from tailrace.spark import warm_up
from tailrace.spark.warm_up import warming_up

STAGE = make_stage(Settings(500, 100, 100, "sum", ("k_slack", 300)), tasks=2)


def fake_spark(range_):
    return SimpleNamespace(range=range_)


@pytest.mark.parametrize("error", [Py4JError("the JVM has ended"), PySparkException("the job was cancelled")])
def test_a_failed_warm_up_does_not_fail_the_stream(error, monkeypatch):
    uncaught = []
    monkeypatch.setattr(threading, "excepthook", uncaught.append)

    def fail(*_):
        raise error

    with warming_up(fake_spark(fail), STAGE):
        pass
    assert not uncaught


def test_a_stream_that_fails_does_not_wait_for_the_warm_up():
    ended = threading.Event()

    def wait_then_fail(*_):
        ended.wait(30)
        raise Py4JError("the session has ended")

    with pytest.raises(ValueError, match="of the stream"), warming_up(fake_spark(wait_then_fail), STAGE):
        raise ValueError("of the stream")
    assert not ended.is_set()
    ended.set()


def test_a_warm_up_that_hangs_does_not_hold_up_the_end_of_the_stream(monkeypatch):
    monkeypatch.setattr(warm_up, "_END_S", 0.1)
    ended = threading.Event()

    def hang(*_):
        ended.wait(30)
        raise Py4JError("the session has ended")

    with warming_up(fake_spark(hang), STAGE):
        pass
    assert not ended.is_set()
    ended.set()


def test_a_stage_can_be_pickled():
    assert pickle.loads(pickle.dumps(STAGE)).tasks == 2
