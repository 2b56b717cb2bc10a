"""The app over two streams: nothing runs, and nothing is written, before each has a record, which gives its types."""

from __future__ import annotations

import pytest

from kit.draws.pair_query import STREAMS, pair_query, use_pairs, write_rows
from kit.runs.planner_driver import Log, segments
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Problem, Unfit, refuse
from tailrace.ground.retries import Retries
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.stream import local_stream, opening
from tailrace.stream.opening import OpenSources, create_checkpoint
from tailrace.stream.run_options import RunOptions
from tailrace.stream.status_reporter import AWAITED, StatusReporter


class LateLog(Log):
    """A feed with a new file at each poll, whose types are known from the given poll on; `errors` by poll."""

    def __init__(self, first_types: int, errors: dict[int, Exception] | None = None) -> None:
        super().__init__()
        self.first_types, self.errors, self.polls, self.types = first_types, errors or {}, 0, {}

    def fresh(self):
        self.polls += 1
        if self.polls in self.errors:
            raise self.errors[self.polls]
        if self.polls >= self.first_types:
            self.types = {"event_time": "int64"}
        return segments("b")


@pytest.fixture
def reporter(tmp_path, monkeypatch) -> StatusReporter:
    monkeypatch.setattr(opening, "POLL_S", 0)
    clock = iter(range(0, 100_000, 100))
    monkeypatch.setattr(opening, "Retries", lambda: Retries(lambda: next(clock)))
    return StatusReporter(Layout(tmp_path / "pairs"))


def test_a_live_run_waits_for_a_record_of_each_stream_and_keeps_what_came_meanwhile(reporter):
    feeds, found = {"left": LateLog(1), "right": LateLog(3)}, {name: [] for name in STREAMS}
    OpenSources(feeds, found).await_first_records(reporter)
    assert {name: feed.polls for name, feed in feeds.items()} == {"left": 3, "right": 3}
    assert {name: len(mine) for name, mine in found.items()} == {"left": 3, "right": 3}


def test_a_source_that_fails_meanwhile_loses_no_segment_of_the_other(reporter, tmp_path):
    gone = refuse("stream right: /in", "there is no such directory", "a directory of files")
    feeds = {"left": LateLog(1), "right": LateLog(4, {1: gone, 2: gone})}
    found = {name: [] for name in STREAMS}
    OpenSources(feeds, found).await_first_records(reporter)
    assert {name: len(mine) for name, mine in found.items()} == {"left": 4, "right": 2}
    feeds["right"].types, feeds["right"].problem = {}, "stream right: its last line is cut"
    feeds["right"].first_types = 5
    OpenSources(feeds, found).await_first_records(reporter)
    reporter.report("drained")
    assert Status.read(Layout(tmp_path / "pairs")).problem == f"{AWAITED}: stream right: its last line is cut"


def test_a_bounded_run_without_a_record_of_each_stream_writes_nothing(tmp_path, monkeypatch):
    use_pairs(monkeypatch)
    query = pair_query(tmp_path, {"right": "json"})
    write_rows(tmp_path / "left", ["a"])
    (tmp_path / "right").mkdir()
    (tmp_path / "right" / "0.json").touch()
    assert local_stream.run(query, tmp_path / "wh", RunOptions()) == 0
    assert not (tmp_path / "wh").exists()


def test_the_checkpoint_has_the_types_and_identities_of_each_stream(tmp_path, monkeypatch):
    use_pairs(monkeypatch)
    feeds = {"left": LateLog(1), "right": LateLog(1)}
    for name, feed in feeds.items():
        feed.types = {f"{name}_id": "string"}
    feeds["left"].identity, feeds["right"].identity = "", "of a table"
    layout = Layout(tmp_path / "pairs")
    types = {name: feed.types for name, feed in feeds.items()}
    create_checkpoint(CompiledQuery.declare(pair_query(tmp_path)).bind(types), layout, feeds)
    manifest = layout.manifest()
    assert manifest.types == {"left": {"left_id": "string"}, "right": {"right_id": "string"}}
    assert manifest.identities == {"right": "of a table"}


def test_a_source_that_is_not_fit_ends_a_live_run_that_waits_for_its_first_record(reporter, tmp_path):
    unfit = Unfit([Problem("/in/b: column value", "its type is string", "a number")])
    feeds = {"left": LateLog(1), "right": LateLog(1, dict.fromkeys(range(1, 1000), unfit))}
    with pytest.raises(Unfit, match="its type is string"):
        OpenSources(feeds, {name: [] for name in STREAMS}).await_first_records(reporter)
    assert "its type is string" in Status.read(Layout(tmp_path / "pairs")).problem
