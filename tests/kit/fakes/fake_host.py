"""A driver host in memory, whose driver is in the state that a test sets; helpers to declare queries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tailrace.drivers.driver_host import Driver, DriverHostDown
from tailrace.spark.class_archive import ClassArchive
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

QUERY = """\
name: {name}
kind: aggregate
streams:
  readings:
    source: {{format: parquet, path: readings}}
    event_time: event_time
    arrival_time: arrival_time
    id: id
window: {{size: 2 h, slide: 1 h}}
disorder: {{tick: 1 min}}
aggregate: {{function: sum, column: value}}
"""


LOCAL_CONF = {
    "spark.driver.bindAddress=127.0.0.1",
    "spark.driver.host=127.0.0.1",
    "spark.authenticate=true",
    f"spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {ClassArchive().jvm_options}".rstrip(),
    f"spark.pyspark.driver.python={sys.executable}",
}
"""The settings with which spark-submit is started under a local master."""


def declare(directory: Path, name: str, text: str = QUERY) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{name}.yaml"
    file.write_text(text.format(name=name))
    return file


def write_status(layout: Layout, at_ms: int, state: str = "streaming") -> None:
    """Write a driver's status file: its own last report, made at at_ms."""
    layout.stream.mkdir(parents=True, exist_ok=True)
    Status(state, 1, 0, at_ms, batches=3, committed_at_ms=at_ms, rows_left=7).write(layout)


@dataclass
class FakeHost:
    """A host of one driver, which records its calls; it calls `on_inspect` before each inspection of the driver."""

    driver: Driver = field(default_factory=lambda: Driver("readings", "absent", None, None, "unknown"))
    on_inspect: Callable[[], None] = lambda: None
    down: bool = False
    programs: set[str] = field(default_factory=set)  # those that a restart of the host would start again
    known_homes: dict[str, str] = field(default_factory=dict)  # of programs that a test did not deploy here
    deployed: list[tuple[list[str], dict[str, str]]] = field(default_factory=list)
    stopped: list[float] = field(default_factory=list)
    ran: list[list[str]] = field(default_factory=list)
    exit_code: int | None = 0

    def is_now(self, state: str, exit_code: int | None = None, detail: str = "") -> None:
        alive = state in ("starting", "running", "stopping")
        pid = (self.driver.pid or 100) if alive else None
        self.driver = replace(self.driver, state=state, pid=pid, exit_code=exit_code, detail=detail)

    def deploy(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Driver:
        if not self.inspect(name).alive:
            self.deployed.append((list(command), dict(environment)))
            self.programs.add(name)
            if "--home" in command:
                self.known_homes[name] = command[command.index("--home") + 1]
            self.driver = Driver(name, "running", 100 + len(self.deployed), None, "")
        return self.driver

    def names(self) -> list[str]:
        return [self.driver.name] if self.driver.alive or self.driver.name in self.programs else []

    def homes(self, query: str) -> dict[str, str]:
        return {name: home for name, home in self.known_homes.items() if name.partition(".")[0] == query}

    def inspect(self, name: str) -> Driver:
        self.on_inspect()
        if self.down:
            raise DriverHostDown("the driver host at http://somewhere:1 does not answer")
        return replace(self.driver, name=name)

    def stop(self, name: str, wait_s: float) -> Driver:
        if self.driver.alive:
            self.stopped.append(wait_s)
            self.is_now("ended", 130, "stopped by request")
        self.programs.discard(name)
        self.known_homes.pop(name, None)
        return self.inspect(name)

    def run(self, program: str, command: Sequence[str], wait_s: float) -> int | None:
        self.ran.append(list(command))
        return self.exit_code

    def last_lines(self, name: str, lines: int) -> list[str]:
        return ["a line", "the last line"]
