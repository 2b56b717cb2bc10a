"""The page docs/first-query.md: its file and its commands, from a dirty and late CSV to corrected answers."""

from __future__ import annotations

import csv
import re
import shlex
from collections import Counter
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "first-query.md").read_text()
(SAMPLE,) = re.findall(r"^```csv[^\n]*\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FIRST, NEXT = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_commands_of_the_page_lead_from_the_file_to_its_answers(tmp_path, monkeypatch, tailrace):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "readings.csv").write_text(SAMPLE)
    shown = tailrace(*shlex.split(FIRST)[1:]).stdout
    first, *_ = shown.splitlines()
    assert "1 of 8 records go to quarantine" in first
    assert "line 7" in first
    pasted = [line.strip() for line in shown.splitlines() if line.startswith("  tailrace ")]
    assert pasted == NEXT.splitlines()
    for line in pasted:
        output = tailrace(*shlex.split(line)[1:])
    assert "hall" in output.stdout
    tailrace("results", "query.yaml", "--warehouse", "warehouse", "--format", "parquet", "--output", "answers.parquet")
    answers = pq.read_table("answers.parquet").to_pylist()
    size_ms = int((answers[0]["window_end"] - answers[0]["window_start"]).total_seconds() * 1000)
    zone = ZoneInfo("Europe/Berlin")
    times = [(row["sensor"], row["when"]) for row in csv.DictReader(SAMPLE.splitlines()) if row["when"] != "yesterday"]
    truth = Counter(
        (sensor, int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000) // size_ms)
        for sensor, text in times
    )
    found = {(row["key"], int(row["window_start"].timestamp() * 1000) // size_ms): row["records"] for row in answers}
    assert found == truth
    assert sum(found.values()) == 7


@pytest.mark.needs("process")
def test_validate_and_doctor_of_the_page_say_what_it_promises(tmp_path, monkeypatch, tailrace):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "readings.csv").write_text(SAMPLE)
    tailrace(*shlex.split(FIRST)[1:])
    commands = re.findall(r"`(tailrace (?:validate|doctor) [^`]+)`", PAGE)
    assert len(commands) == 2
    validated, checked = (tailrace(*shlex.split(command)[1:]) for command in commands)
    assert "the first of them: readings.csv, line 7: " in validated.stdout
    assert "ok      query: " in checked.stdout
