"""`tailrace serve`: the order of its starts and stops, what it prints, and how it ends, with a platform in memory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tailrace.drivers.driver_host import DriverHostDown
from tailrace.drivers.launch import pause, starts_file
from tailrace.drivers.programs import driver
from tailrace.embedded import embedded_platform, serve
from tailrace.embedded.embedded_platform import EmbeddedPlatform
from tailrace.embedded.serve import watch

happened: list[str] = []


class Host:
    """A driver host in memory, with the programs that its directory has."""

    access = SimpleNamespace(host="127.0.0.1", port=1, user="tailrace", password="known-to-the-host")
    fault: Exception | None = None
    can_start = True

    def __init__(self, directory: Path) -> None:
        self.directory, self.host = directory, self

    def start(self) -> None:
        if not self.can_start:
            raise ConnectionError("it does not start")
        (self.directory / "programs").mkdir(parents=True, exist_ok=True)
        happened.append("drivers start")

    def stop(self, wait_s: float, keeps_programs: bool) -> None:
        assert keeps_programs
        happened.append("drivers stop")

    def names(self) -> list[str]:
        if self.fault is not None:
            raise self.fault
        return [file.stem for file in (self.directory / "programs").glob("*.conf")]


class Airflow:
    """An Airflow in memory, which ends with these exit codes, one a look."""

    codes: tuple[int | None, ...] = (None, 3)
    can_start = True

    def __init__(self, directory: Path, dags: Path, environment: dict, *_: object, port: int | None = None) -> None:
        self.directory, self.dags, self.environment, self.port = directory, dags, dict(environment), port
        self.url, self.password_file = f"http://127.0.0.1:{port}", directory / "passwords.json"
        self.log, self.events = directory / "standalone.log", directory / "events.log"
        self._codes = list(self.codes)

    def __enter__(self) -> Airflow:
        if not self.can_start:
            raise ConnectionError("it does not start")
        self.directory.mkdir(exist_ok=True)
        self.log.write_text("the last words")
        happened.append("Airflow starts")
        return self

    def __exit__(self, *_: object) -> None:
        happened.append("Airflow stops")

    def kill(self) -> None:
        happened.append("leftovers are killed")

    def ended(self) -> int | None:
        return self._codes.pop(0)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Serves a folder until Airflow ends; returns the lines for people and the error."""
    happened.clear()
    monkeypatch.setattr(embedded_platform, "EmbeddedHost", Host)
    monkeypatch.setattr(embedded_platform, "EmbeddedAirflow", Airflow)
    monkeypatch.setattr(serve, "LOOK_AGAIN_S", 0)
    umask = os.umask(0o022)
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", "s3://key:secret@")
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_DRIVER_HOST", "not-the-platforms")

    def serve_folder(error: type[BaseException] = RuntimeError) -> tuple[list[str], str]:
        lines: list[str] = []
        with pytest.raises(error) as raised:
            serve.serve(tmp_path / "platform", echo=lines.append)
        return lines, str(raised.value)

    yield serve_folder
    os.umask(umask)


def test_the_drivers_start_before_airflow_and_end_after_it(run, tmp_path):
    lines, error = run()
    assert happened == [
        "leftovers are killed",
        "drivers start",
        "Airflow starts",
        "Airflow stops",
        "drivers stop",
    ]
    assert error.startswith("Airflow ended with exit code 3; the end of ")
    assert error.endswith("standalone.log:\nthe last words")
    assert lines[-1] == "stopping Airflow, then the driver host, which has no driver"


def test_it_prints_the_address_the_user_and_where_the_password_is(run, tmp_path):
    lines, _ = run()
    home = tmp_path / "platform"
    port = re.search(r'"port": (\d+)', (home / ".serve").read_text())[1]
    url = f"http://127.0.0.1:{port}"
    assert f"tailrace is at {url}/tailrace/ , Airflow at {url} , user admin" in lines
    text = "\n".join(lines)
    for place in ("airflow/passwords.json", "queries", "warehouse", "airflow/standalone.log", "env.sh"):
        assert str(home / place) in text
    assert "goes on:" not in text


def test_a_second_start_names_the_streams_that_go_on_and_their_stop_is_no_restart(run, tmp_path):
    programs, layout = tmp_path / "platform" / "drivers" / "programs", tmp_path / "platform" / "warehouse"
    run()
    for name in ("orders", "taxis"):
        command = ["launch", "--home", str(layout / name)]
        (programs / f"{name}.0123456789ab.conf").write_text(driver(f"{name}.0123456789ab", command, {}))
        for now_s in range(3 if name == "orders" else 9):
            pause(layout / name, 5, 600, now_s)
    lines, _ = run()
    assert "    goes on:  orders, taxis" in lines
    assert lines[-1] == "stopping Airflow, then 2 drivers (orders, taxis)"
    assert not starts_file(layout / "orders").exists()
    assert pause(layout / "taxis", 5, 600, 10) is None, "one that was in a crash loop stays down"


def test_connections_of_the_shell_reach_airflow_and_are_in_no_file(run, tmp_path, monkeypatch):
    started = []

    class Noted(Airflow):
        def __enter__(self) -> Airflow:
            started.append(self.environment)
            return super().__enter__()

    monkeypatch.setattr(embedded_platform, "EmbeddedAirflow", Noted)
    run()
    (environment,) = started
    assert environment["AIRFLOW_CONN_LAKE"] == "s3://key:secret@"
    assert "known-to-the-host" in environment["AIRFLOW_CONN_TAILRACE_DRIVER_HOST"]
    home = tmp_path / "platform"
    assert environment["TAILRACE_QUERIES"] == str(home / "queries")
    assert environment["TAILRACE_WAREHOUSE"] == str(home / "warehouse")
    files = [file for file in home.rglob("*") if file.is_file()]
    assert "known-to-the-host" in (home / "env.sh").read_text()
    assert not any("secret" in file.read_text() for file in files)
    assert [str(file) for file in files if file.stat().st_mode & 0o077] == []


@pytest.mark.parametrize(
    ("part", "stopped"), [("Airflow", ["drivers start", "drivers stop"]), ("Host", ["drivers stop"])]
)
def test_what_has_started_is_stopped_where_a_part_does_not_start(run, monkeypatch, part, stopped):
    monkeypatch.setattr(Airflow if part == "Airflow" else Host, "can_start", False)
    assert run(ConnectionError) == ([], "it does not start")
    assert happened == ["leftovers are killed", *stopped]


def test_ctrl_c_stops_all_of_it_also_where_the_driver_host_is_down(run, monkeypatch):
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(serve, "watch", lambda airflow, echo: watch(airflow, echo, interrupt))
    monkeypatch.setattr(serve, "welcome", lambda *_: [])
    monkeypatch.setattr(Host, "fault", DriverHostDown("it does not answer"))
    lines, _ = run(KeyboardInterrupt)
    assert lines == ["stopping Airflow, then the drivers"]
    assert happened[-2:] == ["Airflow stops", "drivers stop"]


def test_each_part_that_was_started_again_is_reported_once_and_whole(tmp_path):
    airflow = Airflow(tmp_path, tmp_path, {})
    airflow.log.touch()
    airflow._codes, lines = [None, None, None, 1], []
    written = iter(("Airflow's scheduler ended: it is started again\nAirf", "low's triggerer ended\n", ""))

    def pause_and_write(_: float) -> None:
        with airflow.events.open("a") as events:
            events.write(next(written))

    with pytest.raises(RuntimeError, match="Airflow ended with exit code 1"):
        watch(airflow, lines.append, pause_and_write)
    assert lines == ["Airflow's scheduler ended: it is started again", "Airflow's triggerer ended"]


def test_a_platform_of_a_demonstration_loses_its_drivers(monkeypatch, tmp_path):
    kept = []
    monkeypatch.setattr(embedded_platform, "EmbeddedHost", Host)
    monkeypatch.setattr(embedded_platform, "EmbeddedAirflow", Airflow)
    monkeypatch.setattr(Host, "stop", lambda self, wait_s, keeps_programs: kept.append(keeps_programs))
    with EmbeddedPlatform(tmp_path, tmp_path, tmp_path):
        pass
    assert kept == [False]
