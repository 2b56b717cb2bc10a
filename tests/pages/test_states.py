"""What pages show of a stream's state: since when it holds, what follows from it, and a driver host that is down."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from kit.console.bed import PAGES
from kit.console.pages import await_page

pytestmark = pytest.mark.xdist_group("console")

QUERY = "speeds"
ACTIONS = re.compile("/actions$")


def patch(page: Page, path: str, values: dict[str, Any]) -> None:
    """Change what the server answers; `values` may change while the page is open."""

    def answer(route: Route) -> None:
        found = route.fetch()
        route.fulfill(response=found, json=found.json() | values)

    page.route(re.compile(f"{path}(\\?|$)"), answer)


def test_the_actions_are_read_again_as_soon_as_a_run_watches_the_stream(window):
    """Drain is there at the next look. The page's clock stands still, so the actions never are half a minute old."""
    page, values, asked = window().page(), {"watch": None}, []
    page.on("request", lambda request: asked.append(request.url) if ACTIONS.search(request.url) else None)
    page.clock.set_fixed_time(time.time())
    patch(page, "/summary", values)
    page.goto(f"{PAGES}queries/{QUERY}")
    await_page(page)
    expect(page.get_by_role("button", name="Drain …")).to_be_visible()
    for _ in range(2):
        with page.expect_response(re.compile("/summary")):
            pass
    before = len(asked)
    values["watch"] = "manual__1"
    with page.expect_request(ACTIONS):
        pass
    assert len(asked) == before + 1


def test_a_state_says_since_when_and_does_not_move_with_time(window):
    page = window().page(f"{PAGES}queries/{QUERY}")
    await_page(page)
    title = page.locator("#summary .title")
    expect(title).to_contain_text(re.compile(r"drained since "))
    before = title.evaluate("node => node.outerHTML")
    with page.expect_response(re.compile("/summary")):
        pass
    assert title.evaluate("node => node.outerHTML") == before
    page.goto(PAGES)
    await_page(page)
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=re.compile(f"^{QUERY}")))
    expect(row.get_by_role("cell").first).to_contain_text("since ")


def test_a_driver_host_that_is_down_is_said_once_at_the_top(window):
    page, problem = window().page(), {"where": "the driver host", "fault": "no answer", "remedy": "Start it"}
    down = {"is_host_down": True, "unknown": 2, "ill": 0, "problems": [problem], "queries": []}
    patch(page, "/streams", down)
    patch(page, "/summary", {"problems": [problem]})
    page.goto(PAGES)
    await_page(page)
    expect(page.locator("#verdict")).to_contain_text(
        "The driver host does not answer: the state of 2 streams is unknown."
    )
    expect(page.locator("#verdict")).not_to_contain_text("All well")
    expect(page.locator("#problems")).to_contain_text("no answer")
    page.goto(f"{PAGES}queries/{QUERY}")
    await_page(page)
    expect(page.locator("#summary .problems")).to_contain_text("no answer")
