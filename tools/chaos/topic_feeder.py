"""A thread that sends a workload's rows to a topic, also while its broker is away, until it is told to stop."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, Message, Producer
from workloads import Drawn, Row

_PAUSE_S, _ROWS = 0.5, 10
_REJECTED = "no number"
_FLUSH_S = 120.0


class TopicFeeder(threading.Thread):
    """Sends rows twice a second, each once and in order: the producer is idempotent, and waits for its broker.

    Attributes
    ----------
    problems : list of str
        The errors of rows that were not delivered.
    """

    def __init__(self, stream: Drawn, topic: str, settings: Mapping[str, Any]) -> None:
        super().__init__(daemon=True)
        self.stream, self.topic = stream, topic
        self.problems: list[str] = []
        self._producer = Producer({**settings, "enable.idempotence": True, "message.timeout.ms": 0})
        self._ended = threading.Event()

    @property
    def arrival_ms(self) -> int:
        """The arrival time of the newest row."""
        return self.stream.arrival

    def run(self) -> None:
        self._send()
        while not self._ended.wait(_PAUSE_S):
            self._send()

    def stop(self) -> None:
        """End the stream, and wait until the broker has all rows."""
        self._ended.set()
        self.join()
        if left := self._producer.flush(_FLUSH_S):
            self.problems.append(f"{left} rows were not delivered")

    def _send(self) -> None:
        for row in self.stream.more(_ROWS):
            self._producer.produce(self.topic, _record(row), partition=0, on_delivery=self._delivered)
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self.problems.append(str(error))


def _record(row: Row) -> bytes:
    value = _REJECTED if row.value is None else float(row.value)
    return json.dumps(row._asdict() | {"value": value}).encode()
