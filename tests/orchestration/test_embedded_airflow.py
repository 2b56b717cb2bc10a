"""The embedded Airflow: commands are retried while SQLite is locked; a start says which parts it waits for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from kit.suite.waiting import PATIENCE_S
from tailrace.embedded import airflow_command
from tailrace.embedded import embedded_airflow as module
from tailrace.embedded.embedded_airflow import EmbeddedAirflow
from tailrace.embedded.platform_environment import write_environment

LOCKED = "sqlite3.OperationalError: database is locked"
HALF_DONE = "AlreadyRunningBackfill: Another backfill is running for Dag x."


@pytest.fixture
def run_command(monkeypatch, tmp_path):
    """Runs a command whose successive tries print these errors; returns the number of tries and the last exit code."""

    def run(*errors: str) -> tuple[int, int]:
        results = [subprocess.CompletedProcess([], int(bool(error)), "", error) for error in errors]
        monkeypatch.setattr(airflow_command.subprocess, "run", lambda *_, **__: results.pop(0))
        monkeypatch.setattr(airflow_command, "pause_s", lambda tries: tries / 1000)
        run.told = []
        final = EmbeddedAirflow(tmp_path, Path("dags"), {}, echo=run.told.append).command("backfill", "create")
        return len(errors) - len(results), final.returncode

    return run


def test_a_command_that_met_a_locked_database_is_retried_with_growing_pauses_and_says_so(run_command):
    assert run_command(LOCKED, LOCKED, "") == (3, 0)
    assert run_command.told == [
        "airflow backfill: Airflow's SQLite database is locked; trying again in 0.001 s",
        "airflow backfill: Airflow's SQLite database is locked; trying again in 0.002 s",
    ]


def test_a_backfill_that_a_locked_try_has_begun_is_waited_for(run_command):
    assert run_command(LOCKED, HALF_DONE, HALF_DONE, "") == (4, 0)
    assert "a backfill that a lock stopped half-way still runs" in run_command.told[1]


@pytest.mark.parametrize("error", [HALF_DONE, "no such dag"])
def test_any_other_error_is_returned_at_once(run_command, error):
    assert run_command(error, "") == (1, 1)
    assert run_command.told == []


def test_retries_end_after_a_time_limit(run_command, monkeypatch):
    monkeypatch.setattr(airflow_command, "TRIES_S", -1.0)
    assert run_command(LOCKED, "") == (1, 1)


def test_a_command_in_a_shell_gives_its_output_and_its_exit_code(monkeypatch, capsys):
    results = [
        subprocess.CompletedProcess([], 1, "", LOCKED),
        subprocess.CompletedProcess([], 3, "made\n", "refused\n"),
    ]
    monkeypatch.setattr(airflow_command.subprocess, "run", lambda *_, **__: results.pop(0))
    monkeypatch.setattr(airflow_command, "pause_s", lambda tries: 0.0)
    monkeypatch.setattr("sys.argv", ["airflow_command", "backfill", "create"])
    assert airflow_command.main() == 3
    told = capsys.readouterr()
    assert told.out == "made\n"
    assert told.err.startswith("airflow backfill: Airflow's SQLite database is locked; trying again in 0 s\n")
    assert told.err.endswith("refused\n")


@pytest.fixture
def start_airflow(monkeypatch, tmp_path):
    """Starts an Airflow with these successive health reports, the last one repeatedly; returns its messages."""

    def start(*reports: dict[str, str] | None, start_s: float = 600.0, exit_code: int | None = None) -> list[str]:
        remaining = list(reports)

        def health(url: str, timeout: float) -> httpx.Response:
            parts = remaining.pop(0) if len(remaining) > 1 else remaining[0]
            if parts is None:
                raise httpx.ConnectError("connection refused")
            return httpx.Response(200, json={name: {"status": status} for name, status in parts.items()})

        child = SimpleNamespace(pid=0, poll=lambda: exit_code)
        messages = list[str]()
        airflow = EmbeddedAirflow(tmp_path, Path("dags"), {}, start_s, messages.append, look_again_s=0, echo_s=-1)
        monkeypatch.setattr(airflow, "api", lambda patient: None)
        monkeypatch.setattr(airflow, "kill", lambda: messages.append("killed"))
        monkeypatch.setattr(module.subprocess, "Popen", lambda *_, **__: child)
        monkeypatch.setattr(module.httpx, "get", health)
        airflow.start()
        return [line.partition(": ")[0] for line in messages]

    return start


PARTLY_HEALTHY = {"metadatabase": "healthy", "scheduler": "healthy", "triggerer": None, "dag_processor": "unhealthy"}
HEALTHY = dict.fromkeys(PARTLY_HEALTHY, "healthy")


def test_a_start_says_which_parts_it_waits_for(start_airflow):
    assert start_airflow(None, PARTLY_HEALTHY, HEALTHY) == [
        "waiting for Airflow's API server",
        "waiting for Airflow's triggerer, dag processor",
    ]


def test_a_start_that_takes_too_long_names_the_missing_parts(start_airflow):
    with pytest.raises(
        RuntimeError, match=r"within -1 s; it waited for Airflow's triggerer, dag processor; the end of"
    ):
        start_airflow(PARTLY_HEALTHY, start_s=-1)


def test_a_start_whose_process_ended_raises_at_once(start_airflow):
    with pytest.raises(RuntimeError, match="it ended with exit code 3; it waited for Airflow's API server"):
        start_airflow(None, exit_code=3)


@pytest.mark.needs("process")
def test_its_processes_are_those_it_has_started_and_none_of_a_shell_with_its_environment(tmp_path, monkeypatch):
    """The shell's would be killed at its end, and by its next start."""
    airflow = EmbeddedAirflow(tmp_path / "airflow", Path("dags"), {})
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\ncd / && exec sleep 600\n")
    sleeper.chmod(0o700)
    monkeypatch.setattr(module.sys, "executable", str(sleeper))
    monkeypatch.setattr(airflow, "api", lambda patient: None)
    monkeypatch.setattr(module.httpx, "get", lambda url, timeout: httpx.Response(200, json={}))
    write_environment(tmp_path, airflow.environment)
    shell = subprocess.Popen(
        ["sh", "-c", f". {tmp_path}/env.sh && echo ready && exec sleep 600"], stdout=subprocess.PIPE
    )
    try:
        assert shell.stdout.readline() == b"ready\n"
        airflow.start()
        assert [process.pid for process in airflow.processes()] == [airflow._child.pid]
        airflow.kill()
        assert airflow._child.wait(PATIENCE_S)
        assert shell.poll() is None
    finally:
        airflow.kill()
        shell.kill()
        shell.wait()
        shell.stdout.close()
