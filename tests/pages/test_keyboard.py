"""The pages without a mouse: all that can be pressed is reached by Tab, is seen to have the focus, and has a name."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from kit.console.bed import PAGES
from kit.console.pages import await_page, parts_of

pytestmark = pytest.mark.xdist_group("console")

QUERY = "trades"
MOST_STOPS = 600

# Everything that a mouse could press and that is shown now. Tabs, of which arrow keys choose, are one stop.
# A page may put an equal node in the place of another while it is read, so a stop is known by its HTML.
PRESSABLE = """() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter(node => node.checkVisibility({visibilityProperty: true}) && !node.disabled && node.tabIndex >= 0)
    .map(node => node.outerHTML.slice(0, 160))"""

# Where the focus is, and whether it is seen there.
FOCUS = """() => {
    const node = document.activeElement
    if (!node || node === document.body) return null
    const style = getComputedStyle(node)
    const seen = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none'
    return {stop: node.outerHTML.slice(0, 160), seen}
}"""


def press_until(page: Page, name: str, key: str = "Tab", role: str = "link") -> None:
    """Press a key until what has this role and name has the focus."""
    wanted = page.get_by_role(role, name=name, exact=True).first
    for _ in range(MOST_STOPS):
        if wanted.evaluate("node => node === document.activeElement"):
            return
        page.keyboard.press(key)
    pytest.fail(f"{name} is not reached by {key}")


@pytest.mark.parametrize("address", ["", f"queries/{QUERY}?part=frontier", f"queries/{QUERY}?part=answers"])
def test_everything_is_reached_by_tab_and_seen_to_have_the_focus(window, address):
    page = window().page(PAGES + address)
    await_page(page)
    pressable, reached, seen = page.evaluate(PRESSABLE), set[str](), set[str]()
    assert len(pressable) > 10
    page.evaluate("document.activeElement.blur()")
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if focus is None or (focus["stop"] == pressable[0] and len(reached) > 1):
            break
        reached.add(focus["stop"])  # a field of a time has a stop for each of its parts, and one for its calendar
        seen |= {focus["stop"]} if focus["seen"] else set()
    assert [stop for stop in pressable if stop not in reached] == []
    assert [stop for stop in pressable if stop not in seen] == []


def test_the_way_from_streams_to_a_part_and_back(window):
    page = window().page(PAGES)
    await_page(page)
    press_until(page, QUERY)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(QUERY)
    await_page(page)
    press_until(page, "Frontier", role="tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", selected=True)).not_to_have_text("Frontier")
    assert re.search(r"[?&]part=(?!frontier)", page.url)
    page.go_back()
    expect(page.get_by_role("tab", selected=True)).to_have_text("Frontier")


def test_a_dialog_takes_the_focus_and_gives_it_back(window):
    page = window().page(f"{PAGES}queries/{QUERY}")
    await_page(page)
    page.get_by_role("button", name="Correct …").wait_for()
    press_until(page, "Correct …", role="button")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Correct …")).to_be_focused()


def test_every_order_that_streams_offers_is_one_that_the_server_knows(window):
    page = window().page(PAGES)
    await_page(page)
    sort = page.get_by_role("combobox", name="Sort by")
    for value in sort.locator("option").evaluate_all("options => options.map(option => option.value)"):
        with page.expect_response(
            re.compile(r"api/streams\?.*") if not value else re.compile(rf"sort={value}(&|$)")
        ) as answer:
            sort.select_option(value)
        assert answer.value.status == 200, value
        await_page(page)


def test_a_search_is_in_the_address_and_can_be_shared(window):
    watched = window()
    page = watched.page(PAGES)
    await_page(page)
    page.get_by_role("searchbox", name="Search streams").fill("spatial")
    expect(page.get_by_role("row")).to_have_count(4)  # the head, and three joins
    shared = watched.page(page.url.removeprefix(watched.url))
    await_page(shared)
    expect(shared.get_by_role("row")).to_have_count(4)


@pytest.mark.parametrize("screen", [{"width": 390, "height": 844}, {"width": 1440, "height": 900}])
def test_no_page_is_wider_than_its_screen(bed, window, screen):
    watched = window(viewport=screen)
    for address in ("", *(f"queries/{QUERY}?part={part}" for part in parts_of(bed, QUERY) if part != "answer")):
        page = watched.page(PAGES + address)
        await_page(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= screen["width"], address
        page.close()


# Elements that a screen reader would call nothing: controls without a name, pictures without a text.
NAMELESS = """() => [...document.querySelectorAll('a[href], button, input, select, summary, svg[role=img], img')]
    .filter(node => node.checkVisibility() && !node.closest('[aria-hidden=true]'))
    .filter(node => !(node.ariaLabel || node.textContent.trim() || node.title || node.labels?.length
        || node.getAttribute('aria-labelledby') || node.alt === '' || node.alt))
    .map(node => node.outerHTML.slice(0, 160))"""


def test_every_control_and_chart_has_a_name(bed, window):
    watched = window()
    for address in ("", *(f"queries/{QUERY}?part={part}" for part in parts_of(bed, QUERY) if part != "answer")):
        page = watched.page(PAGES + address)
        await_page(page)
        assert page.evaluate(NAMELESS) == [], address
        assert page.locator("h1").count() == 1
        page.close()
