"""Refusals of query files that need more than a field's type: paths, near words, schedules that never come."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tailrace.ground.errors import Refused
from tailrace.ground.files.source_roots import VARIABLE
from tailrace.query.loading import load

GOOD = """\
name: flights
kind: aggregate
streams:
  departures: {source: {format: csv, path: in}, event_time: t, id: flight}
window: {size: 1 h, slide: 15 min}
aggregate: {function: avg, column: delay}
correction: {schedule: '@daily'}
"""
STREAM = "source: {format: parquet, path: in}, event_time: t, id: id"
JOIN = f"""\
name: similar
kind: emd_join
streams:
  left: {{{STREAM}}}
  right: {{{STREAM}}}
window: {{size: 5 s}}
emd_join: {{threshold: 0.5, histogram: h, ground_distance: {{matrix: far/m.npy}}}}
"""
TABLE = f"""\
name: districts
kind: spatial_join
streams:
  left: {{{STREAM}}}
spatial_join:
  join: table
  geometry: {{left: {{x: lon, y: lat}}}}
  relation: within
  table: {{path: far/d.geojson, id: name}}
"""


def refusal(directory: Path, text: str) -> str:
    file = directory / "query.yaml"
    file.write_text(text)
    with pytest.raises(Refused) as refused:
        load(file)
    assert len(refused.value.problems) == 1
    return str(refused.value)


@pytest.mark.parametrize(("word", "right"), [("mean", "avg"), ("Average", "avg"), ("maximum", "max")])
def test_a_word_of_other_systems_suggests_ours(tmp_path: Path, word: str, right: str) -> None:
    assert f"right would be: {right} (of " in refusal(tmp_path, GOOD.replace("avg", word))


def test_another_format_of_the_same_family_is_suggested(tmp_path: Path) -> None:
    assert "right would be: json (of " in refusal(tmp_path, GOOD.replace("csv", "jsonl"))


@pytest.mark.parametrize("url", ["s3:///key", "file:///data/in", "HTTPS://example.org/x", "file:in"])
def test_a_url_is_no_path_unless_of_an_object_store(tmp_path: Path, url: str) -> None:
    assert f"{url} is no URL of an object store" in refusal(tmp_path, GOOD.replace("path: in", f"path: '{url}'"))


@pytest.mark.parametrize("schedule", ["0 0 31 2 *", "0 0 30 2 *", "5 4 31 4,6,9,11 *"])
def test_a_schedule_that_never_comes_is_refused(tmp_path: Path, schedule: str) -> None:
    assert "never comes" in refusal(tmp_path, GOOD.replace("@daily", schedule))


@pytest.mark.parametrize(
    "schedule", ["R 0 * * *", "r(0-9) 0 * * *", "0 R/5 * * *", "0 0 R * *", "0 0 1 R *", "0 0 * * r"]
)
def test_a_random_schedule_is_refused_since_airflow_cannot_advance_it(tmp_path: Path, schedule: str) -> None:
    assert "can't step from run to run" in refusal(tmp_path, GOOD.replace("@daily", schedule))


@pytest.mark.parametrize("schedule", ["@reboot", "@yearly", "0 0 1 1 * *", "H 0 * * *", "0 0 * * * 2030"])
def test_a_schedule_of_another_form_is_refused_with_the_forms_that_are_right(tmp_path: Path, schedule: str) -> None:
    message = refusal(tmp_path, GOOD.replace("@daily", schedule))
    assert "is no cron expression" in message
    assert "five fields (minute, hour, day, month, weekday)" in message


def test_the_29th_of_february_comes(tmp_path: Path) -> None:
    file = tmp_path / "query.yaml"
    file.write_text(GOOD.replace("@daily", "0 0 29 2 *"))
    assert load(file).correction.schedule == "0 0 29 2 *"


@pytest.mark.parametrize("text", [GOOD, JOIN, TABLE], ids=["source", "matrix", "table"])
def test_sources_tables_and_matrices_lie_under_the_roots(tmp_path: Path, monkeypatch, text: str) -> None:
    (tmp_path / "far").mkdir()
    np.save(tmp_path / "far" / "m.npy", 1.0 - np.eye(4))
    roots = [tmp_path / "other"] if text is GOOD else [tmp_path / "in"]
    monkeypatch.setenv(VARIABLE, ":".join(map(str, roots)))
    assert "lies under no root of sources" in refusal(tmp_path, text)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert load(tmp_path / "query.yaml").name
