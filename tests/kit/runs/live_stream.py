"""A live stream, on Spark or another engine, and what a test does beside it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from kit.suite.waiting import PATIENCE_S, until
from tailrace.spark.app import run as on_spark
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.stream.run_options import RunOptions

LIVE = RunOptions(100, pace_ms=100, live=True)


class ConcurrentAction(threading.Thread):
    """Does something beside a stream that runs, and asks it to drain in the end, come what may."""

    def __init__(self, layout: Layout, act) -> None:
        super().__init__(daemon=True)
        self.layout, self.act, self.failed = layout, act, None

    def run(self) -> None:
        try:
            self.act(self)
        except BaseException as error:
            self.failed = error
        finally:
            while self.is_wanted():
                self.layout.request_drain()  # again, should it have come before the driver
                time.sleep(0.1)

    def is_wanted(self) -> bool:
        status = Status.read(self.layout)
        return status is None or status.state not in ("drained", "ended")

    def until(self, what) -> None:
        """Wait for what the stream's status, or its newest entry, must say."""

        def is_said() -> bool:
            status, entry = Status.read(self.layout), Journal(self.layout.journal).last()
            return status is not None and entry is not None and what(status, entry)

        until(is_said, every_s=0.05, seen=lambda: Status.read(self.layout))


def live(query, warehouse: Path, act, plan: RunOptions = LIVE, run=on_spark) -> None:
    beside = ConcurrentAction(Layout.for_query(warehouse, query.name), act)
    beside.layout.status.unlink(missing_ok=True)
    beside.start()
    run(query, warehouse, plan)
    beside.join(PATIENCE_S)
    if beside.failed:
        raise beside.failed


def written(batches: int):
    return lambda status, entry: status.batches >= batches
