"""The parts of a query's page, in the order in which it shows them."""

from __future__ import annotations

from tailrace.panels import answer, answers, quarantine
from tailrace.panels.panel import Panel

PANELS: tuple[Panel, ...] = (answers.PANEL, answer.PANEL, quarantine.PANEL)
"""All panels. Their addresses, their rights and their tests follow from this."""
