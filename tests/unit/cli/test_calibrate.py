"""The command `tailrace calibrate`: what it tells, and when it is content with nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from played import Played
from tailrace.cli.commands import main
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposals
from warehouse import even, make_stream, write_files

TUPLES = make_stream(3000, seed=4)


def declare(place: Path, **disorder: object) -> Path:
    stream = {"source": {"format": "parquet", "path": "in"}, "event_time": "event_time", "id": "id", "key": "key"}
    query = {
        "name": "readings",
        "kind": "aggregate",
        "streams": {"readings": stream | {"arrival_time": "arrival_time"}},
        "window": {"size": "700 ms", "slide": "300 ms"},
        "disorder": {"tick": "100 ms"} | disorder,
        "aggregate": {"function": "count"},
    }
    file = place / "readings.yaml"
    file.write_text(yaml.safe_dump(query))
    return file


@pytest.fixture
def calibrate(tmp_path, capsys, monkeypatch):
    """Run the command in this process, over tmp_path/wh; gives what it told: stdout and stderr."""

    def run(file: Path, *options: str, code: int = 0) -> tuple[str, str]:
        words = ["tailrace", "calibrate", str(file), "--warehouse", str(tmp_path / "wh"), *options]
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert (ended.value.code or 0) == code, told
        return told.out, told.err

    return run


def stream(file: Path, tuples=TUPLES) -> None:
    write_files(tuples, file.parent / "in", even(len(tuples), 3))
    Played(load(file), file.parent / "wh").go()


def test_it_shows_what_each_duration_gives_and_what_follows(calibrate, tmp_path):
    file = declare(tmp_path, policy="cache_duration", initial="2 s", durations=5)
    stream(file)
    told, _ = calibrate(file, "--dry-run")
    rows = [line for line in told.splitlines() if line.startswith("│")]
    durations = [row.split("│")[1].strip() for row in rows]
    assert durations == ["800 ms", "1600 ms", "2400 ms", "3200 ms", "4 s"]
    enough = [row.split("│")[4].strip() for row in rows]
    assert set(enough) == {"yes", "no"}
    assert enough == sorted(enough), "no comes before yes"
    k = durations[enough.index("yes")]
    assert "calibrated over 30 windows up to 2020-01-01T00:0" in told
    assert "searched (0 ms, 4 s], next (" in told
    assert f"; K = {k} would be proposed, and nothing was written" in told
    assert not (tmp_path / "wh" / "readings" / "proposals").exists()
    told, _ = calibrate(file)
    assert f"; K = {k} proposed" in told
    declared = load(file).policy
    assert Proposals(Layout.of(tmp_path / "wh", "readings")).newest(declared).settings == (
        load(declare(tmp_path, policy="cache_duration", initial=k, durations=5)).policy.model_dump_json()
    )


def test_any_policy_can_be_surveyed_and_only_one_takes_what_was_found(calibrate, tmp_path):
    file = declare(tmp_path, policy="k_slack", k="300 ms")
    stream(file)
    told, _ = calibrate(file, "--dry-run")
    assert "K in force: 300 ms" in told
    assert "nothing is proposed: only policy cache_duration takes up what calibrations find" in told
    _, told = calibrate(file, code=2)
    assert "k_slack takes no proposal" in told
    assert "--dry-run" in told


def test_where_there_is_too_little_it_is_refused_unless_one_is_content_with_that(calibrate, tmp_path):
    file = declare(tmp_path, policy="cache_duration")
    write_files(TUPLES[:50], tmp_path / "in", [0, 50])
    _, told = calibrate(file, code=2)
    assert "never run in this warehouse" in told
    Played(load(file), tmp_path / "wh").go()
    _, told = calibrate(file, code=2)
    assert "takes 30 windows" in told
    _, told = calibrate(file, "--if-ready")
    assert "nothing is proposed yet: it takes 30 windows" in told
    assert not (tmp_path / "wh" / "readings" / "proposals").exists()
