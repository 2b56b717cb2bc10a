"""The executor on Spark: what it makes of an error of a JVM that lives, and of one that has ended."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tailrace.engine.batch_header import BatchHeader
from tailrace.spark.executor import SparkExecutor
from tailrace.stream.failures import Failure


class FailingSpark:
    """A fake session whose jobs fail as its JVM is not there, or though it is."""

    def __init__(self, lives: bool) -> None:
        self.lives, self.conf = lives, SimpleNamespace(set=lambda *_: None)
        system = SimpleNamespace(currentTimeMillis=self.ask)
        jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=system)))
        self.sparkContext = SimpleNamespace(_jvm=jvm, setJobDescription=self.describe, defaultParallelism=2)

    def ask(self) -> int:
        if not self.lives:
            raise ConnectionRefusedError(111, "Connection refused")
        return 0

    def describe(self, text: str) -> None:
        assert text == "flights: batch 7, 0 rows"
        raise ConnectionRefusedError(111, "Connection refused")


@pytest.mark.parametrize(("lives", "kind"), [(True, "transient"), (False, "failed")])
def test_a_jvm_that_has_ended_is_not_tried_again(lives, kind):
    executor = SparkExecutor(FailingSpark(lives), SimpleNamespace(tasks=2), None, "flights")
    with pytest.raises((OSError, RuntimeError)) as error:
        executor.run(BatchHeader(7, ()), (), 6)
    assert Failure.classify(error.value).kind == kind
    assert lives or Failure.classify(error.value).reason == "Spark's JVM has ended"
