"""A query's answers by its name: the table `current`, by parts, in order."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kit.runs.current_tables import Desk, with_corrections
from kit.runs.warehouse import EPOCH
from tailrace.cli.commands import app
from tailrace.delivery.reading import read_current
from tailrace.ground.errors import Damaged, Refused
from tailrace.storage.answer_range import ALL, AnswerRange
from tailrace.storage.results import read_answers

SOME = AnswerRange(EPOCH + 600, EPOCH + 1_500)


@pytest.fixture(scope="module", params=["aggregate", "topk", "emd_join", "spatial window"])
def desk(request, tmp_path_factory) -> Desk:
    desk = with_corrections(request.param, tmp_path_factory.mktemp("current"))
    desk.refresh()
    return desk


@pytest.mark.parametrize("part", [ALL, SOME])
def test_a_part_is_what_the_query_file_gives(desk, part):
    expected, columns = read_answers(desk.driver.query, desk.driver.warehouse, streamed=False, part=part)
    found = read_current(desk.driver.layout, part)
    assert found.column_names == columns
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.select(columns).to_pylist()))
    first = "window_end" if "window_end" in columns else "left_time"
    assert found[first].to_pylist() == sorted(found[first].to_pylist())
    assert found.num_rows > 0


def test_a_key_is_one_of_the_column_key(desk):
    if desk.name != "aggregate":
        with pytest.raises(Refused, match="no column key"):
            read_current(desk.driver.layout, AnswerRange(key="a"))
        return
    assert set(read_current(desk.driver.layout, AnswerRange(key="a"))["key"].to_pylist()) == {"a"}


def test_the_command_takes_a_name(desk):
    warehouse = ["--warehouse", str(desk.driver.warehouse)]
    done = CliRunner().invoke(app, ["results", "readings", *warehouse, "--format", "jsonl"])
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == desk.current().num_rows
    assert "as_of" in json.loads(done.stdout.splitlines()[0])
    for options, fault in {
        ("nobody",): "there is no table current.*\n.*right would be: readings, or the query's file",
        ("readings", "--as-of", "stream"): "--as-of",
    }.items():
        with pytest.raises(Refused, match=fault):
            CliRunner().invoke(app, ["results", *options, *warehouse], catch_exceptions=False)
    empty = ["results", "readings", "--warehouse", str(desk.driver.warehouse / "elsewhere")]
    with pytest.raises(Refused, match=r"another warehouse than .*elsewhere, which has no answers"):
        CliRunner().invoke(app, empty, catch_exceptions=False)


def test_a_lost_file_is_named_with_its_repair(tmp_path):
    desk = with_corrections("aggregate", tmp_path)
    for file in desk.table.glob("*.parquet"):
        file.unlink()
    with pytest.raises(Damaged, match="makes it again from the other tables"):
        read_current(desk.driver.layout, ALL)
