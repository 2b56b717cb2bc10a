"""What actions take, and whether they can work, in the browser: drawn ranges, paused DAGs, files that are gone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from kit.console.bed import PAGES, Bed
from kit.console.pages import await_page
from kit.parts.chromium import Watched
from tailrace.correction.intervals import corrected_intervals
from tailrace.correction.uncorrected import count_uncorrected, span_uncorrected
from tailrace.ground.duration import parse_time_ms
from tailrace.ground.time_limits import LATEST_MS
from tailrace.storage.tables import Tables

pytestmark = pytest.mark.xdist_group("console")

QUERY, PAUSED = "speeds", "correct_levels"


def opened(watched: Watched, query: str, part: str) -> Page:
    """A query's page in UTC, with its actions."""
    page = watched.page(f"{PAGES}queries/{query}?part={part}")
    await_page(page)
    page.get_by_role("button", name="UTC").click()
    expect(page.get_by_role("group", name="Actions")).to_be_visible()
    return page


def fields(dialog: Locator) -> list[int]:
    """The range in the form of a correction, in ms."""
    expect(dialog).to_be_visible()
    return [parse_time_ms(f"{dialog.locator(f'input[name={name}]').input_value()}Z") for name in ("from", "to")]


@pytest.mark.parametrize("title", ["Correct this range …", "Correct …"])
def test_a_range_that_is_drawn_over_arrival_is_corrected_by_the_event_times_of_its_late_tuples(bed, window, title):
    page = opened(window(), QUERY, "late")
    page.get_by_role("img", name=re.compile("^Late rows")).focus()
    page.keyboard.press("End")
    for _ in range(8):
        page.keyboard.press("Shift+ArrowLeft")
    with page.expect_request(re.compile(r"uncorrected\?")) as asked:
        page.get_by_role("button", name=title, exact=True).press("Enter")
    low, high = (int(text) for text in re.findall(r"=(\d+)", asked.value.url))
    late, start, end = span_uncorrected(Tables(bed.warehouse.layout(QUERY)), (low, high))
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{late:,} late tuple")
    assert late
    assert fields(dialog) == [start, end]


def test_a_gap_of_the_ledger_is_corrected_by_its_button(bed, window):
    page = opened(window(), QUERY, "ledger")
    page.get_by_role("button", name="Correct this gap …").last.press("Enter")
    dialog = page.get_by_role("dialog")
    tables = Tables(bed.warehouse.layout(QUERY))
    newest = max(end for _, end in corrected_intervals(tables))
    late, start, end = span_uncorrected(tables, (newest, LATEST_MS))
    expect(dialog).to_contain_text(f"{late:,} late tuple")
    assert fields(dialog) == [start, end]


def test_a_correction_of_everything_says_what_it_takes_and_is_sent_by_a_second_press_alone(bed, window):
    page = opened(window(), QUERY, "answers")
    page.get_by_role("button", name="Correct …").press("Enter")
    dialog, sent = page.get_by_role("dialog"), []
    page.on("request", lambda request: sent.append(request.url) if request.method != "GET" else None)
    dialog.get_by_role("button", name="Correct", exact=True).press("Enter")
    late = count_uncorrected(Tables(bed.warehouse.layout(QUERY)))
    expect(dialog.get_by_role("alert")).to_contain_text(f"every closed window of {QUERY} is evaluated again")
    expect(dialog.get_by_role("alert")).to_contain_text(f"No correction covers {late:,} late tuples, of event times")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Correct everything")).to_be_enabled()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert sent == []


def is_paused(bed: Bed) -> bool:
    return bool(bed.api().call("GET", f"dags/{PAUSED}")["is_paused"])


def test_a_paused_correction_is_a_warning_and_is_unpaused_from_the_page(bed, window):
    watched = window("user")
    streams = watched.page(PAGES)
    card = streams.locator("#rows tr").filter(has_text=f"{PAUSED} is paused")
    expect(card).to_contain_text("in no correction, and none comes by schedule")
    expect(card.get_by_role("link", name=f"Unpause {PAUSED} in Airflow")).to_have_count(1)
    page = opened(watched, PAUSED.partition("_")[2], "late")
    warning = page.get_by_role("group", name=f"{PAUSED} is paused")
    try:
        warning.get_by_role("button", name=f"Unpause {PAUSED} …").press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("its schedule runs again, from the newest interval on")
        assert is_paused(bed)
        dialog.get_by_role("button", name=f"Unpause {PAUSED}", exact=True).press("Enter")
        expect(warning).to_have_count(0)
        assert not is_paused(bed)
    finally:
        bed.api().call("PATCH", f"dags/{PAUSED}", {"is_paused": True})
        for run in bed.api().call("GET", f"dags/{PAUSED}/dagRuns", limit=100)["dag_runs"]:
            bed.api().call("PATCH", f"dags/{PAUSED}/dagRuns/{run['dag_run_id']}", {"state": "failed"})


@pytest.mark.parametrize(
    ("query", "why"), [("refused", "its query file is refused"), ("lost", "its query file is gone")]
)
def test_without_a_valid_file_nothing_is_offered_that_can_not_work(window, query, why):
    page = opened(window(), query, "settings")
    expect(page.locator("#summary")).to_contain_text("Airflow reads none of its DAGs now.")
    assert page.locator("#summary a").all_inner_texts() == ["Driver's log"]
    buttons = page.get_by_role("group", name="Actions").get_by_role("button")
    expect(page.get_by_role("group", name="Actions").locator("button:not(.off)")).to_have_count(0)
    for number in range(buttons.count()):
        buttons.nth(number).press("Enter")
        dialog = page.get_by_role("dialog")
        reason = why if "Drain" not in buttons.nth(number).inner_text() else "no run of Airflow's watches"
        expect(dialog).to_contain_text(reason)
        expect(dialog.get_by_role("button")).to_have_text(["Close"])
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
