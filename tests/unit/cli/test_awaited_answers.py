"""A live query whose upstream query has not begun: it says so and waits; once that has answers, it reads them."""

from __future__ import annotations

from types import SimpleNamespace

import yaml

from kit.runs.chained_queries import MINUTE, START, chain, declarations, write
from kit.runs.live_stream import LIVE, ConcurrentAction, live, written
from kit.runs.local_driver import Driver
from kit.suite.waiting import until
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.stream import local_stream, opening
from tailrace.stream.status_reporter import AWAITED

EVENTS = [(START + n * MINUTE, START + n * MINUTE + 10, n, "a", n) for n in range(8)]


def test_a_live_run_says_that_it_waits_and_reads_on_once_its_upstream_has_begun(tmp_path, capsys):
    first, second, _ = chain(tmp_path / "in")
    write(EVENTS, tmp_path / "in" / "0.parquet")

    def begin_upstream(beside: ConcurrentAction) -> None:
        status = until(lambda: (said := Status.read(beside.layout)) and said.problem and said)
        assert status.state == "waiting"
        assert status.is_awaiting
        assert status.problem.startswith(f"{AWAITED}: query revenue has no answers yet")
        Driver(first, tmp_path / "wh").run()
        beside.until(written(1))
        assert Status.read(beside.layout).problem is None

    live(second, tmp_path / "wh", begin_upstream, LIVE, local_stream.run)
    answers = Driver(first, tmp_path / "wh").tables.read("results").num_rows
    assert sum(Driver(second, tmp_path / "wh").tables.read("segments")["accepted"].to_pylist()) == answers > 0
    said = capsys.readouterr().err
    assert "This run waits for it; right would be: tailrace run of revenue, first" in said
    assert f"{AWAITED}: works again" in said


def test_an_interrupt_ends_a_live_run_that_waits_and_the_next_run_begins(tailrace, tmp_path, monkeypatch):
    file = tmp_path / "hourly.yaml"
    file.write_text(yaml.safe_dump(declarations(tmp_path / "in")[1]))
    polls = []

    def interrupt(_: float) -> None:
        polls.append(Status.read(Layout(tmp_path / "wh" / "hourly")))
        if len(polls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(opening, "time", SimpleNamespace(sleep=interrupt))  # other threads sleep on
    command = ("run", file, "--warehouse", tmp_path / "wh", "--engine", "local")
    said = tailrace(*command, code=130).stderr
    assert "query revenue has no answers yet" in said
    assert [status.state for status in polls][-1] == "waiting"
    assert "query revenue has no answers yet" in tailrace(*command, "--bounded", code=2).stderr
    first, second, _ = chain(tmp_path / "in")
    write(EVENTS, tmp_path / "in" / "0.parquet")
    Driver(first, tmp_path / "wh").run(flush=True)
    assert Driver(second, tmp_path / "wh").run() == 1
