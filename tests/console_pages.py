"""What tests and pictures do with the pages."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from console_bed import PAGES, Bed


def await_page(page: Page) -> None:
    """Wait until a page shows what its server has answered."""
    page.locator("#fresh", has_text=re.compile("Updated|Not")).wait_for()
    page.wait_for_selector(".loading", state="detached")


def parts_of(bed: Bed, query: str) -> list[str]:
    """The parts of a query's page, by the server."""
    with bed.client("admin") as client:
        found: list[str] = client.get(f"{PAGES}api/queries/{query}/summary").json()["parts"]
        return found
