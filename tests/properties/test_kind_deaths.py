"""Every kind: drivers and corrections that die before each of their writes leave what undisturbed ones do.

All kill points of `kill_points.py` that a kind's own tables, states and corrections touch, each in an early batch and
some in a later one; K6 and K7 for kinds that are corrected. The contracts of the kinds hold that the undisturbed run
is right.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kit.runs.deaths import Deaths, deaths
from kit.runs.kind_streams import KINDS, TABLE_JOIN, contents, disturbed_rows, query_of, sides_of, write_files
from kit.runs.local_driver import Driver, no_spark
from kit.runs.warehouse import tables_of
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.query.query import Query

ROWS, PER_FILE = 144, 8

CORRECTED = [name for name in KINDS if name != TABLE_JOIN]
LATER = ("append", "state", "append results", "record_written", "compact")
"""Of these points two are tried in a later batch too."""

OF_A_BATCH = {"append", "append results", "append metrics", "append segments", "record_written", "state"}
OF_A_COMPACTION = {"compact", "vacuum", "create_checkpoint", "cleanup_metadata"}
OF_A_CORRECTION = {"replace", "put", "add"}


def disturbed_query(name: str, directory: Path) -> Query:
    """The query of a kind over streams that have late tuples, repeats and poison."""
    for side in sides_of(name):
        write_files(disturbed_rows(side, ROWS, random.Random(side)), directory / side, PER_FILE)
    return query_of(name, directory)


@pytest.fixture
def steps(monkeypatch) -> Deaths:
    monkeypatch.setattr(Driver, "compact_every", 2)
    return deaths(monkeypatch)


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", KINDS)
def test_a_driver_that_dies_before_each_of_its_writes_leaves_what_an_undisturbed_one_does(tmp_path, steps, name):
    query = disturbed_query(name, tmp_path)
    batch_rows = PER_FILE * len(query.streams)
    Driver(query, tmp_path / "whole").run(batch_rows, flush=True)
    points = list(dict.fromkeys(steps.taken))
    assert set(points) >= OF_A_BATCH | OF_A_COMPACTION, "each of these is a write"
    driver = Driver(query, tmp_path / "killed")
    for point in points:
        with steps.at(point, 1):
            driver.run(batch_rows, flush=True)
    for point in random.sample(LATER, 2):  # other ones at each run
        with steps.at(point, 2):
            driver.run(batch_rows, flush=True)
    driver.run(batch_rows, flush=True)
    whole, killed = contents(tmp_path / "whole"), contents(tmp_path / "killed")
    assert whole["results"]
    assert whole["quarantine"]
    assert killed == whole
    assert rows_taken_in(tmp_path / "killed") == rows_taken_in(tmp_path / "whole")


def rows_taken_in(warehouse: Path) -> int:
    return sum(tables_of(warehouse).read("metrics")["rows"].to_pylist())


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", CORRECTED)
def test_a_correction_that_dies_before_each_of_its_writes_leaves_what_an_undisturbed_one_does(tmp_path, steps, name):
    query = disturbed_query(name, tmp_path)
    for warehouse in ("whole", "killed"):
        Driver(query, tmp_path / warehouse).run(10 * PER_FILE, flush=True)
    steps.taken.clear()
    correct(query, tmp_path / "whole", CorrectionRange(), no_spark)
    points = list(dict.fromkeys(steps.taken))
    assert set(points) >= OF_A_CORRECTION
    for point in points:
        with steps.at(point, 1):
            correct(query, tmp_path / "killed", CorrectionRange(), no_spark)
    correct(query, tmp_path / "killed", CorrectionRange(), no_spark)
    assert contents(tmp_path / "whole")["corrections"]
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
