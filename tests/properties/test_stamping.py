"""What a calibration proposes, the driver stamps between two batches: a batch that is replayed sees what it saw."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.kill_points import BATCH_ROWS, SETTINGS, TUPLES, arm, calibrate, leave, write_input
from kit.runs.warehouse import make_query, propose, rows_of, tables_of
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions

pytestmark = pytest.mark.xdist_group("stamping")

DIES, SLOWER, FASTER = 3, 1500, 50


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """What a kill leaves after batch 3, which came under a new K."""
    home = tmp_path_factory.mktemp("left")
    write_input(home)
    query = make_query(home / "in", SETTINGS, calibrated=True)
    with pytest.MonkeyPatch.context() as patch:
        arm(patch, "before note", DIES, lambda: leave(home / "wh", home / "left"))
        calibrate(patch, query, home / "wh", {1: SLOWER})
        run(query, home / "wh", RunOptions(BATCH_ROWS))
    return home


def go_on(left, directory) -> dict[str, list[dict]]:
    """Another K is proposed before the next driver starts."""
    shutil.copytree(left / "left", directory / "wh")
    query = make_query(left / "in", SETTINGS, calibrated=True)
    propose(query, directory / "wh", FASTER)
    run(query, directory / "wh", RunOptions(BATCH_ROWS))
    return rows_of(directory / "wh", "results", "late", "metrics", "segments", "facts")


# The first tick after those that had come when a batch was planned.
FACTS = [{"from_tick": 0}] + [
    {"from_tick": max(item.arrival_time for item in TUPLES[: BATCH_ROWS * batches]) // SETTINGS.tick + 1}
    for batches in (2, DIES + 1)
]


def as_stamped(facts: list[dict]):
    """The oracle's settings, by the table of facts."""
    held = [(row["from_tick"], ("k_slack", k)) for row, k in zip(facts[1:], (SLOWER, FASTER), strict=True)]
    return replace(SETTINGS, changes=tuple(held))


def test_a_k_that_takes_effect_amid_a_kill_and_a_replay_changes_no_answer(left, tmp_path):
    rows = go_on(left, tmp_path)
    facts = sorted(rows["facts"], key=lambda row: row["version"])
    assert [row["version"] for row in facts] == [1, 2, 3]
    assert [row["evidence"] for row in facts] == ["declared", "found 1500", "found 50"]
    assert [json.loads(row["value"])["initial"] for row in facts] == ["300 ms", "1500 ms", "50 ms"]
    assert [row["from_tick"] for row in facts] == [row["from_tick"] for row in FACTS]
    assert {row["facts_version"] for row in rows["results"]} == {1, 2, 3}
    assert_streamed(rows, stream(TUPLES, as_stamped(facts)))
    by_batch = {row["batch"]: row["k_ms"] for row in rows["metrics"]}
    assert [by_batch[batch] for batch in (1, DIES, max(by_batch))] == [300, SLOWER, FASTER]


def test_without_the_stamp_of_a_batch_a_replay_sees_what_is_newest(left, tmp_path, monkeypatch):
    record = BatchPlanner.record

    def as_it_is_now(self, entries):
        proposed = tables_of(tmp_path / "wh").read("proposals").sort_by("made_at").to_pylist()[-1]["settings"]
        entry = record(self, entries)
        facts = tuple(replace(fact, value=json.loads(proposed)) for fact in entry.header.facts)
        return replace(entry, header=replace(entry.header, facts=facts))

    monkeypatch.setattr(BatchPlanner, "record", as_it_is_now)
    rows = go_on(left, tmp_path)
    with pytest.raises(AssertionError):
        assert_streamed(rows, stream(TUPLES, as_stamped(FACTS)))
