"""The parts of a query's page, in the order in which it shows them."""

from __future__ import annotations

from tailrace.panels import answers, frontier, late, promise
from tailrace.panels.panel import Panel

PANELS: tuple[Panel, ...] = (frontier.PANEL, promise.PANEL, answers.PANEL, late.PANEL)
"""All panels. Their addresses, their rights and their tests follow from this."""
