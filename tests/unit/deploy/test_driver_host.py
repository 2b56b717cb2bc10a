"""A driver host without containers: the supervisord.conf starts as it stands, and systemd can read the unit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

from kit.parts.browser import answers_to_browsers
from kit.parts.processes import beyond_loopback, listening
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers import fence
from tailrace.drivers.driver_host import DriverHostDown
from tailrace.drivers.ports import free_port
from tailrace.drivers.supervisor import SupervisorHost

DEPLOY = Path(__file__).parents[3] / "deploy"
UNIT = DEPLOY / "tailrace-driver-host.service"
PASSWORD = "known-to-the-host-and-to-airflow"
MARK = "TAILRACE_TESTED_HOST"


@pytest.fixture
def host(tmp_path):
    """The driver host that this file configures, on a free port of loopback."""
    (tmp_path / "programs").mkdir()
    port = free_port()
    environment = {
        "TAILRACE_DRIVER_HOST_LISTEN": f"127.0.0.1:{port}",
        "TAILRACE_DRIVER_HOST_USER": "tailrace",
        "TAILRACE_DRIVER_HOST_PASSWORD": PASSWORD,
        "TAILRACE_DRIVER_HOST_HOME": str(tmp_path),
        MARK: str(tmp_path),
    }
    command = [sys.executable, "-m", "supervisor.supervisord", "-n", "-c", str(DEPLOY / "supervisord.conf")]
    process = subprocess.Popen(
        command, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, cwd=tmp_path
    )
    host = SupervisorHost(f"http://127.0.0.1:{port}", tmp_path / "programs", "tailrace", PASSWORD)

    def answers() -> bool:
        try:
            return host.inspect("flights").state == "absent"
        except DriverHostDown:
            assert process.poll() is None
            return False

    try:
        until(answers)
        yield host
    finally:
        fence.kill(lambda: fence.carrying(MARK, lambda value: value == str(tmp_path)), PATIENCE_S)
        process.wait()


@pytest.mark.needs("process")
def test_it_runs_a_driver_that_does_not_know_the_hosts_password(host, tmp_path):
    code = "import os, time; open('env', 'w').write(repr(dict(os.environ))); os.rename('env', 'told'); time.sleep(600)"
    launch = [sys.executable, "-m", "tailrace.drivers.launch", "--home", str(tmp_path / "flights"), "--"]
    assert host.deploy("flights", [*launch, sys.executable, "-c", code], {"TAILRACE_WAREHOUSE": "/w"}).alive
    until((tmp_path / "told").exists)
    told = (tmp_path / "told").read_text()
    assert "'TAILRACE_WAREHOUSE': '/w'" in told
    assert PASSWORD not in told
    assert not host.stop("flights", 10).alive
    running = fence.carrying(MARK, lambda value: value == str(tmp_path))
    assert listening(running)
    assert not beyond_loopback(listening(running))


@pytest.mark.needs("process")
def test_it_asks_for_the_password(host):
    with pytest.raises(DriverHostDown, match="401"):
        SupervisorHost(host.rpc.url, host.programs, "tailrace", "another").inspect("flights")


@pytest.mark.needs("process")
def test_it_has_no_page(host):
    answers = answers_to_browsers(host.rpc.url, "tailrace", PASSWORD)
    assert answers == {page: {404} for page in answers}, "nothing that asks for a password, shows a log or acts"


@pytest.mark.needs("process")
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_reads_the_unit(tmp_path):
    text = UNIT.read_text().replace("/opt/tailrace/.venv/bin/supervisord", "/bin/true")  # it must be installed
    unit = tmp_path / UNIT.name
    unit.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert complaints == []


def test_the_unit_starts_this_configuration_as_a_user_and_sets_what_it_names():
    parser = RawConfigParser(strict=False)
    parser.optionxform = str
    parser.read(UNIT)
    service = parser["Service"]
    assert service["ExecStart"].split() == [
        "/opt/tailrace/.venv/bin/supervisord", "-n", "-c", "/opt/tailrace/deploy/supervisord.conf",
    ]  # fmt: skip
    assert service["User"] == "tailrace"
    assert service["UMask"] == "0077"
    named = set(re.findall(r"ENV_(\w+)\)s", (DEPLOY / "supervisord.conf").read_text()))
    set_by_unit = {word.partition("=")[0] for word in service["Environment"].split()}
    said_of_the_file = set(re.findall(r"TAILRACE_\w+", (DEPLOY / "supervisord.conf").read_text().split("[", 1)[0]))
    assert named - set_by_unit <= said_of_the_file
