"""The examples: each one runs by the commands of its page, and its corrected answers are those of its SQL in DuckDB."""

from __future__ import annotations

import csv
import io
import re
import shlex
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).parents[3] / "include" / "examples"
EXAMPLES = sorted(path.parent.name for path in ROOT.glob("*/query.yaml"))
LOCAL_SOURCES = {
    "kafka": ("{format: kafka, servers: 'localhost:9092', topic: payments}", "{format: json, path: data}"),
    "object_store": (
        "{format: parquet, path: 's3://readings/data', connection: store}",
        "{format: parquet, path: data}",
    ),
}
"""The source of a query that needs a server, and a local one with the same records."""

pytestmark = pytest.mark.slow

COMMAND = re.compile(r"^    (tailrace .*)$", re.MULTILINE)
ANSWERS = re.compile(r"^```csv(| before| after)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIGITS = 9


@pytest.fixture
def example(tmp_path, monkeypatch, request):
    """A copy of an example with a local source, as the working directory."""
    home = tmp_path / request.param
    shutil.copytree(ROOT / request.param, home)
    monkeypatch.chdir(home)
    if request.param in LOCAL_SOURCES:
        declared = (home / "query.yaml").read_text()
        assert LOCAL_SOURCES[request.param][0] in declared
        (home / "query.yaml").write_text(declared.replace(*LOCAL_SOURCES[request.param]))
    return home


@pytest.mark.needs("long")
@pytest.mark.parametrize("example", EXAMPLES, indirect=True)
def test_an_example_runs_as_its_page_says_and_answers_as_its_sql_does(example, tailrace):
    page = (example / "README.md").read_text()
    commands = [shlex.split(command)[1:] for command in COMMAND.findall(page)]
    assert [command[0] for command in commands] == ["run", "results"]
    tailrace(*commands[0])
    streamed, corrected = (
        answers_of(tailrace(*commands[1], "--format", "csv", "--as-of", as_of).stdout)
        for as_of in ("stream", "corrected")
    )
    shown = {" before": streamed - corrected, " after": corrected - streamed, "": streamed & corrected}
    written = ANSWERS.findall(page)
    assert written
    for when, answers in written:
        assert answers_of(answers) <= shown[when]
    tailrace(*commands[1], "--format", "parquet", "--output", "answers.parquet")
    expected, columns = rows_of((example / "expected.sql").read_text())
    given, _ = rows_of(f"SELECT {', '.join(columns)} FROM 'answers.parquet'")
    assert len(given) >= 12
    assert given == expected


def answers_of(text: str) -> set[tuple[object, ...]]:
    """Return the lines of a CSV text; numbers as they are compared."""
    return {tuple(_number(cell) for cell in line) for line in csv.reader(io.StringIO(text))}


def _number(cell: str) -> object:
    try:
        return _plain(float(cell))
    except ValueError:
        return cell


def rows_of(sql: str) -> tuple[list[tuple[object, ...]], list[str]]:
    """Return the rows of a query in DuckDB, sorted, and its columns; times in UTC, doubles to nine digits."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        result = connection.execute(sql)
        columns = [column[0] for column in result.description]
        return sorted(tuple(map(_plain, row)) for row in result.fetchall()), columns


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else str(value)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_small(name, tailrace):
    assert sum(file.stat().st_size for file in (ROOT / name).rglob("*") if file.is_file()) <= 200_000
    assert tailrace("validate", ROOT / name / "query.yaml").stdout.endswith("no fault found\n")


def test_the_data_of_the_examples_are_made_by_the_script(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.delitem(sys.modules, "make_data", raising=False)
    from make_data import make  # a script in a directory of no package

    (tmp_path / "spatial_table").mkdir()
    make(tmp_path)
    made = {file.relative_to(tmp_path) for file in tmp_path.rglob("*") if file.suffix in (".csv", ".json", ".geojson")}
    for file in made:
        if "_delta_log" not in file.parts:  # it has the time at which it was written
            assert (ROOT / file).read_bytes() == (tmp_path / file).read_bytes(), file
    for path in sorted({file.parent.relative_to(tmp_path) for file in tmp_path.rglob("*.parquet")}):
        rows = [rows_of(f"SELECT * FROM '{directory / path}/*.parquet'") for directory in (ROOT, tmp_path)]
        assert rows[0] == rows[1], path
