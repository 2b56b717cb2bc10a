"""The parts of a query's page, in the order in which it shows them."""

from __future__ import annotations

from tailrace.panels import kind, ledger, settings
from tailrace.panels.panel import Panel

PANELS: tuple[Panel, ...] = (
    ledger.PANEL,
    kind.PANEL,
    settings.PANEL,
)
"""All panels. Their addresses, their rights and their tests follow from this."""
