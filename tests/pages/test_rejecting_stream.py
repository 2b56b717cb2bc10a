"""A stream that rejects every record is red on Streams and in the head, with the reason, and stays so once drained."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from kit.console.bed import PAGES, Bed
from kit.console.pages import await_page
from kit.suite.waiting import PATIENCE_S
from tailrace.drivers import driver_lifecycle

pytestmark = pytest.mark.xdist_group("console")

QUERY = "rejecting"
WHY = re.compile("it has rejected every record: 300 × id is null")


@pytest.fixture
def driver(bed: Bed) -> Iterator[None]:
    """The stream's driver, which has read all there is."""
    bed.deploy(QUERY)
    bed.until(lambda: (status := bed.status(QUERY)) is not None and status.quarantined == 300)
    yield
    drain(bed)


def drain(bed: Bed) -> None:
    driver_lifecycle.drain(bed.hosting.host, bed.warehouse.layout(QUERY), PATIENCE_S, PATIENCE_S)


def test_a_stream_that_rejects_every_record_is_red_with_the_reason(bed, window, driver):
    watched = window("viewer")
    head, streams = (watched.page(f"{PAGES}{path}") for path in (f"queries/{QUERY}", f"?search={QUERY}"))
    row = streams.locator("#rows tbody tr").filter(has_text=QUERY)

    def is_red() -> None:
        expect(head.locator("#summary .big .badge")).to_have_class(re.compile(r"\bbad\b"))
        expect(head.locator("#summary .big")).to_have_text("broken")
        expect(head.locator("#summary .lead")).to_have_text(WHY)
        expect(row.locator(".badge.bad").first).to_have_text("broken")
        expect(row).to_contain_text(WHY)
        expect(streams.locator(".verdict")).to_contain_text("attention")

    for page in (head, streams):
        await_page(page)
    is_red()
    drain(bed)
    bed.until(lambda: bed.status(QUERY).state == "drained")
    for page in (head, streams):
        page.reload()
        await_page(page)
    is_red()
