"""A lost or damaged log or file of any table is named with the command that repairs it, and that command does."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.json_stream import records_of, write_json
from kit.runs.local_driver import Driver, no_spark
from kit.runs.warehouse import make_query, make_stream, propose, rows_of
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.intervals import corrected_intervals
from tailrace.correction.quality import read_quality
from tailrace.ground.arrow.times import with_times
from tailrace.ground.errors import Damaged, Refused
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage import checkpoint
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposals
from tailrace.storage.results import AnswerTables, read_answers
from tailrace.storage.tables import Tables
from tailrace.tables.correction import CORRECTION_TABLES
from tailrace.tables.stream import STREAM_TABLES

SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 200))
TUPLES = make_stream(120, 2)
TABLES = (*STREAM_TABLES, *CORRECTION_TABLES, "proposals")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A query that has run, was corrected and calibrated."""
    home = tmp_path_factory.mktemp("whole")
    for number in range(4):
        write_json(records_of(TUPLES[30 * number : 30 * number + 30]), home / "in", number)
    query = query_over(home)
    Driver(query, home / "wh").run(30, flush=True)
    correct(query, home / "wh", CorrectionRange(), no_spark)
    propose(query, home / "wh", 300)
    return home


def query_over(home: Path) -> Query:
    return make_query(home / "in", SETTINGS, source="json", calibrated=True)


@pytest.fixture
def layout(whole, tmp_path) -> Layout:
    shutil.copytree(whole / "wh", tmp_path / "wh")
    return Layout.for_query(tmp_path / "wh", "readings")


def readers(layout: Layout, query: Query) -> dict[str, Callable[[], object]]:
    """All that reads a table; by what it reads."""
    warehouse = layout.home.parent
    return {
        "results": lambda: read_answers(query, warehouse, streamed=True),
        "late": lambda: read_answers(query, warehouse, streamed=True),
        "corrections": lambda: read_answers(query, warehouse, streamed=False),
        "correction_runs": lambda: corrected_intervals(Tables(layout)),
        "quality": lambda: read_quality(query, warehouse),
        "proposals": lambda: Proposals(layout).newest(query.policy),
        "history": lambda: correct(query, warehouse, CorrectionRange(), no_spark),
        "segments": lambda: correct(query, warehouse, CorrectionRange(), no_spark),
        "metrics": lambda: correct(query, warehouse, CorrectionRange(), no_spark),
        "facts": lambda: checkpoint.resumable(layout, query),
        "quarantine": lambda: checkpoint.resumable(layout, query),
    }


def lose_file(table: Path) -> str:
    """Remove a file that the table names."""
    file = first_file(table)
    file.unlink()
    return file.name


def lose_log(table: Path) -> str:
    shutil.rmtree(table / "_delta_log")
    return "_delta_log: the table's log is lost"


def lose_commit(table: Path) -> str:
    commits = sorted((table / "_delta_log").glob("*.json"))
    assert len(commits) > 1
    for file in (table / "_delta_log").glob("*checkpoint*"):
        file.unlink()
    commits[0].unlink()
    return "_delta_log: a part of its log is lost or damaged"


def damage_commit(table: Path) -> str:
    for file in (table / "_delta_log").glob("*checkpoint*"):
        file.unlink()
    sorted((table / "_delta_log").glob("*.json"))[-1].write_text('{"add')
    return "_delta_log: a part of its log is lost or damaged"


def first_file(table: Path) -> Path:
    """The first file that a table names."""
    path = pa.table(Tables(Layout(table.parent)).open(table.name).get_add_actions()).column("path")[0].as_py()
    return table / path


def damage_file(table: Path) -> str:
    file = first_file(table)
    file.write_bytes(b"no Parquet")
    return f"{file.name}: it is damaged: it has 10 bytes, and "


def empty_file(table: Path) -> str:
    """Cut a file to nothing, which Delta's library reports as an error of the disk."""
    file = first_file(table)
    file.write_bytes(b"")
    return f"{file.name}: it is damaged: it has 0 bytes, and "


def spoil_file(table: Path) -> str:
    """Overwrite the rows of a file, whose size stays; Arrow reports that as an error of the disk."""
    file = first_file(table)
    content = file.read_bytes()
    end = len(content) * 6 // 10
    file.write_bytes(content[:4] + bytes(end - 4) + content[end:])
    return "a file of it is damaged"


HAS_ROWS = tuple(name for name in TABLES if name not in ("quarantine", "quality"))


FROM_SOURCE = ("history", "segments", "quarantine")
COMMANDS = dict.fromkeys(CORRECTION_TABLES, "tailrace correct") | {"proposals": "tailrace calibrate"}


def advice_of(error: Damaged) -> str:
    return error.problems[0].remedy


@pytest.mark.parametrize("lose", [lose_file, lose_log, lose_commit, damage_commit], ids=lambda lose: lose.__name__)
@pytest.mark.parametrize("name", HAS_ROWS)
def test_what_is_lost_is_named_with_the_command_that_repairs_it(whole, layout, name, lose):
    query, wrong = query_over(whole), lose(layout.table(name))
    with pytest.raises(Damaged, match=wrong) as error:
        readers(layout, query)[name]()
    advice = advice_of(error.value)
    away = f"mv {layout.table(name)} {layout.table(name)}.damaged and "
    drain = "" if name in COMMANDS else "tailrace drain readings, if a driver runs it; then "
    assert advice.startswith(f"{drain}{away}"), "a driver would go on writing what is moved away"
    assert {**COMMANDS, **dict.fromkeys(FROM_SOURCE, "tailrace restore")}.get(name, "tailrace rebuild") in advice
    if name in STREAM_TABLES:  # neither is it gone on with
        with pytest.raises(Damaged, match=wrong):
            checkpoint.resumable(layout, query)


@pytest.mark.parametrize("damage", [damage_file, empty_file, spoil_file], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", ["results", "late", "corrections"])
def test_a_damaged_file_is_named_as_well(whole, layout, name, damage):
    wrong = damage(layout.table(name))
    with pytest.raises(Damaged, match=wrong):
        readers(layout, query_over(whole))[name]()


def test_files_of_another_size_are_counted_and_no_stream_goes_on_with_them(whole, layout):
    for file in layout.table("results").glob("*.parquet"):
        file.write_bytes(b"")
    with pytest.raises(Damaged, match=r"when it was written; \d+ more of the table's files are lost or damaged"):
        checkpoint.resumable(layout, query_over(whole))


def test_a_column_that_a_table_lacks_is_no_damage(whole, layout):
    tables = Tables(layout)
    with pytest.raises(Refused, match=r"late: the table has no column rank\n.* the table is whole") as error:
        tables.read("late", ["tuples", "rank"])
    assert not isinstance(error.value, Damaged)
    rows, path, schema = tables.read("late"), layout.table("late"), tables.schema("late")
    shutil.rmtree(path)
    write_deltalake(path, with_times(rows, schema).drop_columns(["frontier"]))
    answers = AnswerTables(tables, build(query_over(whole)).answers)
    with pytest.raises(Refused, match="late: the table has no column frontier"):
        answers.with_coverage(answers.streamed())


@pytest.mark.parametrize("name", CORRECTION_TABLES)
def test_a_table_of_corrections_that_is_gone_altogether_is_missed(whole, layout, name):
    shutil.rmtree(layout.table(name))
    for streamed in (False, True):
        with pytest.raises(Damaged, match=f"{name}: the table is lost"):
            read_answers(query_over(whole), layout.home.parent, streamed)


def test_a_correction_that_was_killed_while_it_created_its_tables_is_no_loss(whole, layout):
    for name in CORRECTION_TABLES[1:]:
        shutil.rmtree(layout.table(name))
    (layout.table("quality") / "_delta_log").mkdir(parents=True)
    query = query_over(whole)
    read_answers(query, layout.home.parent, streamed=False)
    correct(query, layout.home.parent, CorrectionRange(), no_spark)
    read_answers(query, layout.home.parent, streamed=False)


def follow(advice: str) -> None:
    """Run the commands of an advice that move things away."""
    for before, after in re.findall(r"mv (\S+) ([^ ,]+)", advice):
        shutil.move(before, after)


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", HAS_ROWS)
def test_the_repair_gives_everything_again(whole, layout, name):
    query = query_over(whole)
    before = read_answers(query, layout.home.parent, streamed=False)[0].drop_columns(["emitted_at"])
    lose_log(layout.table(name))
    with pytest.raises(Damaged) as error:
        readers(layout, query)[name]()
    follow(advice_of(error.value))
    driver = Driver(query, layout.home.parent)
    if name in CORRECTION_TABLES:
        correct(query, layout.home.parent, CorrectionRange(), no_spark)
    elif name in FROM_SOURCE:
        driver.run(30, flush=True)
    elif name in STREAM_TABLES:
        driver.rebuild(query)
    assert read_answers(query, layout.home.parent, streamed=False)[0].drop_columns(["emitted_at"]).equals(before)
    assert_streamed(rows_of(layout.home.parent, "results", "late"), stream(TUPLES, SETTINGS))


def test_a_checkpoint_of_a_log_that_is_cut_is_damage(layout):
    tables = Tables(layout)
    tables.compact(["results"])
    (checkpoint,) = (Path(str(layout.table("results"))) / "_delta_log").glob("*.checkpoint.parquet")
    checkpoint.write_bytes(checkpoint.read_bytes()[: checkpoint.stat().st_size // 2])
    with pytest.raises(Damaged, match="a part of its log is lost or damaged"):
        tables.read("results")


def test_what_fails_for_another_reason_is_no_loss(layout, monkeypatch):
    """A disk that is away for a moment: the error comes as it is, and is tried again."""
    tables = Tables(layout)

    def fails(path):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("tailrace.storage.tables.open_table", fails)
        with pytest.raises(OSError, match="Input/output"):
            tables.open("results")
    assert tables.read("results").num_rows
