"""A damaged checkpoint is a loud stop that tells the repair; after the repair the answers are the oracle's.

That the damage is named where a Python worker of Spark meets it, `spark/test_emd_join.py` and `test_kill.py` have.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.local_driver import correct_here
from kit.runs.warehouse import even, make_query, make_stream, rows_of, write_files
from tailrace.ground.errors import Damaged
from tailrace.storage.layout import Layout
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions

TUPLES = make_stream(300, seed=25)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
BOUNDS = even(len(TUPLES), 6)


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """The directory of a stream that has read four of its six files, in two batches."""
    directory = tmp_path_factory.mktemp("begun")
    write_files(TUPLES, directory / "in", BOUNDS[:5])
    run(make_query(directory / "in", SETTINGS), directory / "wh", RunOptions(100, flush=False))
    write_files(TUPLES, directory / "in", BOUNDS[4:], first=4)
    return directory


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _spoil(path: Path) -> None:
    path.write_bytes(b"\0spoilt{\n" * 3)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


STATE = "tasks/1/00000001.state"
DAMAGES = [("tables.json", _remove), ("tables.json", _spoil), ("tasks", _remove), ("tasks/0", _remove)]
DAMAGES += [(STATE, _remove), (STATE, _spoil), (STATE, _empty), (STATE, _cut)]


@pytest.mark.needs("long")
@pytest.mark.parametrize(("part", "damage"), DAMAGES, ids=lambda value: getattr(value, "__name__", value))
def test_a_damaged_checkpoint_tells_its_repair_and_is_made_again(tmp_path, begun, part, damage):
    warehouse, query = tmp_path / "wh", make_query(begun / "in", SETTINGS)
    shutil.copytree(begun / "wh", warehouse)
    checkpoint = Layout.for_query(warehouse, query.name).checkpoint
    damage(checkpoint / part)
    with pytest.raises(Damaged) as caught:
        run(query, warehouse)
    told = str(caught.value)
    assert "Traceback" not in told
    assert len(told.splitlines()) == 2, told
    command = re.search(r"mv (\S+) (\S+)", told)
    assert command, told
    assert Path(command[1]) == checkpoint
    shutil.move(command[1], command[2])
    run(query, warehouse)
    assert_streamed(rows_of(warehouse), stream(TUPLES, SETTINGS))


@pytest.mark.parametrize("name", ["late", "results", "segments", "metrics"])
def test_a_lost_table_is_made_again_from_the_journal(tmp_path, begun, name):
    warehouse, query = tmp_path / "wh", make_query(begun / "in", SETTINGS)
    shutil.copytree(begun / "wh", warehouse)
    layout = Layout.for_query(warehouse, query.name)
    shutil.rmtree(layout.table(name))
    with pytest.raises(Damaged, match=f"{name}: the table is lost"):
        run(query, warehouse)
    with pytest.raises(Damaged, match=f"{name}: the table is lost"):
        correct_here(query, warehouse)
    shutil.rmtree(layout.checkpoint)
    run(query, warehouse)
    rows = rows_of(warehouse)
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert sum(row["rows"] for row in rows["metrics"]) == sum(row["rows"] for row in rows["segments"]) == len(TUPLES)
