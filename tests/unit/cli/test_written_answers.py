"""What `run` and `correct` say of the answers that stand when something fails behind a commit."""

from __future__ import annotations

import pytest

from tailrace.api.warehouse_query import naming_arguments
from tailrace.correction import correct as correction
from tailrace.ground.errors import Busy, Damaged, Problem
from tailrace.ground.notes import notes_of
from tailrace.stream import written_answers
from tailrace.stream.written_answers import noting_written
from tailrace.terminal.stream_progress import ProgressPrinter

QUERY = """name: load
kind: aggregate
streams:
  readings:
    source: {format: csv, path: readings.csv}
    event_time: measured
    arrival_time: received
    id: id
window: 1 min
aggregate: {function: count}
disorder: {policy: k_slack, k: 0 s}
"""
READINGS = """id,measured,received
r1,2026-11-23 08:00:05,2026-11-23 08:00:06
r2,2026-11-23 08:01:10,2026-11-23 08:01:11
r3,2026-11-23 08:00:50,2026-11-23 08:01:30
r4,2026-11-23 08:02:05,2026-11-23 08:02:06
"""
GOES_ON = "; the same command goes on from there"
PROBLEM = Problem("--engine", "it is lost", "another one")


def test_a_failure_behind_a_commit_says_what_stands_and_the_same_command_goes_on(tailrace, monkeypatch, tmp_path):
    """One warehouse: a batch, its end, and the correction's rows are written, each followed by a failure."""
    (tmp_path / "readings.csv").write_text(READINGS)
    file, warehouse = tmp_path / "load.yaml", tmp_path / "warehouse"
    file.write_text(QUERY)
    where = "--warehouse", warehouse, "--engine", "local"

    def failing(owner: object, name: str) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, lambda *_: 1 / 0)
            failed = tailrace("run", file, *where, "--bounded", "--batch-rows", 2, "--correct", code=1).stderr
        _, _, said = failed.partition("\nfailed ")
        return said.split("\n", 1)[1]

    assert failing(ProgressPrinter, "__call__") == f"the answers up to batch 0 are written{GOES_ON}\n"
    assert failing(correction, "read_progress") == f"the answers up to batch 1 are written{GOES_ON}\n"
    corrected = "the corrected answers are written; the same command completes the correction"
    assert failing(correction, "put_quality") == f"{corrected}\nthe answers up to batch 1 are written{GOES_ON}\n"
    tailrace("correct", file, *where)
    counts = tailrace("results", file, "--warehouse", warehouse, "--format", "jsonl").stdout
    assert [line.partition('"value":')[2][:2] for line in counts.splitlines()] == ["2.", "1.", "1."]


@pytest.mark.parametrize(
    ("error", "batches", "notes"),
    [
        (OSError("no space"), 3, (f"the answers up to batch 2 are written{GOES_ON}",)),
        (Busy([PROBLEM]), 1, (f"the answers up to batch 0 are written{GOES_ON}",)),
        (Damaged([PROBLEM]), 3, ("the answers up to batch 2 are written",)),
        (OSError("no space"), 0, ()),
        (OSError("no space"), None, ()),
    ],
)
def test_a_note_says_what_the_warehouse_does(monkeypatch, error, batches, notes):
    """Nothing without a batch, nor where the warehouse can't be read; a refusal that has its remedy gets no other."""
    monkeypatch.setattr(written_answers, "committed_batches", lambda _: batches if batches is not None else 1 / 0)
    with pytest.raises(type(error)) as raised, noting_written(None):
        raise error
    assert notes_of(raised.value) == notes


def test_a_refusal_in_the_words_of_python_keeps_its_notes():
    refused = Damaged([PROBLEM])
    refused.add_note("the answers stand")
    with pytest.raises(Damaged, match=r"^engine: it is lost") as raised, naming_arguments():
        raise refused
    assert notes_of(raised.value) == ("the answers stand",)
    assert raised.value._render_traceback_()[-1] == "the answers stand"
