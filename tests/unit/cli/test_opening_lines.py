"""The lines with which a run begins, and that name what it rejected."""

from __future__ import annotations

import pytest

import tailrace as package
from tailrace.api.query import Query
from tailrace.ground.errors import refuse
from tailrace.query.loading import load
from tailrace.stream.opening_lines import awaited, opening_lines, window_zone_lines

QUERY = """name: calls
kind: aggregate
streams:
  calls:
    source: {format: csv, path: calls}
    event_time: at
    arrival_time: came
    id: id
window: 1 min
aggregate: {function: count}
"""
LOCAL = "id,at,came\n1,2026-11-23 08:00:05,2026-11-23 08:00:06\n2,later,2026-11-23 08:00:07\n"
ZONED = LOCAL.replace(":05", ":05Z").replace(":06", ":06Z").replace(":07", ":07+01:00")
AS_UTC = "stream calls: the times of at and came have no offset from UTC, and are read as UTC"


@pytest.fixture
def file(tmp_path):
    """A query over a directory with a file of local times."""
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "1.csv").write_text(LOCAL)
    (tmp_path / "query.yaml").write_text(QUERY)
    return tmp_path / "query.yaml"


def test_times_without_an_offset_are_announced_once_and_rejected_records_have_their_command(tailrace, file):
    warehouse = file.parent / "w h"
    options = "--warehouse", warehouse, "--bounded", "--engine", "local"
    shown = tailrace("run", file, *options).stderr
    assert shown.count("are read as UTC") == 1
    assert shown.index(AS_UTC) < shown.index("batch")
    assert "timezone: Europe/Vienna, for one, below streams.calls" in shown
    assert f"the rejected records: tailrace quarantine calls --warehouse '{warehouse}'" in shown
    assert "quarantine calls" not in tailrace("run", file, *options).stderr, "it read nothing"
    validated = tailrace("validate", file, "--source").stdout
    assert f"attention: {AS_UTC}" in validated


@pytest.mark.parametrize(
    ("text", "zone"), [(ZONED, None), (LOCAL, "Europe/Vienna"), (LOCAL, "UTC"), (ZONED, "Europe/Vienna")]
)
def test_times_whose_zone_is_known_are_not_announced(tailrace, file, text, zone):
    (file.parent / "calls" / "1.csv").write_text(text)
    if zone is not None:
        file.write_text(QUERY.replace("    id: id\n", f"    id: id\n    timezone: {zone}\n"))
    assert "read as UTC" not in tailrace("validate", file, "--source").stdout


def test_numbers_and_zoned_timestamps_state_their_zone_and_other_timestamps_do_not(file):
    query = load(file)
    for dtype, is_announced in {"int64": 0, "timestamp[us, tz=UTC]": 0, "timestamp[ms]": 1}.items():
        assert len([*opening_lines(query, {"calls": {"at": dtype}})]) == is_announced


OF_BERLIN = QUERY.replace("    id: id\n", "    id: id\n    timezone: Europe/Berlin\n").replace("1 min", "1 d")


def test_days_of_utc_beside_times_of_another_zone_are_announced_once(tailrace, file):
    said = (
        "stream calls has timezone Europe/Berlin, and the window states none: windows of 1 d begin at midnight of UTC; "
        "days, weeks, months of Europe/Berlin: window: {size: 1 d, timezone: Europe/Berlin}"
    )
    file.write_text(OF_BERLIN)
    assert tailrace("validate", file).stdout.count(f"attention: {said}\n") == 1
    assert tailrace("validate", file, "--source").stdout.count(said) == 1
    options = "--warehouse", file.parent / "wh", "--bounded", "--engine", "local"
    shown = tailrace("run", file, *options).stderr
    assert shown.count(said) == 1
    assert shown.index(said) < shown.index("batch")


def test_a_run_in_python_says_how_its_times_are_read(file):
    file.write_text(OF_BERLIN)
    run = package.load(file, warehouse=str(file.parent / "wh")).run()
    assert "windows of 1 d begin at midnight of UTC" in repr(run)
    assert "windows of 1 d begin at midnight of UTC" in run._repr_html_()


@pytest.mark.parametrize(
    ("window", "zone", "is_announced"),
    [
        ("1 h", "Europe/Berlin", False),
        ("{size: 7 d, slide: 1 d}", "Europe/Berlin", True),
        ("{size: 1 d, timezone: Europe/Berlin}", "Europe/Berlin", False),
        ("{size: 1 d, timezone: UTC}", "Europe/Berlin", False),
        ("{size: 1 d, offset: -1 h}", "Europe/Berlin", False),
        ("{session: 2 d}", "Europe/Berlin", False),
        ("2 d", "Europe/Berlin", True),
        ("25 h", "Europe/Berlin", False),
        ("{size: 1 d, slide: 1 h}", "Europe/Berlin", False),
        ("1 d", "UTC", False),
        ("1 d", "Africa/Abidjan", False),
        ("1 d", "Europe/London", True),
    ],
)
def test_only_days_whose_zone_nobody_chose_are_announced(file, window, zone, is_announced):
    text = OF_BERLIN.replace("window: 1 d", f"window: {window}").replace(
        "timezone: Europe/Berlin\nwin", f"timezone: {zone}\nwin"
    )
    file.write_text(text)
    assert len([*window_zone_lines(load(file))]) == is_announced
    file.write_text(QUERY.replace("1 min", "1 d"))
    assert [*window_zone_lines(load(file))] == []


def test_a_live_run_says_what_it_waits_for(tailrace, file, monkeypatch):
    def run(self: Query, **_: object) -> None:
        raise refuse("here", "this run is over", "nothing")

    monkeypatch.setattr(Query, "run", run)
    waits = f"live: reads what is there, then waits for new files in {file.parent / 'calls'}; Ctrl-C stops\n"
    options = "--warehouse", file.parent / "wh", "--engine", "local"
    assert tailrace("run", file, *options, code=2).stderr.startswith(waits)
    assert "live" not in tailrace("run", file, *options, "--bounded", code=2).stderr


def test_from_one_file_nothing_more_comes(file):
    file.write_text(QUERY.replace("path: calls", "path: calls/1.csv"))
    assert [*awaited(load(file))] == [
        "live: reads what is there, then waits; Ctrl-C stops",
        f"{file.parent / 'calls' / '1.csv'} is one file: nothing more comes; --bounded ends at its end, and a "
        "directory takes new files",
    ]


@pytest.mark.parametrize(
    ("source", "awaits"),
    [
        ("{format: kafka, servers: 'broker:9092', topic: calls}", "new records of kafka://broker:9092/calls"),
        ("{format: csv, path: 's3://bucket/calls'}", "new files in s3://bucket/calls"),
    ],
)
def test_a_topic_brings_records_and_a_bucket_files(file, source, awaits):
    file.write_text(QUERY.replace("{format: csv, path: calls}", source))
    assert awaits in next(awaited(load(file)))
