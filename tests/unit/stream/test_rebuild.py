"""A stream is rebuilt from its journal and history, without its source: no answer is lost, doubled or wrong."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kit.fakes.memory_bucket import memory_bucket
from kit.oracles.oracle import Settings, batch, stream
from kit.oracles.oracle_assertions import assert_close, assert_streamed
from kit.runs.deaths import deaths
from kit.runs.json_stream import POISON, records_of, write_json
from kit.runs.local_driver import FILE, NOW, Driver, no_spark
from kit.runs.warehouse import make_query, make_stream, rows_of, tables_of
from tailrace.cli.commands import app
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.errors import Busy, Damaged, Refused
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage import switch as switching
from tailrace.storage.layout import Layout
from tailrace.storage.results import AnswerTables
from tailrace.stream import rebuild as rebuilding
from tailrace.stream.rebuild import plan_rebuild

TUPLES = make_stream(120, seed=4)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 200))
WIDER = Settings(900, 300, 100, "max", ("k_slack", 200))
OTHER_TICK = Settings(500, 100, 250, "sum", ("k_slack", 200))


class Life:
    """A stream that reads JSON, ten tuples and a poisoned record a file, and whose files go once they are read."""

    def __init__(self, home: Path, parallelism: int = 2) -> None:
        self.home, self.files = home, 0
        self.driver = Driver(self.query(SETTINGS, parallelism), home / "wh")

    def query(self, settings: Settings, parallelism: int = 2) -> Query:
        return make_query(self.home / "in", settings, parallelism, source="json")

    def write(self, number: int) -> None:
        poison = [POISON] if number % 3 == 0 else []  # not every batch has rows for quarantine
        write_json([*records_of(TUPLES[10 * number : 10 * number + 10]), *poison], self.home / "in", number)

    @property
    def poisoned(self) -> int:
        return (self.files + 2) // 3

    def read(self, files: int, flush: bool = False, removes: bool = True) -> None:
        for number in range(self.files, self.files + files):
            self.write(number)
        self.driver.run(25, flush)
        self.files += files
        if removes:
            for file in (self.home / "in").iterdir():
                file.unlink()

    def correct(self) -> None:
        correct(self.driver.query, self.home / "wh", CorrectionRange(), no_spark)

    def assert_streamed(self, settings: Settings, flush: bool = False) -> None:
        rows = rows_of(self.home / "wh", "results", "late", "metrics", "segments", "quarantine", "history")
        tuples = TUPLES[: 10 * self.files]
        assert_streamed(rows, stream(tuples, settings, flush=flush))
        assert sorted(row["id"] for row in rows["history"]) == sorted(item.id for item in tuples)
        assert len({row["position"] for row in rows["quarantine"]}) == len(rows["quarantine"]) == self.poisoned
        assert all("id is null" in row["reason"] for row in rows["quarantine"])
        assert sum(row["rows"] for row in rows["segments"]) == len(tuples) + self.poisoned

    def assert_corrected(self, settings: Settings) -> None:
        self.correct()
        answers = AnswerTables(tables_of(self.home / "wh"), build(self.driver.query).answers).latest().to_pylist()
        found = {(row["key"], row["window_start"], row["window_end"]): row["value"] for row in answers}
        expected = batch(TUPLES[: 10 * self.files], settings)
        assert len(found) == len(answers)
        assert found.keys() == expected.keys()
        for window, version in expected.items():
            assert_close(found[window], version.value, version.sum_abs)


@pytest.fixture
def life(tmp_path, monkeypatch) -> Life:
    monkeypatch.setattr(Driver, "compact_every", 3)
    return Life(tmp_path)


def test_a_batch_that_only_some_tables_have_is_not_lost_by_two_rebuilds(life, monkeypatch):
    steps = deaths(monkeypatch)
    life.read(4)
    life.write(life.files)
    life.files += 1
    with steps.at("append segments", 1):
        life.driver.run(25)
    for parallelism in (1, 2):
        life.driver.rebuild(life.query(SETTINGS, parallelism))
    life.driver.run(25)
    life.assert_streamed(SETTINGS)


@pytest.mark.needs("long")
def test_another_parallelism_keeps_all_answers_and_goes_on(life):
    life.read(4)
    life.correct()
    for parallelism in (3, 1):
        before = rows_of(life.home / "wh", "results", "corrections", "late", "metrics", "segments")
        life.driver.rebuild(life.query(SETTINGS, parallelism))
        assert rows_of(life.home / "wh", *before) == before
        life.read(3)
        life.assert_streamed(SETTINGS)
        metrics = rows_of(life.home / "wh", "metrics")["metrics"]
        last = max(row["batch"] for row in metrics)
        assert {row["task"] for row in metrics if row["batch"] == last} == set(range(parallelism))
    life.read(1, flush=True)
    life.assert_streamed(SETTINGS, flush=True)
    life.assert_corrected(SETTINGS)


@pytest.mark.needs("long")
@pytest.mark.parametrize("settings", [WIDER, OTHER_TICK], ids=["window", "tick"])
def test_another_structure_answers_everything_anew_and_goes_on(life, settings):
    life.read(4)
    life.correct()
    old = rows_of(life.home / "wh", "results", "corrections", "history")
    with pytest.raises(Refused, match="tailrace rebuild"):
        replace(life.driver, query=life.query(settings)).run(10)
    life.driver.rebuild(life.query(settings))
    assert not tables_of(life.home / "wh").has("corrections")
    life.assert_streamed(settings)
    life.read(3)
    life.assert_streamed(settings)
    life.driver.rebuild(life.query(settings, 3))
    life.read(1, flush=True)
    life.assert_streamed(settings, flush=True)
    life.assert_corrected(settings)
    aside = life.driver.layout.home / "_before" / "1"
    assert {path.name for path in aside.iterdir()} >= {*old, "_stream", "segments", "quarantine"}
    shutil.copytree(aside, life.home / "old" / "readings")
    assert rows_of(life.home / "old", *old) == old


def test_a_lost_checkpoint_is_made_again_from_history(life):
    life.read(5)
    shutil.rmtree(life.driver.layout.checkpoint)
    life.driver.rebuild(life.driver.query)
    life.read(2)
    life.assert_streamed(SETTINGS)


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", ["results", "late", "metrics", "facts"])
def test_a_lost_table_is_made_again_from_history(life, name):
    life.read(5)
    shutil.rmtree(life.driver.layout.table(name))
    with pytest.raises(Damaged, match="tailrace rebuild"):
        life.driver.run(10)
    life.driver.rebuild(life.driver.query)
    life.read(2)
    life.assert_streamed(SETTINGS)


def test_what_was_planned_but_not_written_is_read_from_the_source(life, monkeypatch):
    life.read(2)
    for number in (2, 3):
        life.write(number)
    dying = deaths(monkeypatch)
    with dying.after(3):  # amid the tables of a batch
        life.driver.run(25)
    life.driver.rebuild(life.query(SETTINGS, 3))
    life.driver.run(25)
    life.files = 4
    life.assert_streamed(SETTINGS)


@pytest.mark.needs("long")
@pytest.mark.parametrize(("changed", "every"), [((SETTINGS, 3), 3), ((WIDER, 2), 4)], ids=["parallelism", "window"])
def test_a_rebuild_that_dies_at_any_write_leaves_the_old_stream_or_is_done(life, monkeypatch, changed, every):
    """Die before each third or fourth write; which ones, changes from run to run."""
    life.read(2, removes=False)
    found, rename = deaths(monkeypatch), Path.rename
    write = switching.write_atomically

    def rename_as_a_step(self, target):
        found.step(f"rename {self.name}")
        return rename(self, target)

    def record_as_a_step(*arguments):
        found.step("record")
        return write(*arguments)

    monkeypatch.setattr(Path, "rename", rename_as_a_step)
    monkeypatch.setattr(switching, "write_atomically", record_as_a_step)
    start, query = life.home / "start", life.query(*changed)
    shutil.copytree(life.home / "wh", start)
    with found.after(None):
        first = len(found.taken)
        life.driver.rebuild(query)
        steps = found.taken[first:]
    ends = set()
    for left in range(random.randrange(every), len(steps), every):
        print(f"dies after {left} of {len(steps)} writes")
        shutil.rmtree(life.home / "wh")
        shutil.copytree(start, life.home / "wh")
        life.driver.query = life.query(SETTINGS)
        is_done = False
        with found.after(left):
            life.driver.rebuild(query)
            is_done = True  # it took fewer writes than were counted, so it lives
        if is_done:
            pass
        elif life.driver.layout.switch.exists():
            ends.add("half")
            with pytest.raises(Busy, match="tailrace rebuild"):
                life.driver.run(25)
            life.driver.rebuild(query)
        else:
            ends.add("old")
            life.assert_streamed(SETTINGS)
            life.driver.query = life.query(SETTINGS)
            life.driver.run(25)  # the old stream goes on as if nothing had been
            life.driver.rebuild(query)
        life.driver.run(25)
        life.assert_streamed(changed[0])
        assert not (life.driver.layout.home / "_built").exists()
    assert ends == {"old", "half"}


def test_it_waits_for_nobody(life):
    life.read(2)
    for writer in ("stream", "correction", "calibration"):
        with life.driver.layout.lock(writer), pytest.raises(Busy):
            life.driver.rebuild(life.query(SETTINGS, 3))


def test_times_of_ingest_stay_where_records_bring_none(life):
    def query(settings: Settings, parallelism: int) -> Query:
        return make_query(life.home / "in", settings, parallelism, source="json", arrival_time=None)

    life.driver = Driver(query(SETTINGS, 2), life.home / "wh")
    life.read(2)
    life.driver.rebuild(query(SETTINGS, 3))
    life.read(1)
    life.driver.rebuild(query(WIDER, 1))
    life.read(1, flush=True)
    rows = rows_of(life.home / "wh")
    ingested = [item._replace(arrival_time=NOW) for item in TUPLES[:40]]
    assert_streamed(rows, stream(ingested, WIDER))


def test_a_plan_writes_nothing_and_tells_how_much_is_run_again(life):
    life.read(4)
    before = sorted(str(path) for path in life.home.rglob("*"))
    for settings, parallelism in ((SETTINGS, 3), (WIDER, 2)):
        planned = plan_rebuild(life.query(settings, parallelism), life.driver.layout, FILE)
        assert (planned.rows, planned.stored_rows, planned.batches) == (42, 42, 1)
    assert sorted(str(path) for path in life.home.rglob("*")) == before


def test_the_command_tells_what_it_would_do(life, capsys):
    life.read(4)
    columns = "event_time: event_time, arrival_time: arrival_time, id: id, key: key"
    source = f"source: {{format: json, path: {life.home / 'in'}}}"
    declaration = [
        "name: readings",
        "kind: aggregate",
        f"streams: {{readings: {{{source}, {columns}}}}}",
        "aggregate: {function: sum, column: value}",
        "disorder: {policy: k_slack, k: 200 ms, tick: 100 ms}",
    ]
    for parallelism, window, expected in (
        (3, "500 ms", "parallelism: 2 → 3\na new checkpoint; all answers and corrections stay as they are\n"),
        (2, "1 s", "window.size: 500 ms → 1 s\neverything is answered again; "),
    ):
        file = life.home / "readings.yaml"
        changed = [f"parallelism: {parallelism}", f"window: {{size: {window}, slide: 100 ms}}"]
        file.write_text("\n".join([*declaration, *changed]))
        app(["rebuild", str(file), "--warehouse", str(life.home / "wh"), "--dry-run"], standalone_mode=False)
        told = capsys.readouterr().out
        assert told.startswith(expected)
        assert told.endswith("42 rows in 1 batch, 42 of them from history\n")


def test_history_that_lacks_something_is_a_loud_refusal(life):
    life.read(4)
    history = life.driver.layout.table("history")
    lost = next(path for path in sorted(history.rglob("*.parquet")) if _is_named(history, path))
    lost.unlink()
    with pytest.raises(Damaged, match=f"{lost.name}: this file of history is lost"):
        life.driver.rebuild(life.query(WIDER))
    assert not life.driver.layout.switch.exists()


def test_quarantine_that_lacks_something_is_a_loud_refusal(life):
    life.read(4)
    tables_of(life.home / "wh").replace("quarantine", tables_of(life.home / "wh").read("quarantine")[:0], "reason", "x")
    tables = tables_of(life.home / "wh")
    position = tables.read("quarantine").column("position")[0].as_py()
    tables.replace("quarantine", tables.read("quarantine")[:0], "position", position)
    with pytest.raises(Damaged, match="neither history nor quarantine has it"):
        life.driver.rebuild(life.query(WIDER))
    assert not life.driver.layout.switch.exists()


def test_a_column_that_history_lacks_is_read_from_the_source(life):
    life.read(3, removes=False)
    other = make_query(life.home / "in", SETTINGS, source="json", key=None)
    keyed = [item._replace(key=None) for item in TUPLES]
    life.driver.rebuild(other)
    rows = rows_of(life.home / "wh", "results", "late", "quarantine")
    assert_streamed(rows, stream(keyed[:30], SETTINGS, flush=False))
    assert len(rows["quarantine"]) == 1
    gone = min((life.home / "in").iterdir())
    gone.unlink()
    with pytest.raises(Refused, match=f"{gone.name}: the stream has read it; history has only"):
        life.driver.rebuild(life.query(SETTINGS))


def test_a_rebuild_that_died_does_not_hide_the_source_from_the_next_one(life, monkeypatch):
    life.driver.query = make_query(life.home / "in", SETTINGS, source="json", key=None)
    life.read(3, removes=False)
    with deaths(monkeypatch).at("state", 1):
        life.driver.rebuild(life.query(SETTINGS))
    life.driver.rebuild(life.query(SETTINGS))
    life.assert_streamed(SETTINGS)


def test_what_can_not_be_rebuilt_is_refused(life):
    with pytest.raises(Refused, match="the query has no stream here"):
        life.driver.rebuild(life.driver.query)


def _is_named(table: Path, file: Path) -> bool:
    from deltalake import DeltaTable

    return any(path.endswith(str(file.relative_to(table))) for path in DeltaTable(table).file_uris())


@pytest.mark.parametrize("dry", [True, False])
def test_a_warehouse_in_a_bucket_is_refused(tmp_path, monkeypatch, dry):
    home = memory_bucket(monkeypatch)
    query, layout = make_query(tmp_path, SETTINGS), Layout.for_query(str(home), "readings")
    with pytest.raises(Refused, match="in an object store, where this can't be done"):
        plan_rebuild(query, layout, FILE) if dry else rebuilding.rebuild(query, layout, FILE, None, pytest.fail)
    assert not list(home.iterdir())
