"""A fake of a Kafka producer, with a clock of its own: it delivers records when it is polled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import KafkaError


class FakeProducer:
    """Takes records; from the one of number `fails_at` on none can be delivered."""

    def __init__(self, most_waiting: int = 1000, fails_at: int | None = None) -> None:
        self.most_waiting, self.fails_at = most_waiting, fails_at
        self.sent = list[tuple[bytes | None, bytes | None, int | None]]()
        self.headers = list[dict[str, bytes]]()
        self.times_s = list[float]()
        self.waiting = list[tuple[int, Callable[..., Any]]]()
        self.now_s, self.purged = 0.0, False

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        on_delivery: Callable[..., Any],
        partition: int | None = None,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        if len(self.waiting) >= self.most_waiting:
            raise BufferError
        self.waiting.append((len(self.sent), on_delivery))
        self.sent.append((value, key, partition))
        self.headers.append(dict(headers))
        self.times_s.append(self.now_s)

    def poll(self, seconds: float) -> int:
        self.now_s += seconds
        if not seconds and len(self.waiting) < self.most_waiting:
            return 0
        return self.deliver()

    def flush(self, seconds: float) -> int:
        self.deliver()
        return len(self.waiting)

    def deliver(self) -> int:
        delivered, self.waiting = self.waiting, []
        for number, on_delivery in delivered:
            failed = self.fails_at is not None and number >= self.fails_at
            on_delivery(KafkaError(KafkaError._MSG_TIMED_OUT) if failed else None, None)
        return len(delivered)

    def purge(self) -> None:
        self.purged = True
