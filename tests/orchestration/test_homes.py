"""Drivers by warehouse and name: queries of one name in several warehouses that share a driver host."""

from __future__ import annotations

import shutil

import pytest

from kit.fakes.fake_host import declare, write_status
from tailrace.cli import driver_commands as commands
from tailrace.drivers import driver_lifecycle, programs
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.homes import deployed_program, program_of, resolved
from tailrace.drivers.programs import home_of
from tailrace.ground.errors import Refused
from tailrace.orchestration import settings
from tailrace.storage.layout import Layout


class SharedHost:
    """A driver host in memory, with several programs: each has its command, and lives until it is stopped."""

    def __init__(self):
        self.files, self.ended = {}, {}

    def deploy(self, name, command, environment):
        self.files.setdefault(name, programs.driver(name, command, environment))
        return self.inspect(name)

    def inspect(self, name):
        if name in self.files:
            return Driver(name, "running", 7, None, "")
        return self.ended.get(name, Driver(name, "absent", None, None, "its host does not know it"))

    def names(self):
        return sorted(self.files)

    def homes(self, query):
        return {name: home_of(text) for name, text in self.files.items() if name.partition(".")[0] == query}

    def stop(self, name, wait_s):
        if self.files.pop(name, None) is not None:
            self.ended[name] = Driver(name, "ended", None, 130, "stopped by request")
        return self.inspect(name)

    def run(self, program, command, wait_s):
        return 0

    def last_lines(self, name, lines):
        return [f"of {name}"]


def deploy(host, layout):
    return driver_lifecycle.deploy(host, layout, ["launch", "--home", str(layout.home), "--", "go"], {})


@pytest.fixture
def shared(monkeypatch):
    monkeypatch.setattr(driver_lifecycle, "POLL_S", 0.01)
    return SharedHost()


def two_layouts(tmp_path):
    return [Layout.for_query(tmp_path / name, "readings") for name in ("one", "two")]


@pytest.mark.parametrize(
    "end", [lambda *of: driver_lifecycle.drain(*of, 0.05, 1), lambda *of: driver_lifecycle.stop(*of, 1)]
)
def test_the_end_of_a_driver_leaves_the_one_of_the_same_name_in_another_warehouse(shared, tmp_path, end):
    one, two = two_layouts(tmp_path)
    assert deploy(shared, one).made
    assert deploy(shared, two).made, "the other warehouse's driver is not taken for its own"
    end(shared, one)
    assert driver_lifecycle.inspect(shared, one).state == "ended"
    assert driver_lifecycle.inspect(shared, two).alive
    assert not two.drain.exists()


def test_a_driver_of_another_warehouse_gives_neither_state_nor_lines(shared, tmp_path):
    one, two = two_layouts(tmp_path)
    deploy(shared, one)
    assert driver_lifecycle.status(shared, two).driver.state == "absent"
    assert str(driver_lifecycle.status(shared, one)).startswith("readings: running, pid 7\n")
    assert driver_lifecycle.last_lines(shared, two) != driver_lifecycle.last_lines(shared, one)


def test_a_copy_of_a_warehouse_has_no_driver_and_may_have_one_of_its_own(shared, tmp_path):
    one, two = two_layouts(tmp_path)
    deploy(shared, one)
    shutil.copytree(one.home.parent, two.home.parent)
    assert not driver_lifecycle.inspect(shared, two).alive
    driver_lifecycle.stop(shared, two, 1)
    driver_lifecycle.drain(shared, two, 0.05, 1)
    assert driver_lifecycle.inspect(shared, one).alive
    assert deploy(shared, two).made


def test_one_warehouse_by_two_paths_has_one_driver(shared, tmp_path):
    one, _ = two_layouts(tmp_path)
    deploy(shared, one)
    (tmp_path / "link").symlink_to(one.home.parent)
    linked = Layout.for_query(tmp_path / "link", "readings")
    assert not deploy(shared, linked).made
    assert not driver_lifecycle.stop(shared, linked, 1).alive
    assert not driver_lifecycle.inspect(shared, one).alive


def test_a_warehouse_that_has_moved_behind_a_link_keeps_its_driver(shared, tmp_path):
    one, two = two_layouts(tmp_path)
    deploy(shared, one)
    one.home.parent.rename(two.home.parent)
    one.home.parent.symlink_to(two.home.parent)
    assert driver_lifecycle.inspect(shared, two).alive
    assert driver_lifecycle.inspect(shared, one).alive


def test_a_link_that_has_another_target_takes_no_program_of_the_earlier_one(shared, tmp_path):
    one, two = two_layouts(tmp_path)
    for layout in (one, two):
        layout.home.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(one.home.parent)
    linked = Layout.for_query(link, "readings")
    deploy(shared, linked)
    link.unlink()
    link.symlink_to(two.home.parent)
    assert driver_lifecycle.inspect(shared, two).alive, "its driver writes there now"
    assert not driver_lifecycle.inspect(shared, one).alive
    assert deploy(shared, one).made
    assert len(shared.files) == 2


@pytest.mark.parametrize("home", ["/w/readings", "/w h/it's; #1/100%/%(here)s/readings", "s3://bucket/w/readings"])
@pytest.mark.parametrize("value", ["plain", 'it\'s "both"'])
def test_the_home_of_a_program_is_read_back_from_its_configuration(home, value):
    command = ["python", "-m", "tailrace.drivers.launch", "--home", home, "--restarts", "5", "--", "spark-submit"]
    assert home_of(programs.driver("readings", command, {"A": value})) == home


@pytest.mark.parametrize("text", ["[program:x]\ncommand=sleep 5\n", "[program:x]\ncommand='\n", "no section", ""])
def test_a_program_of_others_has_no_home(text):
    assert home_of(text) is None


def test_no_query_or_warehouse_shares_a_programs_name(shared, tmp_path):
    homes = [tmp_path / warehouse / query for warehouse in ("a", "b", "a/a") for query in ("q", "q_a", "a")]
    assert len({program_of(shared, home) for home in homes}) == len(homes)
    assert resolved(tmp_path / "a" / ".." / "b") == resolved(tmp_path / "b")
    assert deployed_program(shared, homes[0]) is None


def test_a_command_refuses_a_query_of_which_only_another_warehouse_has_a_driver(shared, place, tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "driver_host", lambda: shared)
    deploy(shared, Layout.for_query(tmp_path / "other", "flights"))
    for command in (lambda: commands.drain("flights", 0.05, 1), lambda: commands.stop("flights", 1)):
        with pytest.raises(Refused, match="query flights"):
            command()
    declare(place / "queries", "flights")
    write_status(Layout.for_query(place / "warehouse", "flights"), 1_000)
    commands.stop("flights", 1)
    assert len(shared.files) == 1
