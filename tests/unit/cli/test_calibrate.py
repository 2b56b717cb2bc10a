"""The command `tailrace calibrate`: its output, dry runs and refusals."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from kit.runs.local_driver import Driver
from kit.runs.warehouse import even, make_stream, write_files
from tailrace.calibration.acceptance import to_json
from tailrace.calibration.calibrate import calibrate as measure
from tailrace.calibration.recent_windows import RecentWindows
from tailrace.ground.duration import format_duration, parse_duration
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposals
from tailrace.storage.tables import Tables

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
    assert Proposals(Layout.for_query(tmp_path / "wh", "readings")).newest(declared).settings == (
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


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A directory with a query that has run, and the report of a dry run of its calibration."""
    directory = tmp_path_factory.mktemp("measured")
    file = declare(directory, policy="cache_duration", initial="2 s", durations=5)
    stream(file)
    (directory / "report.json").write_bytes(to_json(measure(load(file), directory / "wh", dry_run=True)))
    return directory


@pytest.fixture
def dry_run(measured, tmp_path):
    """A copy of them: the query's file, and the report's."""
    shutil.copytree(measured, tmp_path, dirs_exist_ok=True)
    return tmp_path / "readings.yaml", tmp_path / "report.json"


def proposals(file: Path) -> list[dict[str, object]]:
    tables = Tables(Layout.for_query(file.parent / "wh", "readings"))
    return tables.read("proposals").to_pylist() if tables.has("proposals") else []


def test_an_accepted_dry_run_proposes_what_the_same_calibration_would_and_measures_nothing(
    calibrate, dry_run, tmp_path, monkeypatch
):
    file, report = dry_run
    shutil.copytree(tmp_path / "wh", tmp_path / "before")
    calibrate(file)
    [expected] = proposals(file)
    shutil.rmtree(tmp_path / "wh")
    (tmp_path / "before").rename(tmp_path / "wh")
    assert proposals(file) == []
    with monkeypatch.context() as patch:
        patch.setattr(RecentWindows, "measure", lambda *_: pytest.fail("it measures"))
        output, _ = calibrate(file, "--accept", report)
    assert "proposed" in output
    assert str(expected["evidence"]) in output
    [accepted] = proposals(file)
    assert accepted | {"made_at": 0} == expected | {"made_at": 0}
    calibrate(file, "--accept", report)
    assert proposals(file) == [accepted], "accepted twice, it is one proposal"


def test_a_dry_run_goes_on_from_an_accepted_one(calibrate, dry_run):
    file, report = dry_run
    calibrate(file, "--accept", report)
    [first] = proposals(file)
    calibrate(file, "--dry-run", "--report", report)
    assert json.loads(report.read_text())["basis"]["previous"] == first["made_at"]
    calibrate(file, "--accept", report)
    assert len(proposals(file)) == 2


def test_a_dry_run_before_a_later_proposal_is_refused(calibrate, dry_run):
    file, report = dry_run
    calibrate(file)
    calibrate(file)
    _, output = calibrate(file, "--accept", report, code=2)
    assert "a later calibration has proposed since: calibrated over" in output
    assert "another dry run" in output
    assert len(proposals(file)) == 2


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"proposed": True}, "it is of no dry run"),
        ({"proposed": None}, "a policy that takes no proposal"),
        ({"basis": {"query": "others"}}, "it is of the query others"),
        ({"basis": {"checkpoint": "another"}}, "begun again since, or rebuilt"),
        ({"basis": {"declared": "{}"}}, "other settings of disorder"),
        ({"basis": {"previous": "then"}}, "no report of a calibration: basis.previous: "),
        ({"measurements": []}, "it has no measurement"),
        ({"up_to": 1 << 62}, "times that are none"),
        ({"next_interval": {"k_ms": -1}}, "times that are none"),
        ({"next_interval": {"k_ms": 1 << 62, "upper_ms": 1 << 62}}, "times that are none"),
        ({"next_interval": {"lower_ms": 1 << 40}}, "times that are none"),
    ],
)
def test_a_report_that_does_not_fit_is_refused_by_its_place_and_proposes_nothing(calibrate, dry_run, change, fault):
    file, report = dry_run
    value = json.loads(report.read_text())
    for name, part in change.items():
        value[name] = value[name] | part if isinstance(part, dict) else part
    report.write_text(json.dumps(value))
    _, output = calibrate(file, "--accept", report, code=2)
    assert f"{report}: " in output
    assert fault in output
    assert proposals(file) == []


def test_a_dry_run_for_other_settings_of_the_policy_is_refused(calibrate, dry_run, tmp_path):
    _, report = dry_run
    file = declare(tmp_path, policy="cache_duration", initial="2 s", durations=6)
    _, output = calibrate(file, "--accept", report, code=2)
    assert "other settings of disorder than the query has now" in output
    file = declare(tmp_path, policy="k_slack", k="300 ms")
    _, output = calibrate(file, "--accept", report, code=2)
    assert "k_slack takes no proposal" in output
    assert proposals(file) == []


@pytest.mark.parametrize("text", ["", "[]", "no JSON", "{}"])
def test_a_file_that_is_no_report_is_refused(calibrate, dry_run, text):
    file, report = dry_run
    report.write_text(text)
    _, output = calibrate(file, "--accept", report, code=2)
    assert f"{report.name}: it is no report of a calibration" in output
    report.unlink()
    _, output = calibrate(file, "--accept", report, code=2)
    assert "it can't be read: No such file" in output


def test_to_accept_goes_with_no_dry_run(calibrate, dry_run):
    file, report = dry_run
    for option in (["--dry-run"], ["--report", report]):
        _, output = calibrate(file, "--accept", report, *option, code=2)
        assert "--accept measures nothing" in output
