"""The embedded Airflow's commands: tried again where SQLite was locked, and only then."""

from __future__ import annotations

import subprocess
from pathlib import Path

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
