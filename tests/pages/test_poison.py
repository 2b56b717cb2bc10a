"""Hostile content: HTML and script in every field are shown as text, and none of it runs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from kit.console import poison as console_poison
from kit.console.bed import PAGES
from kit.console.pages import await_page, parts_of
from kit.console.poison import MARK

pytestmark = pytest.mark.xdist_group("console")

QUERIES = [builder.__name__ for builder in console_poison.BUILDERS]
MOST_CHARACTERS = 500_000
"""Of a page's text: an id of 2 MB is cut, and can be copied whole."""

SEEN = {
    ("poisoned", "answers"): ("key", "id", "text"),
    ("poisoned", "answer"): ("key", "id", "text"),
    ("poisoned", "quarantine"): ("record",),
    ("poisoned", "settings"): ("deployed", "on disk"),
    ("poisoned", "kind"): ("key", "id"),
    ("poisoned_places", "answers"): ("left id", "right id", "text"),
    ("poisoned_places", "answer"): ("left id", "right id"),
    ("poisoned_places", "quarantine"): ("geometry",),
}
"""What each part shows, among others."""

# What a script of ours never makes, and what data must not become.
FOREIGN = f".{MARK}, img[src=x], [onerror], [onclick], [href^='javascript:' i], script:not([src]), base, iframe, object"


def assert_harmless(page: Page) -> str:
    """Check that nothing of the data has become anything but text; return all text of the page, also what is folded."""
    assert page.evaluate(f"window.{MARK}") is None
    assert page.locator(FOREIGN).count() == 0
    text = page.evaluate("document.body.textContent")
    assert len(text) < MOST_CHARACTERS
    return text


def test_streams_shows_poisoned_queries_beside_the_others(window):
    page = window().page(PAGES)
    await_page(page)
    text = assert_harmless(page)
    assert all(name in text for name in (*QUERIES, "speeds"))


@pytest.mark.parametrize("query", QUERIES)
def test_every_part_of_a_poisoned_query_shows_it_as_text(bed, window, query):
    watched, seen = window(), {}
    for part in parts_of(bed, query):
        if part == "answer":
            continue
        page = watched.page(f"{PAGES}queries/{query}?part={part}")
        await_page(page)
        seen[part] = assert_harmless(page)
        if part == "answers":
            page.get_by_role("link", name="Versions").first.click()
            await_page(page)
            seen["answer"] = assert_harmless(page)
        page.close()
    missing = [
        (part, field)
        for (name, part), fields in SEEN.items()
        if name == query
        for field in fields
        if not re.search(rf"{field}.?'.?.?></td></textarea></script><img src=x", seen[part])
    ]
    assert missing == []


def test_a_name_in_the_address_is_text(bed, window):
    watched = window()
    for place in (
        "queries/%3Cimg%20src%3Dx%20onerror%3Dwindow.poisoned%3D1%3E",
        f"?search={'%3Cimg src=x onerror=window.poisoned=1%3E'}",
    ):
        watched.expected += ["404", "404"]
        page = watched.page(PAGES + place)
        await_page(page)
        assert_harmless(page)
        page.close()
