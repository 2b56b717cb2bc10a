"""The command `tailrace calibrate`: its output, dry runs and refusals."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from local_driver import Driver
from tailrace.ground.duration import format_duration, parse_duration
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposals
from warehouse import even, make_stream, write_files

TUPLES = make_stream(3000, seed=4)


def declare(directory: Path, **disorder: object) -> Path:
    stream = {"source": {"format": "parquet", "path": "in"}, "event_time": "event_time", "id": "id", "key": "key"}
    query = {
        "name": "readings",
        "kind": "aggregate",
        "streams": {"readings": stream | {"arrival_time": "arrival_time"}},
        "window": {"size": "700 ms", "slide": "300 ms"},
        "disorder": {"tick": "100 ms"} | disorder,
        "aggregate": {"function": "count"},
    }
    file = directory / "readings.yaml"
    file.write_text(yaml.safe_dump(query))
    return file


@pytest.fixture
def calibrate(tailrace, tmp_path):
    """Run the command over the warehouse tmp_path/wh; return its stdout and stderr."""

    def run(file: Path, *options: str, code: int = 0) -> tuple[str, str]:
        output = tailrace("calibrate", file, "--warehouse", tmp_path / "wh", *options, code=code)
        return output.stdout, output.stderr

    return run


def stream(file: Path, tuples=TUPLES) -> None:
    write_files(tuples, file.parent / "in", even(len(tuples), 3))
    Driver(load(file), file.parent / "wh").run()


def test_the_accuracy_of_each_duration_and_the_proposed_k_are_printed(calibrate, tmp_path):
    file = declare(tmp_path, policy="cache_duration", initial="2 s", durations=5)
    stream(file)
    output, _ = calibrate(file, "--dry-run")
    rows = [line for line in output.splitlines() if line.startswith("│")]
    durations = [row.split("│")[1].strip() for row in rows]
    assert durations == ["800 ms", "1600 ms", "2400 ms", "3200 ms", "4000 ms"]
    sufficient = [row.split("│")[4].strip() for row in rows]
    assert set(sufficient) == {"yes", "no"}
    assert sufficient == sorted(sufficient), "no comes before yes"
    k = format_duration(parse_duration(durations[sufficient.index("yes")]) // timedelta(milliseconds=1))
    assert "calibrated over 30 windows up to 2020-01-01T00:0" in output
    assert "searched (0 ms, 4 s], next (" in output
    assert f"; K = {k} would be proposed, and nothing was written" in output
    assert not (tmp_path / "wh" / "readings" / "proposals").exists()
    output, _ = calibrate(file)
    assert f"; K = {k} proposed" in output
    declared = load(file).policy
    assert Proposals(Layout.of(tmp_path / "wh", "readings")).newest(declared).settings == (
        load(declare(tmp_path, policy="cache_duration", initial=k, durations=5)).policy.model_dump_json()
    )


def test_every_policy_can_be_surveyed_but_only_cache_duration_takes_proposals(calibrate, tmp_path):
    file = declare(tmp_path, policy="k_slack", k="300 ms")
    stream(file)
    output, _ = calibrate(file, "--dry-run")
    assert "K in force: 300 ms" in output
    assert "nothing is proposed: only policy cache_duration takes up what calibrations find" in output
    _, output = calibrate(file, code=2)
    assert "k_slack takes no proposal" in output
    assert "--dry-run" in output


def test_too_few_windows_are_refused_unless_the_option_if_ready_is_set(calibrate, tmp_path):
    file = declare(tmp_path, policy="cache_duration")
    write_files(TUPLES[:50], tmp_path / "in", [0, 50])
    _, output = calibrate(file, code=2)
    assert "never run in this warehouse" in output
    Driver(load(file), tmp_path / "wh").run()
    _, output = calibrate(file, code=2)
    assert "takes 30 windows" in output
    _, output = calibrate(file, "--if-ready")
    assert "nothing is proposed yet: it takes 30 windows" in output
    assert not (tmp_path / "wh" / "readings" / "proposals").exists()
