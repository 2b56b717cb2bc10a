"""Refusals of a place alone name the field of the query file that says where it is, with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.ground.errors import Problem, Refused, SourceChanged
from tailrace.query.loading import load, located
from tailrace.query.place_fields import with_place_fields

QUERY = """\
name: near
kind: spatial_join
streams:
  left:
    source: {format: csv, path: in}
    event_time: at
    id: id
    lookup:
      makers: {path: in/makers.csv, key: maker, columns: [country]}
spatial_join:
  join: table
  relation: within
  geometry: {left: {x: lon, y: lat}}
  table: {path: zones.csv, id: name, geometry: geom}
"""


@pytest.fixture
def file(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "query.yaml").write_text(QUERY)
    return Path("query.yaml")


def where(file: Path, place: str, type_: type[Refused] = Refused) -> str:
    with pytest.raises(type_) as info, located(file):
        raise type_([Problem(place, "there is no such file", "one")])
    return info.value.problems[0].where


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ("in", "5: streams.left.source.path"),
        ("in/2026/1.csv", "5: streams.left.source.path"),
        ("in/makers.csv", "9: streams.left.lookup.makers.path"),
        ("zones.csv", "14: spatial_join.table.path"),
        ("zones.csv: row 7", "14: spatial_join.table.path"),
    ],
)
def test_the_field_of_a_place_is_named_with_its_line(file, place, field):
    absolute = f"{Path.cwd()}/{place}"
    assert where(file, absolute) == f"query.yaml:{field}: {absolute}"
    assert where(file, absolute, SourceChanged) == f"query.yaml:{field}: {absolute}"


@pytest.mark.parametrize("place", ["/elsewhere", "--input left=in", "in", "s3://in/a"])
def test_another_place_stays_as_it_is(file, place):
    assert where(file, place) == place


def test_a_place_whose_name_begins_as_another_one_is_another_place(file):
    assert where(file, f"{Path.cwd()}/inner") == f"{Path.cwd()}/inner"


def test_problems_of_a_query_file_below_a_place_keep_their_line(file):
    own = Problem(f"{Path.cwd()}/in/query.yaml:5: window", "it is missing", "one")
    whole = Problem(f"{Path.cwd()}/in/query.yaml:1", "holds no fields", "fields")
    assert with_place_fields([own, whole], load(file)) == (own, whole)


def test_a_file_that_is_no_query_any_more_leaves_the_refusal(file):
    file.write_text("name: other\n")
    assert where(file, f"{Path.cwd()}/in") == f"{Path.cwd()}/in"


def test_a_source_that_was_deleted_is_refused_with_its_line(file, tailrace):
    (Path.cwd() / "zones.csv").write_text('name,geom\ncentre,"POLYGON((0 0,2 0,2 2,0 2,0 0))"\n')
    file.write_text(
        QUERY.replace("    lookup:\n      makers: {path: in/makers.csv, key: maker, columns: [country]}\n", "")
    )
    expected = f"query.yaml:5: streams.left.source.path: {Path.cwd()}/in: there is no such file or directory"
    assert expected in tailrace("validate", file, "--source", code=2).stderr
    run = tailrace("run", file, "--engine", "local", "--warehouse", "out", "--bounded", code=2)
    assert expected in run.stderr
