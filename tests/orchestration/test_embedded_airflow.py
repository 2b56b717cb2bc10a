"""The embedded Airflow: its commands are tried again where SQLite was locked; a start says what it waits for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from tailrace.orchestration import embedded_airflow as module
from tailrace.orchestration.embedded_airflow import EmbeddedAirflow

LOCKED = "sqlite3.OperationalError: database is locked"
HALF_DONE = "AlreadyRunningBackfill: Another backfill is running for Dag x."


@pytest.fixture
def said(monkeypatch, tmp_path):
    """Runs a command whose tries say these, one after another; returns how many were made and the last exit code."""

    def run(*errors: str) -> tuple[int, int]:
        left = [subprocess.CompletedProcess([], int(bool(error)), "", error) for error in errors]
        monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: left.pop(0))
        monkeypatch.setattr(module, "_TRY_AGAIN_S", 0.0)
        done = EmbeddedAirflow(tmp_path, Path("dags"), {}).command("backfill", "create")
        return len(errors) - len(left), done.returncode

    return run


def test_what_was_locked_is_tried_again(said):
    assert said(LOCKED, LOCKED, "") == (3, 0)


def test_a_backfill_that_was_locked_out_half_way_is_waited_for(said):
    assert said(LOCKED, HALF_DONE, HALF_DONE, "") == (4, 0)


@pytest.mark.parametrize("error", [HALF_DONE, "no such dag"])
def test_anything_else_is_told_at_once(said, error):
    assert said(error, "") == (1, 1)


def test_it_ends_by_and_by(said, monkeypatch):
    monkeypatch.setattr(module, "_TRIES_S", -1.0)
    assert said(LOCKED, "") == (1, 1)


@pytest.fixture
def starting(monkeypatch, tmp_path):
    """Starts an Airflow whose parts become healthy one after the other, or never; gives what it told on the way."""

    def start(*looks: dict[str, str] | None, start_s: float = 600.0, ends: int | None = None) -> list[str]:
        left = list(looks)

        def health(url: str, timeout: float) -> httpx.Response:
            parts = left.pop(0) if len(left) > 1 else left[0]
            if parts is None:
                raise httpx.ConnectError("connection refused")
            return httpx.Response(200, json={name: {"status": status} for name, status in parts.items()})

        child = SimpleNamespace(pid=0, poll=lambda: ends)
        told = list[str]()
        airflow = EmbeddedAirflow(tmp_path, Path("dags"), {}, start_s, told.append)
        monkeypatch.setattr(airflow, "api", lambda patient: None)
        monkeypatch.setattr(airflow, "kill", lambda: told.append("killed"))
        monkeypatch.setattr(module.subprocess, "Popen", lambda *_, **__: child)
        monkeypatch.setattr(module.httpx, "get", health)
        monkeypatch.setattr(module, "_LOOK_AGAIN_S", 0)
        monkeypatch.setattr(module, "_TELL_S", -1)
        airflow.start()
        return [line.partition(": ")[0] for line in told]

    return start


HALF = {"metadatabase": "healthy", "scheduler": "healthy", "triggerer": None, "dag_processor": "unhealthy"}
WELL = dict.fromkeys(HALF, "healthy")


def test_a_start_tells_what_it_waits_for(starting):
    assert starting(None, HALF, WELL) == [
        "waiting for Airflow's API server",
        "waiting for Airflow's triggerer, dag processor",
    ]


def test_a_start_that_takes_too_long_says_what_it_waited_for(starting):
    with pytest.raises(
        RuntimeError, match=r"within -1 s; it waited for Airflow's triggerer, dag processor; the end of"
    ):
        starting(HALF, start_s=-1)


def test_a_start_that_ends_is_not_waited_for(starting):
    with pytest.raises(RuntimeError, match="it ended with exit code 3; it waited for Airflow's API server"):
        starting(None, ends=3)
