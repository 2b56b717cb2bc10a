"""The driver's program in cluster mode, the launcher and the fence, as processes against a simulated platform."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from kit.fakes.simulated_platform import SimulatedPlatform
from kit.suite.waiting import PATIENCE_S, until
from orchestration.platform_server import serving, write_stand_in
from tailrace.drivers.applications import platform_file, tag_of
from tailrace.drivers.ports import free_port
from tailrace.ground.passed_variables import NAME, VARIABLE, restore
from tailrace.spark import package_archive

pytestmark = pytest.mark.needs("process")

APP = Path(__file__).parents[2] / "spark_apps" / "stream.py"
SECRET = '{"password": "a \\"b\\" $HOME `c`"}'
BOTH = pytest.mark.parametrize("platform", ["yarn", "kubernetes"], indirect=True)


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "warehouse" / "flights"


class Host:
    """Runs the programs of a driver host for one home."""

    def __init__(self, home: Path, tmp_path: Path, kind: str, url: str) -> None:
        self.home, self.kind, self.url, self.called = home, kind, url, tmp_path / "called"
        self.program = write_stand_in(tmp_path / "bin")
        self.environment = os.environ | {"CALLED": str(self.called), "PLATFORM": url, "AIRFLOW_CONN_BROKER": SECRET}

    def words(self) -> list[str]:
        master = "yarn" if self.kind == "yarn" else f"k8s://{self.url}"
        passed = ["--url", self.url, "--pass", "AIRFLOW_CONN_BROKER"] if self.kind == "yarn" else []
        module = [sys.executable, "-m", "tailrace.drivers.cluster_submission"]
        return [
            *module,
            "--home",
            str(self.home),
            "--app",
            str(APP),
            *passed,
            "--",
            str(self.program),
            "--master",
            master,
        ]

    @contextmanager
    def launched(self):
        command = [sys.executable, "-m", "tailrace.drivers.launch", "--home", str(self.home), "--", *self.words()]
        process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def calls(self) -> list[tuple[int, list[str], str]]:
        lines = self.called.read_text().splitlines() if self.called.exists() else []
        return [tuple(json.loads(line)) for line in lines]


@pytest.fixture
def platform(request) -> SimulatedPlatform:
    return SimulatedPlatform(unique=getattr(request, "param", "yarn") == "kubernetes")


@pytest.fixture
def server(platform):
    with serving(platform) as server:
        yield server


@pytest.fixture
def host(home, tmp_path, platform, server) -> Host:
    return Host(home, tmp_path, "kubernetes" if platform.unique else "yarn", server.url)


@BOTH
def test_its_exit_code_is_the_drivers(host, platform, home):
    with host.launched() as process:
        until(lambda: platform.applications)
        platform.end(platform.applications[0], 75)
        assert process.wait(PATIENCE_S) == 75
    assert (home / "_stream" / "submitted" / "stream.py").read_text() == APP.read_text()
    assert (home / "_stream" / "submitted" / package_archive.NAME).stat().st_size > 100_000


def test_a_driver_that_somebody_else_has_ended_failed(host, platform):
    with host.launched() as process:
        until(lambda: platform.applications)
        platform.end(platform.applications[0])
        assert process.wait(PATIENCE_S) == 1


@BOTH
def test_a_signal_ends_the_driver_first(host, platform):
    with host.launched() as process:
        until(lambda: len(platform.requests) > 2)
        process.terminate()
        until(lambda: platform.applications[0].ending)
        assert process.poll() is None, "it waits for the end"
        platform.end(platform.applications[0])
        assert process.wait(PATIENCE_S) == 130


@BOTH
def test_the_driver_of_a_killed_submission_is_ended_before_the_next_one_is_submitted(host, platform):
    with host.launched() as process:
        until(lambda: platform.applications)
        process.kill()
        process.wait()
    assert platform.applications[0].alive
    with host.launched() as process:
        until(lambda: platform.applications[0].ending)
        asked = len(platform.requests)
        until(lambda: len(platform.requests) > asked + 4)  # it asks again and again while the driver lives
        assert len(platform.applications) == 1
        platform.end(platform.applications[0])
        until(lambda: len(platform.applications) == 2)
        platform.end(platform.applications[1], 0)
        assert process.wait(PATIENCE_S) == 0


def test_a_submission_that_hangs_is_killed_and_its_driver_ended_too(host, platform, server):
    server.submitted = {"code": 0, "hangs": True}
    with host.launched() as process:
        until(lambda: platform.applications)
        process.kill()
        process.wait()
        server.submitted = {"code": 0}
        with host.launched():
            until(lambda: platform.applications[0].ending)
            assert not Path(f"/proc/{host.calls()[0][0]}/exe").exists(), (
                "spark-submit is dead before the platform is asked"
            )


def test_the_fence_as_a_command_ends_the_driver_after_a_crash(host, platform, home):
    with host.launched() as process:
        until(lambda: platform.applications)
        process.kill()
        process.wait()
    fence = subprocess.Popen([sys.executable, "-m", "tailrace.drivers.fence", str(home)], env=host.environment)
    try:
        until(lambda: platform.applications[0].ending)
        assert fence.poll() is None
        platform.end(platform.applications[0])
        assert fence.wait(PATIENCE_S) == 0
    finally:
        fence.kill()
        fence.wait()


def test_a_late_submission_of_an_earlier_start_is_ended(host, platform):
    with host.launched() as process:
        until(lambda: platform.applications)
        settings = dict(platform.applications[0].settings)
        names = ("spark.yarn.tags", "spark.kubernetes.driver.label.tailrace-start")
        name = next(name for name in names if name in settings)
        settings[name] = settings[name][:-4] + "late"
        platform.unique = False  # as if it had been created first
        platform.submit(settings)
        until(lambda: platform.applications[1].ending)
        assert process.poll() is None
        assert not platform.applications[0].ending


def test_it_waits_for_a_platform_that_is_away(host, platform, server, home):
    port = int(host.url.rpartition(":")[2])
    gone = host.url.replace(str(port), str(other := free_port()))
    host.url, host.environment["PLATFORM"] = gone, gone
    with host.launched() as process:
        assert "gives no answer" in process.stderr.readline()
        assert host.calls() == [], "nothing is submitted where nothing can be ended"
        with serving(platform, other):
            until(lambda: platform.applications)
            platform.end(platform.applications[0], 0)
            assert process.wait(PATIENCE_S) == 0


@BOTH
def test_no_command_line_holds_a_secret_and_the_driver_gets_it(host, platform, home, monkeypatch):
    with host.launched() as process:
        until(lambda: platform.applications)
        platform.end(platform.applications[0], 0)
        output = "".join(process.communicate(timeout=PATIENCE_S))
    [(_, words, content)] = host.calls()
    assert "password" not in " ".join(words) + output + platform_file(home).read_text()
    if host.kind == "yarn":
        assert f"spark.yarn.appMasterEnv.{VARIABLE}={NAME}" in words
        assert words[words.index("--files") + 1].endswith(f"#{NAME}")
        assert not Path(words[words.index("--files") + 1].partition("#")[0].removeprefix("file://")).exists()
        (home / NAME).write_text(content)
        monkeypatch.setenv(VARIABLE, str(home / NAME))
        monkeypatch.delenv("AIRFLOW_CONN_BROKER", raising=False)
        restore()
        assert os.environ["AIRFLOW_CONN_BROKER"] == SECRET
        assert VARIABLE not in os.environ
        monkeypatch.delenv("AIRFLOW_CONN_BROKER")


def test_the_tag_is_the_warehouses_own_and_stays(host, platform, home, tmp_path):
    assert tag_of(home) != tag_of(tmp_path / "another" / "flights"), "two warehouses may share a platform"
    with host.launched() as process:
        until(lambda: platform.applications)
        tag = tag_of(home)
        platform.end(platform.applications[0], 0)
        process.wait(PATIENCE_S)
    assert tag_of(home) == tag
    assert any(tag in value for value in platform.applications[0].settings.values())


def test_a_damaged_note_of_the_platform_starts_nothing(host, platform, home):
    platform_file(home).parent.mkdir(parents=True)
    platform_file(home).write_text('{"platform"')
    with host.launched() as process:
        assert process.wait(PATIENCE_S) == 1
        assert "right would be: to make sure that no driver of the query runs on a cluster" in process.stderr.read()
    assert platform.applications == []
