"""A backup taken between any two writes of a living stream, restored and gone on with, gives the oracle's answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kit.oracles.oracle import Settings, batch, stream
from kit.oracles.oracle_assertions import assert_close, assert_streamed
from kit.runs.deaths import Deaths, deaths
from kit.runs.json_stream import POISON, records_of, write_json
from kit.runs.local_driver import Driver, no_spark
from kit.runs.warehouse import make_query, make_stream, rows_of, tables_of
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.errors import Busy, Damaged, Refused
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage import backup, checkpoint
from tailrace.storage.backup import back_up
from tailrace.storage.layout import Layout
from tailrace.storage.restore import restore
from tailrace.storage.results import AnswerTables, read_answers
from tailrace.storage.tables import VACUUM, Tables

SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 200))
TUPLES = make_stream(240, 11, duplicates=6)
FILE = 20
FILES = len(TUPLES) // FILE
HALF = FILES // 2


@pytest.fixture(autouse=True)
def compacts_often(monkeypatch):
    monkeypatch.setattr(Driver, "compact_every", 3)
    monkeypatch.setattr(backup, "WAIT_S", 0)
    monkeypatch.setattr(backup.os, "sync", lambda: None)  # of all disks, for seconds where others write


def query_over(home: Path) -> Query:
    return make_query(home / "in", SETTINGS, source="json")


def write(home: Path, first: int, last: int) -> None:
    """Write the files of the stream that are not there, each with a record for quarantine."""
    for number in range(first, last):
        if not (home / "in" / f"part-{number:05d}.json").exists():
            write_json([*records_of(TUPLES[FILE * number : FILE * (number + 1)]), POISON], home / "in", number)


def begin(home: Path) -> Driver:
    """A stream that has read half of its input, and was corrected since."""
    write(home, 0, HALF)
    driver = Driver(query_over(home), home / "wh")
    driver.run(FILE + 1)
    correct(driver.query, home / "wh", CorrectionRange(), no_spark)
    return driver


def assert_goes_on(home: Path, made: Path, has_state: bool) -> None:
    """Restore a backup and go on: to the end of the input, and to a correction of all."""
    warehouse = home / "restored"
    shutil.rmtree(warehouse, ignore_errors=True)
    manifest = restore(made, warehouse)
    query = query_over(home)
    assert (manifest.has_state, manifest.query) == (has_state, "readings")
    read_answers(query, warehouse, streamed=False)  # it is whole as it is
    write(home, 0, FILES)
    driver = Driver(query, warehouse)
    if not has_state:
        driver.rebuild(query)
    driver.run(FILE + 1, flush=True)
    rows = rows_of(warehouse, "results", "late", "segments", "quarantine")
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert (sum(row["accepted"] for row in rows["segments"]), len(rows["quarantine"])) == (len(TUPLES), FILES)
    correct(query, warehouse, CorrectionRange(), no_spark)
    answers = AnswerTables(tables_of(warehouse), build(query).answers).latest().to_pylist()
    found = {(row["key"], row["window_start"], row["window_end"]): row["value"] for row in answers}
    expected = batch(TUPLES, SETTINGS)
    assert found.keys() == expected.keys()
    for window, truth in expected.items():
        assert_close(found[window], truth.value, truth.sum_abs)


def at_each_step(monkeypatch: pytest.MonkeyPatch, take: Callable[[int, str], None]) -> Deaths:
    """Call something before each write of a stream, the correction or a compaction."""
    steps = deaths(monkeypatch)

    def step(name: str) -> None:
        steps.taken.append(name)
        take(len(steps.taken), name)

    steps.step = step
    return steps


@pytest.mark.needs("long")
@pytest.mark.slow
def test_a_backup_between_any_two_writes_is_whole_and_can_be_gone_on_with(tmp_path, monkeypatch):
    driver = begin(tmp_path)
    taken: dict[int, str] = {}

    def take(number: int, name: str) -> None:
        try:
            back_up(driver.layout, tmp_path / "backups" / str(number))
        except Busy:
            busy.append(name)
        else:
            taken[number] = name

    busy: list[str] = []
    with monkeypatch.context() as patch:
        at_each_step(patch, take)
        write(tmp_path, HALF, HALF + 3)
        driver.run(FILE + 1)
        correct(driver.query, tmp_path / "wh", CorrectionRange(), no_spark)
    in_a_batch = {"append results", "append metrics", "append history", "record_written", "state"}
    assert in_a_batch <= set(taken.values())
    assert set(busy) <= {"compact", "vacuum", "create_checkpoint", "cleanup_metadata", "replace", "put", "add"}
    for number in taken:
        shutil.rmtree(tmp_path / "restored", ignore_errors=True)
        restore(tmp_path / "backups" / str(number), tmp_path / "restored")
        restored = Layout.for_query(tmp_path / "restored", "readings")
        assert checkpoint.readable(Tables(restored), driver.query)
        with pytest.raises(Damaged, match=r"state of the clock is lost\n.*tailrace rebuild"):
            checkpoint.resumable(restored, driver.query)
    chosen = {name: number for number, name in taken.items() if name in in_a_batch}  # the last of each
    for number in chosen.values():
        assert_goes_on(tmp_path, tmp_path / "backups" / str(number), has_state=False)


@contextmanager
def at_each_copy(monkeypatch: pytest.MonkeyPatch, act: Callable[[int, Path], None]):
    """Call something before each file that a backup copies."""
    copies, copy_file = [], backup.copy_file

    def copy(source: Path, target: Path):
        copies.append(source)
        act(len(copies), source)
        return copy_file(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(backup, "copy_file", copy)
        yield copies


@pytest.mark.needs("long")
@pytest.mark.parametrize("how", ["at rest", "starts", "runs"])
def test_a_stream_may_write_between_any_two_copies(tmp_path, monkeypatch, how):
    """`runs`: its state is not copied. `starts`: it does once the state was copied, which is too old then."""
    driver, written, copied = begin(tmp_path), [HALF], set()

    def go_on(number: int, source: Path) -> None:
        is_state = driver.layout.checkpoint in source.parents
        copied.add(source.relative_to(driver.layout.home).parts[0])
        may = not is_state and (how != "at rest" or "segments" in copied)
        if (number % 3 == 0 or how == "starts") and written[-1] < FILES - 1 and may:
            written.append(written[-1] + 1)
            write(tmp_path, written[-2], written[-1])
            driver.run(FILE + 1)

    if how == "runs":
        monkeypatch.setattr(backup, "only_driver", lambda layout: layout.lock("deploy"))
    with driver.layout.lock("deploy"), at_each_copy(monkeypatch, go_on) as copies:
        made = back_up(driver.layout, tmp_path / "backup")
    assert len({*copies}) == len(copies), "a version is whole at the first try"
    assert made.has_state is (how == "at rest")
    assert len(written) > 4
    assert_goes_on(tmp_path, tmp_path / "backup", has_state=how == "at rest")


def test_files_that_go_while_they_are_copied_are_copied_as_they_are_then(tmp_path, monkeypatch):
    """Of the table of proposals, whose writer a backup does not hold off."""
    driver, tables = begin(tmp_path), Tables(Layout.for_query(tmp_path / "wh", "readings"))
    whole = shutil.copytree(tables.layout.table("quality"), tables.layout.table("proposals"))

    def compact(number: int, source: Path) -> None:
        if source.is_relative_to(whole) and not any(path.is_relative_to(whole) for path in copies[:-1]):
            tables.compact(["proposals"])
            tables.open("proposals").vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)

    tables.add("proposals", tables.open("proposals").to_pyarrow_table())
    with at_each_copy(monkeypatch, compact) as copies:
        back_up(driver.layout, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "restored")
    restored = tables_of(tmp_path / "restored")
    assert restored.read("proposals").equals(tables.read("proposals"))


def test_a_correction_and_a_backup_exclude_each_other(tmp_path):
    driver = begin(tmp_path)
    with driver.layout.lock(VACUUM), pytest.raises(Busy, match="reads this query's tables"):
        back_up(driver.layout, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_a_copy_of_tables_that_were_being_written_is_refused(tmp_path):
    """By hand: the journal first, and then, as the stream goes on, the tables."""
    driver = begin(tmp_path)
    copied = replace(driver.layout, home=tmp_path / "copied" / "readings")
    shutil.copytree(driver.layout.stream, copied.stream)
    write(tmp_path, HALF, FILES)
    driver.run(FILE + 1)
    shutil.copytree(driver.layout.home, copied.home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("_stream"))
    for read in (
        lambda: checkpoint.resumable(copied, driver.query),
        lambda: read_answers(driver.query, tmp_path / "copied", streamed=False),
        lambda: correct(driver.query, tmp_path / "copied", CorrectionRange(), no_spark),
        lambda: Driver(driver.query, tmp_path / "copied").run(100),
    ):
        with pytest.raises(Damaged, match=r"entries, and the stream has run \d+ batches") as error:
            read()
        assert "restore all of" in str(error.value)


def test_what_is_lost_is_not_backed_up(tmp_path):
    driver, tables = begin(tmp_path), Tables(Layout.for_query(tmp_path / "wh", "readings"))
    file = driver.layout.table("results") / tables.open("results").file_uris()[0].rpartition("/")[2]
    file.unlink()
    with pytest.raises(Damaged, match=f"{file.name}: it is lost, though the table names it"):
        back_up(driver.layout, tmp_path / "backup")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "wh"]


def test_a_query_that_never_ran_and_a_directory_in_use_are_refused(tmp_path):
    with pytest.raises(Refused, match="never run"):
        back_up(Layout.for_query(tmp_path / "wh", "readings"), tmp_path / "backup")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for output in (tmp_path / "full", tmp_path / "full" / "file"):
        with pytest.raises(Refused, match=r"--output .*(not empty|it is a file)"):
            back_up(Layout.for_query(tmp_path / "wh", "readings"), output)
    with pytest.raises(Refused, match="object store"):
        back_up(Layout.for_query("s3://bucket/wh", "readings"), tmp_path / "backup")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A backup."""
    home = tmp_path_factory.mktemp("made")
    back_up(begin(home).layout, home / "backup")
    return home / "backup"


def changed(made: Path, home: Path, **values: object) -> Path:
    """A copy of a backup whose manifest has other values."""
    copy = shutil.copytree(made, home / "backup")
    manifest = json.loads((copy / "backup.json").read_text())
    (copy / "backup.json").write_text(json.dumps(manifest | values))
    return copy


def assert_refused(backup: Path, home: Path, kind: type[Refused], wrong: str) -> None:
    with pytest.raises(kind, match=wrong):
        restore(backup, home / "restored")
    assert not (home / "restored").exists() or not [*(home / "restored").iterdir()]


def test_a_backup_that_lacks_a_file_or_was_changed_is_refused(made, tmp_path):
    copy = changed(made, tmp_path)
    file = next((copy / "readings" / "results").glob("*.parquet"))
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    assert_refused(copy, tmp_path, Damaged, f"{file.name}: it has .* bytes, and had")
    file.write_bytes(content[:-9] + b"x" + content[-8:])
    assert_refused(copy, tmp_path, Damaged, f"{file.name}: its content has changed")
    file.unlink()
    assert_refused(copy, tmp_path, Damaged, f"{file.name}: this file of the backup is lost")
    file.symlink_to("/etc/passwd")
    assert_refused(copy, tmp_path, Damaged, f"{file.name}: this file of the backup is lost")


@pytest.mark.parametrize(
    ("values", "kind", "wrong"),
    [
        ({"format": 8, "version": "0.1"}, Refused, "tailrace 0.1 made it: format 8, here"),
        ({"files": {"../../out": [0, ""]}}, Damaged, "names files outside"),
        ({"files": {"/out": [0, ""]}}, Damaged, "names files outside"),
        ({"query": "../out"}, Damaged, "names files outside"),
        ({"files": {"file": 1}}, Damaged, "it is damaged"),
        ({"files": []}, Damaged, "it is damaged"),
        ({"more": 1}, Damaged, "it is damaged"),
    ],
)
def test_a_manifest_that_can_be_none_is_refused(made, tmp_path, values, kind, wrong):
    assert_refused(changed(made, tmp_path, **values), tmp_path, kind, wrong)


def test_a_target_that_has_the_query_and_a_directory_without_a_backup_are_refused(made, tmp_path):
    restore(made, tmp_path / "restored")
    before = sorted((tmp_path / "restored").rglob("*"))
    with pytest.raises(Refused, match="the warehouse has this query already") as error:
        restore(made, tmp_path / "restored")
    assert f"mv {tmp_path / 'restored' / 'readings'}" in str(error.value)
    assert sorted((tmp_path / "restored").rglob("*")) == before
    assert_refused(tmp_path / "restored", tmp_path / "other", Refused, "it is no backup")
    (tmp_path / "backup").mkdir()
    (tmp_path / "backup" / "backup.json").write_text("{")
    assert_refused(tmp_path / "backup", tmp_path / "other", Damaged, "it is damaged")


def test_a_restore_that_fails_leaves_nothing_and_can_be_run_again(made, tmp_path, monkeypatch):
    from tailrace.storage import restore as module

    with monkeypatch.context() as patch:
        patch.setattr(module, "copy_file", lambda source, target: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            restore(made, tmp_path / "restored")
    assert [*(tmp_path / "restored").iterdir()] == []
    (tmp_path / "restored" / ".readings.restored.new").mkdir()  # of one that was killed
    restore(made, tmp_path / "restored")
    assert [path.name for path in (tmp_path / "restored").iterdir()] == ["readings"]
