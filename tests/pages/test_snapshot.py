"""The head of a query's page says what the part beneath it says, or how old its figures are."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from kit.console.bed import PAGES
from kit.console.pages import await_page
from tailrace.storage.status import wall_ms
from tailrace.storage.tables import Tables

pytestmark = pytest.mark.xdist_group("console")

QUERY = "meetings"


def test_a_correction_is_in_the_head_as_soon_as_in_the_ledger_or_the_head_says_its_age(bed, window):
    page = window().page(f"{PAGES}queries/{QUERY}?part=ledger")
    await_page(page)
    last = page.locator("#summary dl > div").filter(has=page.locator("dt", has_text="Last correction")).locator("dd")
    expect(last).to_contain_text(":")
    in_head, in_part = last.inner_text(), page.locator("#part").inner_text()
    bed.warehouse.correct(QUERY)
    corrected_ms = wall_ms()
    runs = Tables(bed.warehouse.layout(QUERY)).read("correction_runs", ["started_at"])["started_at"].to_pylist()
    expect(page.locator("#part")).not_to_have_text(in_part, use_inner_text=True)
    for _ in range(2):  # the first one may have been asked for before the ledger was
        with page.expect_response(lambda response: response.url.endswith(f"{QUERY}/summary")) as answer:
            pass
    head = answer.value.json()
    is_of_before = head["now"] - head["facts_age_ms"] < corrected_ms
    assert head["last_correction"]["at"] == max(runs) or is_of_before
    expect(last).not_to_have_text(in_head, use_inner_text=True)
