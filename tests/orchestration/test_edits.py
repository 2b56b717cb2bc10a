"""Edits of a query file while its driver lives: the copy that was deployed is in force, and what differs is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tailrace as package
from kit.fakes.fake_host import QUERY, declare
from tailrace.cli import commands as tailrace
from tailrace.cli import driver_commands as commands
from tailrace.drivers import driver_lifecycle, edits
from tailrace.ground.errors import Damaged, Refused
from tailrace.orchestration import settings
from tailrace.orchestration.settings import Declared
from tailrace.orchestration.stream_notes import next_settings
from tailrace.orchestration.submit import Options, deployed_query, driver_command
from tailrace.query.loading import load
from tailrace.spark import app as stream_app
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout
from tailrace.terminal import screen

DAY = "2026-03-01T08:"
OF_CSV = """name: readings
kind: aggregate
streams:
  records: {{source: {{format: csv, path: in}}, event_time: at, arrival_time: came, id: id}}
window: 1 min
aggregate: {{function: count}}
disorder: {{policy: k_slack, k: {k}}}
"""
EDITED = QUERY.replace("tick: 1 min", "tick: 1 min, idle: 20 s")


@pytest.fixture
def file(place):
    return place / "queries" / "readings.yaml"


@pytest.fixture(autouse=True)
def shell(monkeypatch):
    """The terminal is wide, and Airflow's environment stays that of a task."""
    monkeypatch.setattr(settings, "use_in_shell", lambda: None)
    for console in (screen.out, screen.err):
        monkeypatch.setattr(console, "width", 1000)


def deploy(host, layout, file, options=Options()):  # noqa: B008 (frozen)
    declared = Declared.read(file)
    return driver_lifecycle.deploy(host, layout, ["go"], {}, deployed_query(declared, options))


def test_a_deployment_puts_a_copy_of_the_file_on_record(host, layout, file):
    deploy(host, layout, file)
    on_record = DeployedQuery.read(layout)
    assert on_record.text == file.read_text()
    assert on_record.query() == load(file), "relative paths start where the file is"
    assert Options.from_params(on_record.options) == Options()


def test_a_living_driver_keeps_its_copy_and_a_deployment_says_what_differs(host, layout, file, place):
    deploy(host, layout, file)
    before = DeployedQuery.read(layout)
    declare(place / "queries", "readings", EDITED)
    found = deploy(host, layout, file, Options(batch_rows=7, driver_memory="3g"))
    assert not found.made
    assert [str(each) for each in found.not_in_force] == [
        "disorder.idle: 1 min → 20 s",
        "batch_rows: 4000000 → 7",
        "driver_memory: 2g → 3g",
    ]
    assert DeployedQuery.read(layout) == before
    host.is_now("ended", 0)
    assert deploy(host, layout, file, Options(batch_rows=7)).not_in_force == []
    assert DeployedQuery.read(layout).query().disorder.idle == load(file).disorder.idle


@pytest.mark.parametrize("text", [QUERY, QUERY + "# a remark\n", QUERY.replace("1 min", "60 s")])
def test_what_says_the_same_in_other_words_is_in_force(host, layout, file, place, text):
    deploy(host, layout, file)
    declare(place / "queries", "readings", text)
    assert deploy(host, layout, file).not_in_force == []
    assert edits.warning(layout, file) is None


def test_nothing_is_said_of_a_driver_that_an_earlier_version_has_deployed(host, layout, file, place):
    driver_lifecycle.deploy(host, layout, ["go"], {})
    declare(place / "queries", "readings", EDITED)
    assert deploy(host, layout, file).not_in_force == []
    assert edits.warning(layout, file) is None


def test_the_commands_warn_of_an_edit_that_is_not_in_force(host, layout, file, place, capsys):
    commands.deploy("readings")
    capsys.readouterr()
    declare(place / "queries", "readings", EDITED)
    commands.deploy("readings")
    told = capsys.readouterr()
    assert told.err.startswith("WARNING: readings: 1 setting not in force, its driver runs what was deployed")
    assert "disorder.idle: 1 min → 20 s" in told.err
    assert "tailrace drain readings, then tailrace deploy readings" in told.err
    assert "found the driver, it stays as it is" in told.out
    commands.status("readings")
    assert "WARNING: readings: 1 setting not in force" in capsys.readouterr().out
    declare(place / "queries", "readings")
    commands.status("readings")
    assert "WARNING" not in capsys.readouterr().out


@pytest.mark.parametrize("text", [QUERY.replace("size: 2 h", "size: 2"), None])
def test_a_file_that_would_be_refused_or_is_gone_is_warned_of(host, layout, file, place, text):
    deploy(host, layout, file)
    file.unlink() if text is None else declare(place / "queries", "readings", text)
    assert f"readings: the file would be refused ({file}" in edits.warning(layout, file)


def test_a_copy_that_this_version_refuses_differs_as_a_whole(host, layout, file):
    deploy(host, layout, file)
    replace(DeployedQuery.read(layout), text="name: readings\nkind: of old\n").write(layout)
    [difference] = deploy(host, layout, file).not_in_force
    assert str(difference) == "the deployed copy: refused by this version → the file"


def test_many_edits_are_told_shortly(host, layout, file, place):
    deploy(host, layout, file)
    many = QUERY.replace("event_time: event_time", "event_time: other").replace("id: id", "id: no\n    key: k")
    many = (
        many.replace("2 h, slide: 1 h", "4 h, slide: 4 h").replace("column: value", "column: v").replace("sum", "avg")
    )
    declare(place / "queries", "readings", many)
    assert "7 settings not in force" in edits.warning(layout, file)
    assert edits.warning(layout, file).count("→") == 5
    assert "\n    and 2 more\n    to put it in force: " in edits.warning(layout, file)


def test_a_driver_starts_with_the_copy_and_not_with_an_edited_file(layout, file, place, host, monkeypatch):
    """So a restart of the driver or of its host takes up no edit."""
    options = Options(batch_rows=7)
    command = driver_command(Declared.read(file), place / "warehouse", options)
    deploy(host, layout, file, options)
    in_force = load(file)
    declare(place / "queries", "readings", EDITED)
    begun = []
    monkeypatch.setattr(stream_app, "run", lambda query, *_: begun.append(query) or 1)
    monkeypatch.setattr(type(layout), "manifest", lambda self: True)
    monkeypatch.setattr(type(layout), "require_deployable", lambda *_: None)
    app = command.index(str(settings.spark_apps() / "stream.py"))
    tailrace.app(["run", *command[app + 1 :]], standalone_mode=False)
    file.unlink()
    tailrace.app(["run", *command[app + 1 :]], standalone_mode=False)
    assert begun == [in_force, in_force]


def test_a_damaged_record_is_refused_with_its_repair(layout, host, file):
    deploy(host, layout, file)
    layout.deployed.write_text("{")
    with pytest.raises(Damaged, match="tailrace stop readings, then tailrace deploy readings"):
        DeployedQuery.read(layout)
    with pytest.raises(Refused):
        deploy(host, layout, file)
    host.is_now("ended", 0)
    assert deploy(host, layout, file).made
    assert DeployedQuery.read(layout).text == file.read_text()


def test_deployed_settings_that_no_tick_has_yet_are_said(tmp_path):
    """K is shown as of the newest complete tick; a driver that was just deployed shows the old one until the next."""
    file, layout = tmp_path / "query.yaml", Layout.for_query(tmp_path / "out", "readings")
    (tmp_path / "in").mkdir()
    for number, minute in enumerate((0, 9)):
        (tmp_path / "in" / f"{number}.csv").write_text(f"id,at,came\n{number},{DAY}0{minute}:01Z,{DAY}0{minute}:02Z\n")

    def run(k: str) -> str | None:
        file.write_text(OF_CSV.format(k=k))
        package.load(file).run(tmp_path / "out", engine="local", keep_open=True)
        return next_settings(layout)

    assert run("1 min") is None, "nothing was deployed"
    DeployedQuery(file, OF_CSV.format(k="60 s"), {}).write(layout)
    assert next_settings(layout) is None
    DeployedQuery(file, OF_CSV.format(k="3 h"), {}).write(layout)
    assert "hold from the next one on" in next_settings(layout)
    (tmp_path / "in" / "3.csv").write_text(f"id,at,came\n3,{DAY}10:01Z,{DAY}10:02Z\n")
    assert "hold from the next one on" in run("3 h"), "its tick is open"
    (tmp_path / "in" / "4.csv").write_text(f"id,at,came\n4,{DAY}12:01Z,{DAY}12:02Z\n")
    assert run("3 h") is None
