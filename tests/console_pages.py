"""What tests and pictures do with the pages."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from console_bed import PAGES, Bed
from waiting import PATIENCE_S

LONG_MS = 2000 * PATIENCE_S
"""Longest wait for what a run of a DAG brings about."""


def await_page(page: Page) -> None:
    """Wait until a page shows what its server has answered."""
    page.locator("#fresh", has_text=re.compile("Updated|Not")).wait_for()
    page.wait_for_selector(".loading", state="detached")


def parts_of(bed: Bed, query: str) -> list[str]:
    """The parts of a query's page, by the server."""
    with bed.client("admin") as client:
        found: list[str] = client.get(f"{PAGES}api/queries/{query}/summary").json()["parts"]
        return found


def act(page: Page, title: str, **fields: str) -> None:
    """Open an action's dialog, fill it in, send it, also where it asks whether all is meant, and follow no link."""
    button = page.get_by_role("button", name=f"{title} …", exact=True)
    expect(button).not_to_have_attribute("aria-disabled", "true", timeout=LONG_MS)
    button.click()
    dialog = page.get_by_role("dialog")
    for label, value in fields.items():
        dialog.get_by_label(re.compile(f"^{label}")).fill(value)
    dialog.get_by_role("button", name=title, exact=True).click()
    if title == "Correct" and not fields:
        dialog.get_by_role("button", name="Correct everything", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(page.locator("#actions .outcome")).to_contain_text(f"{title}: sent to Airflow")
