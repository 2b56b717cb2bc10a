"""Every kind under a burst of ten times its load, and with a hot key: batches and state stay within bounds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kit.runs.kind_streams import KINDS, Row, query_of, sides_of, write_files
from kit.runs.local_driver import Driver
from kit.runs.warehouse import EPOCH, tables_of
from tailrace.storage.checkpoint import committed_batches

TICKS, TICK_MS, ROWS, BURST, HOT = 12, 100, 4, 10, 0.9
"""A phase of a stream is longer than all that windows and intervals hold; its ticks have so many rows each."""

BATCH_ROWS = 60
SLACK_BYTES = 4096


class Life:
    """A driver, and streams that grow phase by phase."""

    def __init__(self, name: str, directory: Path) -> None:
        self.directory, self.sides, self.ticks, self.draw = directory, sides_of(name), 0, random.Random(7)
        self._write(1, 0.0)
        self.driver = Driver(query_of(name, directory), directory / "wh")

    def phase(self, crowd: int = 1, hot: float = 0.0) -> int:
        """Read a further phase; returns the size of the state after it, in bytes."""
        self._write(crowd, hot)
        self.driver.run(BATCH_ROWS)
        chunks = self.driver.layout.chunks.rglob("*.arrow")
        last = committed_batches(self.driver.layout) - 1
        states = self.driver.layout.states.rglob(f"{last:08d}.state")
        return sum(file.stat().st_size for file in (*states, *chunks))

    def batches(self) -> list[int]:
        """The number of rows of each batch."""
        rows: dict[int, int] = {}
        for row in tables_of(self.directory / "wh").read("metrics").to_pylist():
            rows[row["batch"]] = rows.get(row["batch"], 0) + row["rows"]
        return list(rows.values())

    def _write(self, crowd: int, hot: float) -> None:
        count = ROWS * crowd
        for side in self.sides:
            rows = []
            for number in range(self.ticks * count, (self.ticks + TICKS) * count):
                arrival = EPOCH + number * TICK_MS // count
                event, name = arrival - self.draw.randrange(150), f"{side[0]}{self.ticks}-{number}"
                row = Row.draw(event, arrival, name, self.draw)
                rows.append(row._replace(key="a", x=5.0, y=5.0) if self.draw.random() < hot else row)
            write_files(rows, self.directory / side, count * 5)
        self.ticks += TICKS


@pytest.fixture
def life(request, tmp_path, monkeypatch) -> Life:
    monkeypatch.setattr(Driver, "compact_every", 1000)
    return Life(request.param, tmp_path)


@pytest.mark.needs("long")
@pytest.mark.parametrize("life", KINDS, indirect=True)
def test_a_burst_makes_no_larger_batch_and_leaves_no_state(life):
    before = life.phase()
    life.phase(BURST)
    after = life.phase()
    batches = life.batches()
    assert max(batches) <= BATCH_ROWS * len(life.sides)
    assert sum(batches) == TICKS * ROWS * (3 + BURST) * len(life.sides)
    assert after <= 1.25 * before + SLACK_BYTES


@pytest.mark.needs("long")
@pytest.mark.parametrize("life", KINDS, indirect=True)
def test_the_state_of_a_hot_key_is_what_windows_hold(life):
    life.phase(hot=HOT)
    once = life.phase(hot=HOT)
    for _ in range(2):
        later = life.phase(hot=HOT)
    assert later <= 1.25 * once + SLACK_BYTES
