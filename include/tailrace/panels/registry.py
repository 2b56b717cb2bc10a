"""The parts of a query's page, in the order in which it shows them."""

from __future__ import annotations

from tailrace.panels import activity, answer, answers, frontier, kind, late, ledger, promise, quarantine, settings
from tailrace.panels.panel import Panel

PANELS: tuple[Panel, ...] = (
    frontier.PANEL,
    activity.PANEL,
    promise.PANEL,
    answers.PANEL,
    answer.PANEL,
    late.PANEL,
    ledger.PANEL,
    quarantine.PANEL,
    kind.PANEL,
    settings.PANEL,
)
"""The panels, from which addresses, rights and tests are derived."""
