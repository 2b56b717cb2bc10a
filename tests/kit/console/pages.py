"""What tests and pictures do with the pages."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Any, Self

from playwright.sync_api import Page, expect

from kit.console.bed import PAGES, Bed
from kit.suite.waiting import PATIENCE_S

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


@dataclass
class SeenStates:
    """The states that a query's head has, looked at several times a second: each once, in the order of their words.

    As a context manager it looks in a thread.
    """

    bed: Bed
    query: str

    def __enter__(self) -> Self:
        self.states: list[dict[str, Any]] = []
        self._stopped, self._thread = threading.Event(), threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def words(self) -> list[str]:
        return [state["word"] for state in self.states]

    def _look(self) -> None:
        with self.bed.client("viewer") as client:
            while not self._stopped.wait(0.2):
                state = client.get(f"{PAGES}api/queries/{self.query}/summary").json()["state"]
                if not self.states or self.states[-1]["word"] != state["word"]:
                    self.states.append(state)
