"""K6 and K7, write by write: a correction that dies at any of its writes is run again, and nothing tells that it died.

Its writes: `corrections`, the table `quality`, the ledger `correction_runs`, and the steps of their compaction.
"""

from __future__ import annotations

import shutil

import pytest

from kit.oracles.oracle import Settings
from kit.runs.deaths import deaths
from kit.runs.local_driver import no_spark
from kit.runs.local_tables import stream_into_tables
from kit.runs.warehouse import EPOCH, even, make_stream, rows_of
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.uncorrected import Uncorrected
from tailrace.ground.errors import Busy
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log
from tailrace.storage.tables import VACUUM, Tables

SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
TUPLES = make_stream(200, seed=5)
RANGE = CorrectionRange(EPOCH, EPOCH + 2000, arrival=True)
WRITES = ["replace", "put", "add", *["compact", "vacuum", "create_checkpoint", "cleanup_metadata"] * 3]
TABLES = ("corrections", "quality", "correction_runs")
WHEN = ("emitted_at", "started_at")


@pytest.fixture(scope="module")
def streamed(tmp_path_factory):
    home = tmp_path_factory.mktemp("streamed")
    return home, stream_into_tables(home, SETTINGS, TUPLES, even(len(TUPLES), 4))


def contents(warehouse) -> dict[str, list]:
    """The rows of the correction's tables, in no order, but for the times of writing, and `changed` of each run."""
    return {
        name: sorted(str({column: row[column] for column in row if column not in (*WHEN, "changed")}) for row in rows)
        for name, rows in rows_of(warehouse, *TABLES).items()
    }


def changes(warehouse) -> int:
    """The changed answers of all runs in the ledger."""
    return sum(row["changed"] for row in rows_of(warehouse, "correction_runs")["correction_runs"])


def test_these_are_all_writes_of_a_correction(streamed, tmp_path, monkeypatch):
    home, query = streamed
    shutil.copytree(home / "wh", tmp_path / "wh")
    steps = deaths(monkeypatch)
    assert correct(query, tmp_path / "wh", RANGE, no_spark).answers > 0
    assert steps.taken == WRITES


def test_a_correction_keeps_the_files_that_it_reads_from_the_streams_vacuum(streamed, tmp_path, monkeypatch):
    home, query = streamed
    shutil.copytree(home / "wh", tmp_path / "wh")
    layout, read, reads = Layout.for_query(tmp_path / "wh", query.name), Log.read, []

    def read_under_the_lock(*arguments):
        with pytest.raises(Busy), layout.lock(VACUUM):
            pass
        reads.append(arguments)
        return read(*arguments)

    monkeypatch.setattr(Log, "read", staticmethod(read_under_the_lock))
    assert correct(query, tmp_path / "wh", RANGE, no_spark).answers > 0
    assert reads
    with layout.lock(VACUUM):  # it is free again
        pass


@pytest.mark.needs("long")
@pytest.mark.parametrize("dies", range(4), ids=lambda n: f"{n}-{WRITES[n]}")  # test_kind_deaths.py has all of them
def test_a_correction_that_died_is_run_again(streamed, tmp_path, monkeypatch, dies):
    home, query = streamed
    for name in ("killed", "whole"):
        shutil.copytree(home / "wh", tmp_path / name)
    steps = deaths(monkeypatch)
    with steps.after(dies):
        correct(query, tmp_path / "killed", RANGE, no_spark)
    died = contents(tmp_path / "killed")
    assert [bool(died[name]) for name in TABLES] == [dies > WRITES.index(write) for write in ("replace", "put", "add")]
    left = Uncorrected.read(Tables(Layout.for_query(tmp_path / "killed", query.name)))
    in_range = (left.arrived > RANGE.bounds[0]) & (left.arrived <= RANGE.bounds[1])
    assert in_range.any() == (dies <= WRITES.index("add")), "what the ledger lacks is asked for again, and only that"
    again = correct(query, tmp_path / "killed", RANGE, no_spark)
    whole = correct(query, tmp_path / "whole", RANGE, no_spark)
    assert again == whole
    killed, expected = contents(tmp_path / "killed"), contents(tmp_path / "whole")
    assert {name: killed[name] for name in TABLES[:2]} == {name: expected[name] for name in TABLES[:2]}
    assert set(killed["correction_runs"]) == set(expected["correction_runs"])
    assert changes(tmp_path / "killed") == changes(tmp_path / "whole") > 0, "each counts once"
