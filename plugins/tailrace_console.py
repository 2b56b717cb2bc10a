"""Airflow finds the console here: the pages of all streams, behind its log-in."""

from __future__ import annotations

from tailrace.console.plugin import TailraceConsole

__all__ = ["TailraceConsole"]
