"""Watching processes from a test."""

from __future__ import annotations

import time

import psutil

from tailrace.orchestration.fence import dead


def until(condition, seconds=20.0):
    """Wait for something to be true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)
    return value


def is_dead(pid: int) -> bool:
    try:
        return dead(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return True


def command(process: psutil.Process) -> list[str]:
    """A process's command line; empty once it has ended, whether or not anyone has waited for it."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # a zombie is one, to psutil
        return []
