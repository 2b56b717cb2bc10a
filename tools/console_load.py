"""Measures the console over a large warehouse: `make console-load`.

    python tools/console_load.py

The warehouse is that of `tests/kit/console/large.py`, with rankings and joins. `tests/kit/console/alone.py` serves it
in a process of its own. It prints each figure beside its limit; the exit code is 1 where one is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import psutil

from kit.console.large import BIG, build
from kit.console.large_kinds import KINDS
from kit.console.past import DAY_MS, DAYS
from kit.console.warehouse import Warehouse
from kit.parts import chromium
from tailrace.embedded.airflow_parts import API_SERVER
from tailrace.panels.answer import AnswerRequest
from tailrace.panels.panel import Panel
from tailrace.panels.registry import PANELS

STREAMS_S, PAINT_S, PANEL_S, MEMORY_MB = 1.0, 1.0, 2.0, 600.0
REPEATS = 5
ROOT = "/tailrace/"
OF_KIND = ("kind", "answers", "answer")
"""The panels whose work depends on the kind of the query."""
KEYED = (BIG, "trades")
"""The queries whose answers have keys."""
PAGES = {"Streams": ("", "#rows tbody tr"), "a query's page": (f"queries/{BIG}", "#part canvas")}
"""Pages, and what stands on them once the first data are there."""


@contextmanager
def serving(warehouse: Warehouse) -> Iterator[tuple[httpx.Client, psutil.Process]]:
    """Serve in a process of its own, so that its memory is the console's alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {"TAILRACE_QUERIES": str(warehouse.queries), "TAILRACE_WAREHOUSE": str(warehouse.tables)}
    environment = os.environ | API_SERVER | places
    server = subprocess.Popen([sys.executable, "-m", "kit.console.alone", str(port)], env=environment)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            _await(client, server)
            yield client, psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


def _await(client: httpx.Client, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        try:
            client.get(f"{ROOT}static/style.css").raise_for_status()
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit(f"the server ended with {server.returncode}")


@dataclass
class Report:
    """The figures so far; each is printed at once."""

    missed: list[str] = field(default_factory=list)

    def add(self, name: str, figure: float, limit: float | None, unit: str = "s") -> None:
        """Print a figure beside its limit, if it has one."""
        is_missed = limit is not None and figure > limit
        beside = "" if limit is None else f"  limit {limit:g} {unit}"
        print(f"{name:44} {figure:9.3f} {unit:2}{beside}{'  MISSED' if is_missed else ''}", flush=True)
        if is_missed:
            self.missed.append(name)


@dataclass(frozen=True)
class Load:
    """What asks the server, and notes how long it took."""

    client: httpx.Client
    now_ms: int
    report: Report
    query: str = BIG

    def seconds(self, path: str, **values: Any) -> float:
        """Ask for something below the console, and return how long its answer took."""
        began = time.perf_counter()
        self.client.get(f"{ROOT}api/{path}", params=values).raise_for_status()
        return time.perf_counter() - began

    def measure(self, name: str, limit: float, ask: Callable[[int], float]) -> None:
        """Report the first request, and the median of further ones."""
        self.report.add(f"{name}, first", ask(0), limit)
        self.report.add(f"{name}, median of {REPEATS}", statistics.median(map(ask, range(1, REPEATS + 1))), limit)

    def panel(self, panel: Panel) -> None:
        """Measure a panel with its default request, and over all days; no answer that was kept serves again."""
        path, label = f"queries/{self.query}/{panel.name}", panel.name
        if self.query != BIG:
            label = f"{self.query}: {label}"
        if panel.request is AnswerRequest:
            ids = [self._id(DAYS * DAY_MS * number // (REPEATS + 1)) for number in range(REPEATS + 1)]
            self.measure(label, PANEL_S, lambda number: self.seconds(path, id=ids[number]))
            return
        other = {"limit": 100} if "limit" in panel.request.model_fields else {}
        has_times = "end" in panel.request.model_fields or "to" in panel.request.model_fields

        def ask(number: int, **values: Any) -> float:
            if other:
                values["limit"] = 100 - number
            elif number:
                values["to"] = self.now_ms - 1000 * number
            return self.seconds(path, **values)

        self.measure(label, PANEL_S, ask)
        if has_times:
            days = {"from": self.now_ms - (DAYS + 1) * DAY_MS}
            self.measure(f"{label}, {DAYS} days", PANEL_S, lambda n: ask(n, **days, to=self.now_ms - 1000 * n))
        if "key" in panel.request.model_fields and self.query in KEYED:
            self.measure(f"{label}, one key", PANEL_S, lambda number: ask(number, key=f"s{number + 500:04d}"))

    def _id(self, age_ms: int) -> str:
        answers = self.client.get(f"{ROOT}api/queries/{self.query}/answers", params={"to": self.now_ms - age_ms})
        rows = answers.json()["rows"]
        found: str = next((row for row in rows if row["streamed"] is None), rows[0])["id"]
        return found


def measure_pages(url: str, report: Report) -> None:
    """Measure by a browser how soon something stands on a page, and how soon its data do."""
    with chromium.running_browser() as browser:
        for name, (path, first) in PAGES.items():
            page = chromium.open_window(browser, url).page(ROOT + path)
            page.wait_for_selector(first)
            shown_ms = page.evaluate("performance.now()")
            paint_ms = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            report.add(f"{name}: first paint", paint_ms / 1000, PAINT_S)
            report.add(f"{name}: first data", shown_ms / 1000, PANEL_S)


def measure(warehouse: Warehouse) -> list[str]:
    """Measure all, and return the names of the figures that miss their limit."""
    report = Report()
    with serving(warehouse) as (client, server):
        load = Load(client, warehouse.now_ms, report)
        load.measure("Streams", STREAMS_S, lambda number: load.seconds("streams"))
        load.measure("summary", STREAMS_S, lambda number: load.seconds(f"queries/{BIG}/summary"))
        measure_pages(str(client.base_url).rstrip("/"), report)
        for panel in PANELS:
            load.panel(panel)
        for query in KINDS:
            for panel in PANELS:
                if panel.name in OF_KIND:
                    replace(load, query=query).panel(panel)
        report.add("resident memory of the server", server.memory_info().rss / 2**20, MEMORY_MB, "MB")
    return report.missed


def main() -> int:
    """Build, serve and measure."""
    argparse.ArgumentParser(description="Measure the console over a large warehouse.").parse_args()
    home = Path(tempfile.mkdtemp(prefix="console-load-"))
    try:
        began = time.perf_counter()
        warehouse = build(home)
        print(f"built in {time.perf_counter() - began:.0f} s", flush=True)
        missed = measure(warehouse)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print(f"missed: {', '.join(missed)}" if missed else "all within their limits")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
